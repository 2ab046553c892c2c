"""T5 learns to translate, with Adafactor, then generates.
Needs: transformers."""

import torch
from transformers import Adafactor, T5Config, T5ForConditionalGeneration

model = T5ForConditionalGeneration(T5Config(
    vocab_size=4000, d_model=192, d_kv=32, d_ff=512, num_layers=2, num_heads=6,
    decoder_start_token_id=0,
)).cuda()
optimizer = Adafactor(model.parameters(), lr=1e-3, relative_step=False, scale_parameter=True)
for _ in range(3):
    words = torch.randint(2, 4000, (8, 64)).cuda()
    labels = torch.randint(2, 4000, (8, 32))
    labels[:, 25:] = -100
    loss = model(input_ids=words, labels=labels.cuda()).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(float(loss))
model.eval()
with torch.no_grad():
    print(model.generate(words, max_new_tokens=10, num_beams=3).shape)
