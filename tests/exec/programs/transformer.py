"""Ten steps of a small transformer: autocast, pinned batches, clipping, a second
stream, a captured graph."""

import torch
from torch import nn
from torch.nn import functional

model = nn.Sequential(
    nn.Embedding(1000, 256),
    nn.TransformerEncoder(
        nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True), 4
    ),
    nn.Linear(256, 1000),
).cuda()
optimizer = torch.optim.AdamW(model.parameters())
side = torch.cuda.Stream()

for _ in range(10):
    batch = torch.randint(0, 1000, (16, 128)).pin_memory()
    words = batch.to("cuda", non_blocking=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = functional.cross_entropy(model(words).flatten(0, 1), words.flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    with torch.cuda.stream(side):
        words.clone().record_stream(side)
    float(loss.detach())

graph = torch.cuda.CUDAGraph()
data = torch.zeros(1 << 20, device="cuda")
with torch.cuda.graph(graph):
    doubled = data * 2
graph.replay()
torch.cuda.synchronize()

try:
    torch.empty(1 << 50, device="cuda")
except torch.cuda.OutOfMemoryError:
    print("ran out")
print("peak", torch.cuda.max_memory_allocated())
