"""larder.torch.MemPool: PyTorch's own allocator, with segments from Larder."""

import gc

import torch

import larder.torch
from larder.torch import _plugin

pool = larder.torch.MemPool()
outside = torch.empty(3 << 20, dtype=torch.uint8, device="cuda")
assert not _plugin.is_made(0)
with pool.use():
    inside = [
        torch.empty(size, dtype=torch.uint8, device="cuda")
        for size in (100, 5 << 20, 30 << 20)
    ]
assert _plugin.is_made(0)
held = {}
for segment in torch.cuda.memory_snapshot():
    is_ours = tuple(segment["segment_pool_id"]) == tuple(pool.id)
    held[is_ours] = held.get(is_ours, 0) + segment["total_size"]
    for tensor in inside:
        start = segment["address"]
        if start <= tensor.data_ptr() < start + segment["total_size"]:
            assert is_ours


def larders():
    from larder.torch.statistics import Stats, ctypes, library, must

    stats = Stats()
    library.larder_stats_init_sized(ctypes.byref(stats), ctypes.sizeof(stats))
    must(library.larder_stats_get(_plugin.allocator(0), ctypes.byref(stats)))
    return stats.requested_bytes.all.current


assert larders() == held[True], (larders(), held)
del inside, tensor
pool = None
gc.collect()
torch.cuda.empty_cache()
assert larders() == 0, larders()
print(f"{held[True] >> 20} MiB of segments, given back")
