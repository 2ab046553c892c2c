"""GRPO with TRL: completions are generated, rewarded and learnt from.
Needs: transformers, accelerate, trl, datasets, tokenizers
Goes by: whether the sampled tokens end a text, and their rewards."""

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer

words = {f"w{at}": at + 3 for at in range(1997)}
tokenizer = Tokenizer(models.WordLevel({"<pad>": 0, "<eos>": 1, "<unk>": 2, **words}, "<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
)
prompts = [" ".join(f"w{at + i}" for i in range(12)) for at in range(16)]
GPT2LMHeadModel(GPT2Config(
    vocab_size=2000, n_layer=2, n_embd=128, n_head=4, n_positions=128, bos_token_id=1,
    eos_token_id=1, pad_token_id=0,
)).save_pretrained("start")


def short_is_good(completions, **kwargs):
    return [-float(len(one)) for one in completions]


config = GRPOConfig(
    output_dir="out", per_device_train_batch_size=4, num_generations=4, max_steps=2,
    max_completion_length=16, max_prompt_length=12, logging_steps=1, report_to="none",
    save_strategy="no", bf16=True, beta=0.04,
)
trainer = GRPOTrainer("start", short_is_good, config, Dataset.from_dict({"prompt": prompts}),
                      processing_class=tokenizer)
trainer.train()
