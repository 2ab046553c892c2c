"""The functions about memory."""
import torch

before = torch.cuda.memory_allocated()
x = torch.empty(1024, 1024, device="cuda")
assert torch.cuda.memory_allocated() - before == 4 << 20
y = x.view(-1)[: 10]
del x
assert torch.cuda.memory_allocated() - before == 4 << 20
del y
assert torch.cuda.memory_allocated() == before
assert torch.cuda.max_memory_allocated() >= 4 << 20
assert torch.cuda.memory_reserved() == 20 << 20
torch.cuda.empty_cache()
assert torch.cuda.memory_reserved() == 0
torch.cuda.reset_peak_memory_stats()
assert torch.cuda.max_memory_allocated() == 0
free, total = torch.cuda.mem_get_info()
assert free == total == 24 << 30
try:
    torch.empty(100 << 30, dtype=torch.uint8, device="cuda")
except torch.cuda.OutOfMemoryError as error:
    assert "100.00 GiB" in str(error)
else:
    raise SystemExit("no error")
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    z = torch.ones(1 << 20, device="cuda")
z.record_stream(torch.cuda.current_stream())
torch.cuda.current_stream().wait_stream(side)
start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
start.record()
end.record()
torch.cuda.synchronize()
start.elapsed_time(end)
print(torch.cuda.get_device_name(0), torch.cuda.get_device_capability())
print(torch.cuda.memory_summary(abbreviated=True)[:20])
