"""A CUDA graph under enable(): its memory is kept while the graph lives.  The
simulated GPU replays nothing, so that only the memory is looked at."""

import gc

import torch

import larder.torch

larder.torch.enable()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    made = [
        torch.empty(9 << 20, dtype=torch.uint8, device="cuda")
        for _ in range(3)
    ]
places = {t.data_ptr() for t in made}
inside = {
    block["address"]
    for segment in torch.cuda.memory_snapshot(tuple(graph.pool()))
    for block in segment["blocks"]
}
assert places <= inside, (places, inside)
del made
others = [
    torch.empty(9 << 20, dtype=torch.uint8, device="cuda") for _ in range(6)
]
assert not places & {t.data_ptr() for t in others}
torch.cuda.empty_cache()
kept = torch.cuda.memory_snapshot(tuple(graph.pool()))
assert kept, "the graph's memory went"
graph.replay()
identity = tuple(graph.pool())
graph.reset()
del graph
gc.collect()
torch.cuda.empty_cache()
assert not torch.cuda.memory_snapshot(identity), "its memory stays"
print("its pool is kept, then given back")
