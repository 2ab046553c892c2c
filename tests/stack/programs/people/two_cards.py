"""Half of a network on each of two cards, the batch in pieces.
Cards: 2"""

import torch

nn = torch.nn
first = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 512)).to("cuda:0")
second = nn.Sequential(nn.Linear(512, 4096), nn.ReLU(), nn.Linear(4096, 10)).to("cuda:1")
optimizer = torch.optim.AdamW([*first.parameters(), *second.parameters()])
for _ in range(3):
    batch = torch.randn(256, 512)
    labels = torch.randint(10, (256,), device="cuda:1")
    pieces = [second(first(one.to("cuda:0")).to("cuda:1")) for one in batch.split(64)]
    nn.functional.cross_entropy(torch.cat(pieces), labels).backward()
    optimizer.step()
    optimizer.zero_grad()
