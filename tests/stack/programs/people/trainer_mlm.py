"""BERT learns masked words with the Trainer of transformers.
Needs: transformers, accelerate."""

import torch
from transformers import BertConfig, BertForMaskedLM, Trainer, TrainingArguments


class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 48

    def __getitem__(self, at):
        words = torch.randint(5, 30522, (128,))
        labels = words.clone()
        hidden = torch.rand(128) < 0.15
        words[hidden] = 103
        labels[~hidden] = -100
        return {"input_ids": words, "attention_mask": torch.ones(128, dtype=torch.long),
                "labels": labels}


config = BertConfig(hidden_size=256, num_hidden_layers=3, num_attention_heads=4,
                    intermediate_size=1024)
arguments = TrainingArguments(
    output_dir="out", per_device_train_batch_size=8, num_train_epochs=1, bf16=True,
    eval_strategy="epoch", per_device_eval_batch_size=16, logging_steps=2,
    save_strategy="no", report_to="none",
)
trainer = Trainer(BertForMaskedLM(config), arguments, train_dataset=Texts(),
                  eval_dataset=Texts())
trainer.train()
