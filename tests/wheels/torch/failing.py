"""Running out of memory is torch.OutOfMemoryError, says why, and what was there
stays: values go to the GPU and come back."""

import torch

import larder.torch

larder.torch.enable()
assert larder.torch.raises_out_of_memory_error()
total = torch.cuda.get_device_properties(0).total_memory
kept = torch.arange(1 << 20, dtype=torch.int32)
there = kept.cuda()
for asked in (2 * total, total):
    try:
        torch.empty(asked, dtype=torch.uint8, device="cuda")
        raise AssertionError("more than the GPU has could be had")
    except torch.cuda.OutOfMemoryError as error:
        words = str(error)
    assert type(words) is str and "Tried to allocate" in words, words
assert torch.cuda.OutOfMemoryError is getattr(
    torch, "OutOfMemoryError", torch.cuda.OutOfMemoryError
)
assert bool((there.cpu() == kept).all())
assert torch.cuda.memory_stats()["num_ooms"] == 2
torch.cuda.set_per_process_memory_fraction(0.5)
try:
    torch.empty(total * 3 // 4, dtype=torch.uint8, device="cuda")
    raise AssertionError("more than the limit could be had")
except torch.cuda.OutOfMemoryError:
    pass
print("raised, with Larder's words; values stay")
