"""Two narrow matrices beside each frozen one."""

import torch

nn = torch.nn


class Beside(nn.Module):
    def __init__(self, layer, rank=4):
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.down = nn.Linear(layer.in_features, rank, bias=False)
        self.up = nn.Linear(rank, layer.out_features, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.layer(x) + self.up(self.down(x))


model = nn.Sequential(*[Beside(nn.Linear(512, 512)) for _ in range(4)]).cuda()
trained = [one for one in model.parameters() if one.requires_grad]
optimizer = torch.optim.AdamW(trained)
for _ in range(3):
    model(torch.randn(128, 512, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
