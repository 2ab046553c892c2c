"""snapshot.py OUT - a snapshot by PyTorch's own code that has what its release
writes: streams, pools, the callers of Python, texts, marks, pinned memory and a
request that failed.  Frames have no folders if it is run as

    python3 -c 'exec(compile(open("snapshot.py").read(), "snapshot.py", "exec"))'
"""

import inspect
import sys

import torch

memory = torch.cuda.memory
MIB = 1 << 20


def empty(count):
    return torch.empty(count, dtype=torch.uint8, device="cuda")


def layer(count):
    return [empty(count), empty(count // 3)]


def in_pool():
    """Releases up to 2.4 have no pools for users."""
    if not hasattr(torch.cuda, "use_mem_pool"):
        return None, None
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        return pool, empty(3 * MIB)


def options():
    """Of those that the release has."""
    known = inspect.signature(memory._record_memory_history).parameters
    wanted = {
        "global_record_annotations": True,
        "record_pinned_host_memory": True,
    }
    return {k: v for k, v in wanted.items() if k in known}


def main():
    memory._record_memory_history(stacks="python", **options())
    say = getattr(memory, "_set_memory_metadata", lambda text: None)
    kept = layer(5 * MIB)
    say("second layer")
    with torch.profiler.record_function("forward"):
        kept += layer(300)
    say("")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        other = empty(2 * MIB)
    kept[0].record_stream(side)
    del kept[0]
    pinned = torch.empty(4096, dtype=torch.uint8, pin_memory=True)
    pool = in_pool()
    torch.cuda.synchronize()
    kept.append(empty(MIB))
    try:
        empty(1 << 40)
    except torch.cuda.OutOfMemoryError:
        pass
    del other
    torch._C._cuda_emptyCache()  # its caller is this file
    memory._dump_snapshot(sys.argv[1])
    del pinned, pool


if __name__ == "__main__":
    main()
