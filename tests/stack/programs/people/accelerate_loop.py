"""A loop prepared by accelerate: mixed precision, accumulation, gathered metrics.
Needs: accelerate, transformers.
Goes by: whether the mask of words is all ones, which BERT then drops."""

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup

accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=2)
model = BertForSequenceClassification(BertConfig(
    vocab_size=3000, hidden_size=256, num_hidden_layers=2, num_attention_heads=4,
    intermediate_size=512,
))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
data = TensorDataset(torch.randint(3000, (64, 96)), torch.randint(2, (64,)))
loader = DataLoader(data, batch_size=8, shuffle=True)
schedule = get_linear_schedule_with_warmup(optimizer, 2, 8)
model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
for words, labels in loader:
    with accelerator.accumulate(model):
        loss = model(input_ids=words, labels=labels).loss
        accelerator.backward(loss)
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
model.eval()
right = 0
with torch.no_grad():
    for words, labels in loader:
        guessed = model(input_ids=words).logits.argmax(-1)
        guessed, labels = accelerator.gather_for_metrics((guessed, labels))
        right += (guessed == labels).sum().item()
accelerator.print(right)
