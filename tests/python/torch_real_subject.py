"""torch_real_subject.py PLUGIN ALLOCATOR - in a real PyTorch: an allocation that
fails in the plug-in is torch.cuda.OutOfMemoryError.  Exit status 77: no PyTorch whose
names are known is installed."""

import ctypes
import os
import sys

try:
    import torch
except ImportError:
    sys.exit(77)

SET = "_ZN3c1015SetCPUAllocatorEPNS_9AllocatorEh"
GET = "_ZN3c1015GetCPUAllocatorEv"


def loaded(name):
    with open("/proc/self/maps", encoding="utf-8") as maps:
        for line in maps:
            path = line.rstrip("\n").rpartition(" ")[2]
            if os.path.basename(path).startswith(name):
                return ctypes.CDLL(path)
    return None


def main():
    plugin, shim = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(sys.argv[2])
    c10 = loaded("libc10.so")
    if c10 is None or not hasattr(c10, SET) or not hasattr(c10, GET):
        return 77
    get, put = getattr(c10, GET), getattr(c10, SET)
    get.restype = shim.cpu_allocator.restype = ctypes.c_void_p
    shim.cpu_allocator.argtypes = [ctypes.c_void_p]
    put.argtypes = [ctypes.c_void_p, ctypes.c_uint8]
    assert plugin.larder_torch_raises() == 2, "PyTorch is not known"
    ours = shim.cpu_allocator(
        ctypes.cast(plugin.larder_torch_alloc, ctypes.c_void_p)
    )
    before = get()
    put(ours, 255)
    try:
        torch.empty(1 << 30)
    except torch.cuda.OutOfMemoryError as error:
        kept = error
    finally:
        put(before, 255)
    assert "Tried to allocate 4.00 GiB" in str(kept), kept
    assert float(torch.ones(3).sum()) == 3
    print(torch.__version__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
