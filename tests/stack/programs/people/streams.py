"""Batches are brought on a stream of their own, and recorded on the other."""

import torch

side = torch.cuda.Stream()
model = torch.nn.Linear(1024, 1024).cuda()
for _ in range(6):
    with torch.cuda.stream(side):
        batch = torch.randn(256, 1024).pin_memory().cuda(non_blocking=True)
    torch.cuda.current_stream().wait_stream(side)
    batch.record_stream(torch.cuda.current_stream())
    model(batch).sum().backward()
    model.zero_grad()
