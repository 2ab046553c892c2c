"""torch_out_of_memory.py - a snapshot of where memory went when it ran out."""
import larder.torch
import torch

larder.torch.enable()
torch.cuda.memory._record_memory_history()
try:
    kept = [torch.empty(1 << 30, device="cuda") for _ in range(1000)]
except torch.cuda.OutOfMemoryError as error:
    print(error)
    torch.cuda.memory._dump_snapshot("oom.pickle")  # larder report oom.pickle
