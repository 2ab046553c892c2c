"""An encoder and a decoder with masks of padding and of what is to come."""

import torch

nn = torch.nn


class Translator(nn.Module):
    def __init__(self, words=6000, width=256):
        super().__init__()
        self.source, self.target = nn.Embedding(words, width), nn.Embedding(words, width)
        self.body = nn.Transformer(width, 8, 2, 2, 1024, batch_first=True)
        self.out = nn.Linear(width, words)

    def forward(self, source, target):
        later = nn.Transformer.generate_square_subsequent_mask(target.shape[1], device=target.device)
        nothing = source == 0
        result = self.body(
            self.source(source), self.target(target), tgt_mask=later,
            src_key_padding_mask=nothing, memory_key_padding_mask=nothing, tgt_is_causal=True,
        )
        return self.out(result)


model = Translator().cuda()
optimizer = torch.optim.Adam(model.parameters(), 1e-4, betas=(0.9, 0.98))
loss_of = nn.CrossEntropyLoss(ignore_index=0)
for step in range(3):
    source = torch.randint(1, 6000, (8, 60))
    source[:, 40 + step:] = 0
    source, target = source.cuda(), torch.randint(1, 6000, (8, 50)).cuda()
    result = model(source, target[:, :-1])
    loss = loss_of(result.flatten(0, 1), target[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
model.eval()
with torch.no_grad():
    words = torch.ones(8, 1, dtype=torch.long, device="cuda")
    for _ in range(6):
        words = torch.cat([words, model(source, words)[:, -1:].argmax(-1)], 1)
