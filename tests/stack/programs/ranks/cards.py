"""Two cards in one process: memory of each, and copies between them."""

import torch

assert torch.cuda.device_count() == 2
before = [torch.cuda.mem_get_info(i)[0] for i in range(2)]
torch.cuda.set_device(1)
there = torch.arange(1 << 20, dtype=torch.float32).cuda()
assert there.device.index == 1
assert torch.cuda.memory_allocated(1) == 4 << 20 and torch.cuda.memory_allocated(0) == 0
after = [torch.cuda.mem_get_info(i)[0] for i in range(2)]
assert after[0] == before[0] and before[1] - after[1] == 20 << 20, (before, after)
here = there.to("cuda:0")
assert here[-1].item() == (1 << 20) - 1 and torch.cuda.memory_allocated(0) == 4 << 20
with torch.cuda.device(0):
    print(torch.cuda.current_device(), "and", there.get_device(), "are two cards")
