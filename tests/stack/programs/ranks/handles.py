"""Buffers that each rank opens of the others, as vLLM's own all-reduce has them:
the runtime's calls by ctypes, handles through a group of the host."""

import ctypes
import os

import torch
import torch.distributed as dist

BYTES = 8 << 20


class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 64)]


def loaded(name):
    with open("/proc/self/maps", encoding="utf-8") as maps:
        paths = [line.split()[-1] for line in maps if name in line]
    return ctypes.CDLL(paths[0])


rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.cuda.set_device(rank)
dist.init_process_group("gloo")
torch.cuda.init()
runtime = loaded("libcudart.so")

mine = ctypes.c_void_p()
assert runtime.cudaMalloc(ctypes.byref(mine), ctypes.c_size_t(BYTES)) == 0
assert runtime.cudaMemset(mine, 1 + rank, ctypes.c_size_t(BYTES)) == 0
handle = Handle()
assert runtime.cudaIpcGetMemHandle(ctypes.byref(handle), mine) == 0
handles = [None] * size
dist.all_gather_object(handles, bytes(handle))

free_before = torch.cuda.mem_get_info()[0]
for other in range(size):
    if other == rank:
        continue
    theirs = ctypes.c_void_p()
    assert runtime.cudaIpcOpenMemHandle(
        ctypes.byref(theirs), Handle.from_buffer_copy(handles[other]), ctypes.c_uint(1)
    ) == 0
    value = ctypes.c_ubyte()
    assert runtime.cudaMemcpy(
        ctypes.byref(value), ctypes.c_void_p(theirs.value + BYTES - 1),
        ctypes.c_size_t(1), 2
    ) == 0
    assert value.value == 1 + other, value
    assert runtime.cudaIpcCloseMemHandle(theirs) == 0
assert torch.cuda.mem_get_info()[0] == free_before
dist.barrier()
print(f"rank {rank} opened the others' buffers", flush=True)
dist.destroy_process_group()
