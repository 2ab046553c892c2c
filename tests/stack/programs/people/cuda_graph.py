"""A step is captured as a graph and replayed."""

import torch

model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU()).cuda()
batch = torch.randn(64, 256, device="cuda")
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        model(batch)
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    result = model(batch)
for _ in range(4):
    batch.copy_(torch.randn(64, 256))
    graph.replay()
    result.sum().item()
