"""Two networks against each other."""

import torch

nn = torch.nn
paint = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 784), nn.Tanh()).cuda()
judge = nn.Sequential(nn.Linear(784, 512), nn.LeakyReLU(0.2), nn.Linear(512, 1)).cuda()
of_paint = torch.optim.Adam(paint.parameters(), 2e-4)
of_judge = torch.optim.Adam(judge.parameters(), 2e-4)
loss = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(64, 1).cuda(), torch.zeros(64, 1).cuda()
for _ in range(4):
    made = paint(torch.randn(64, 64, device="cuda"))
    of_judge.zero_grad()
    real = torch.rand(64, 784, device="cuda")
    (loss(judge(real), ones) + loss(judge(made.detach()), zeros)).backward()
    of_judge.step()
    of_paint.zero_grad()
    loss(judge(made), ones).backward()
    of_paint.step()
