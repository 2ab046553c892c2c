"""cupy_pool.py CAPACITY TRACE PASSES - the trace on CuPy's memory pool, as main.cpp
has it on the others; under `larder exec`, whose device is CAPACITY."""

import os
import sys
import time

from cupy.cuda import memory
from cupy.cuda.memory import MemoryPool, OutOfMemoryError


def read_trace(path):
    """Operations: (id, bytes), of a free 0 bytes."""
    live, out = {}, []
    with open(path, encoding="utf-8") as file:
        for words in map(str.split, file):
            if words[0] == "a" and int(words[2]):
                live[int(words[1])] = True
                out.append((int(words[1]), int(words[2])))
            elif words[0] == "f" and live.pop(int(words[1]), False):
                out.append((int(words[1]), 0))
    return out + [(number, 0) for number in sorted(live)]


def run(pool, trace):
    held = {}
    for number, size in trace:
        if size:
            held[number] = pool.malloc(size)
        else:
            del held[number]


def loop(trace):
    """What run() takes by itself."""
    held = {}
    for number, size in trace:
        if size:
            held[number] = number
        else:
            del held[number]


def least(passes, what, *arguments):
    times = []
    for _ in range(passes):
        begun = time.perf_counter()
        what(*arguments)
        times.append(time.perf_counter() - begun)
    return min(times)


def main():
    trace, passes = read_trace(sys.argv[2]), int(sys.argv[3])
    pool = MemoryPool(memory._malloc)
    try:
        run(pool, trace)
    except OutOfMemoryError:
        os._exit(3)
    if passes:
        took = least(passes, run, pool, trace) - least(passes, loop, trace)
        print(f"{1e9 * took / len(trace):.1f}", flush=True)
    os._exit(0)


main()
