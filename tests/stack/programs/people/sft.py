"""Supervised fine-tuning with TRL, its tokenizer made here.
Needs: transformers, accelerate, trl, datasets, tokenizers."""

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

words = {f"w{at}": at + 3 for at in range(997)}
tokenizer = Tokenizer(models.WordLevel({"<pad>": 0, "<eos>": 1, "<unk>": 2, **words}, "<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
)
texts = [" ".join(f"w{(at * 7 + i) % 997}" for i in range(40 + at)) for at in range(24)]
model = LlamaForCausalLM(LlamaConfig(
    vocab_size=1000, hidden_size=256, intermediate_size=688, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=2, pad_token_id=0, eos_token_id=1,
))
config = SFTConfig(
    output_dir="out", per_device_train_batch_size=4, gradient_accumulation_steps=2,
    max_length=64, max_steps=3, logging_steps=1, bf16=True, report_to="none",
    save_strategy="no", gradient_checkpointing=True,
)
trainer = SFTTrainer(model, args=config, train_dataset=Dataset.from_dict({"text": texts}),
                     processing_class=tokenizer)
trainer.train()
