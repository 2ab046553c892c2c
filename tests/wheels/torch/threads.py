"""Threads and streams at once on PyTorch's route to a pluggable allocator: what
is handed out never overlaps what lives, and all of it comes back."""

import random
import sys
import threading

import torch

import larder.torch

THREADS, ROUNDS = 6, 1500

larder.torch.enable()
# Finding callers takes Python's lock, which the others may hold.
torch.cuda.memory._record_memory_history(max_entries=1000)
lock = threading.Lock()
live = {}  # start: end, of every thread's
failures = []


def take(tensor):
    start = tensor.data_ptr()
    end = start + tensor.numel()
    with lock:
        for a, b in live.items():
            if start < b and a < end:
                raise AssertionError(f"{start:#x} is handed out twice")
        live[start] = end


def work(seed):
    chance = random.Random(seed)
    streams = [torch.cuda.Stream() for _ in range(2)]
    held = []
    for _ in range(ROUNDS):
        if held and chance.random() < 0.5:
            tensor = held.pop(chance.randrange(len(held)))
            if chance.random() < 0.2:
                tensor.record_stream(chance.choice(streams))
            with lock:
                del live[tensor.data_ptr()]
                del tensor
            continue
        with torch.cuda.stream(chance.choice(streams)):
            tensor = torch.empty(
                chance.randrange(1, 1 << chance.choice((9, 15, 20, 22))),
                dtype=torch.uint8,
                device="cuda",
            )
        take(tensor)
        held.append(tensor)
    for tensor in held:
        with lock:
            del live[tensor.data_ptr()]


def run(seed):
    try:
        work(seed)
    except BaseException as error:  # noqa: B902: told by the main thread
        failures.append(error)


threads = [threading.Thread(target=run, args=(n,)) for n in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if failures:
    raise failures[0]
torch.cuda.synchronize()
torch.cuda.empty_cache()
stats = torch.cuda.memory_stats()
assert stats["allocated_bytes.all.current"] == 0, stats
assert stats["reserved_bytes.all.current"] == 0, stats
assert larder.torch.error_count() == 0, larder.torch.last_error()
count = stats["allocation.all.allocated"]
assert count == stats["allocation.all.freed"] > THREADS * ROUNDS // 3
print(f"{THREADS} threads, {2 * THREADS} streams, {count} allocations")
sys.exit(0)
