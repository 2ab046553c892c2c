"""What larder.torch.unsupported() says happens, happens."""

import torch

import larder.torch

larder.torch.enable()
kept = torch.empty(3 << 20, dtype=torch.uint8, device="cuda")

CALLS = {
    "CUDA tensors through torch.multiprocessing":
        lambda: kept.untyped_storage()._share_cuda_(),
    "torch.compile(mode='reduce-overhead')":
        lambda: torch._C._cuda_checkPoolLiveAllocations(0, (0, 1), set()),
    "torch.cuda.MemPool() and use_mem_pool()": torch.cuda.MemPool,
    "torch._C._cuda_attach_out_of_memory_observer(), trackers of NCCL":
        lambda: torch._C._cuda_attach_out_of_memory_observer(print),
}


def said_by(call):
    try:
        call()
    except RuntimeError as error:
        return str(error)
    return "nothing"


count = 0
for row in larder.torch.unsupported():
    if row.feature not in CALLS:
        continue
    said = said_by(CALLS[row.feature])
    words = row.what_happens.replace("(2.6:", "").replace(")", "").split()
    assert any(word in said for word in words if word[0].islower()), (
        row.feature, said)
    count += 1
assert count == len(CALLS)

torch.cuda.memory.caching_allocator_enable(False)
x = torch.empty(3 << 20, dtype=torch.uint8, device="cuda")
place = x.data_ptr()
del x
y = torch.empty(3 << 20, dtype=torch.uint8, device="cuda")
assert y.data_ptr() == place
try:
    larder.torch.enable(conf="backend:cudaMallocAsync")
    raise AssertionError("another backend was taken")
except ValueError:
    pass
if hasattr(torch.cuda.memory, "_annotate_tensor"):
    torch.cuda.memory._annotate_tensor(kept, "kept")
print(f"{count} refused, 3 without effect, as listed")
