"""Mixed precision in float16, where a GradScaler decides on each step."""

import torch

model = torch.nn.Linear(2048, 2048).cuda()
optimizer = torch.optim.AdamW(model.parameters())
scaler = torch.amp.GradScaler("cuda")
for _ in range(6):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(torch.randn(64, 2048, device="cuda")).square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
assert optimizer.state, "every step was skipped"
