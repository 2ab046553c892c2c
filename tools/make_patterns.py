#!/usr/bin/env python3
"""make_patterns.py FOLDER - writes traces that are difficult for an allocator:

  hand_over.trace  two streams that pass blocks to each other: one allocates a
                   block, the other records it, and the first frees it while it
                   is in use
  growth.trace     a buffer that grows by 32 KiB ten thousand times, the old one
                   freed after each
  fork.trace       long-lived small blocks among short-lived large ones, like the
                   optimizer's state in a first step

Every run writes the same traces.
"""
import os
import random
import sys

KIB = 1 << 10
MIB = 1 << 20


class Trace:
    def __init__(self, folder, name, what):
        self.file = open(os.path.join(folder, name + ".trace"), "w")
        self.file.write(f"# {what}\n")
        self.next_id = 0

    def alloc(self, size, stream=0):
        self.next_id += 1
        self.file.write(f"a {self.next_id - 1} {size} {stream}\n")
        return self.next_id - 1

    def free(self, number):
        self.file.write(f"f {number}\n")

    def line(self, text):
        self.file.write(text + "\n")

    def close(self):
        self.file.close()


def hand_over(folder):
    draw = random.Random(11)
    t = Trace(folder, "hand_over", "two streams, blocks handed over")
    weights = [t.alloc(draw.randrange(1, 40 * MIB), 0) for _ in range(20)]
    held = []  # (id, maker), still live
    for step in range(20000):
        maker = step // 7 % 2
        user = 1 - maker
        block = t.alloc(int(2 ** draw.uniform(9, 24.5)), maker)
        t.line(f"r {block} {user}")
        held.append(block)
        while len(held) > 24:
            t.free(held.pop(draw.randrange(len(held))))
        if step % 16 == 15:
            t.line(f"c {user}")
        if step % 40 == 39:
            t.line(f"c {maker}")
    for block in held + weights:
        t.free(block)
    t.close()


def growth(folder):
    t = Trace(folder, "growth", "a buffer that grows")
    size = 16 * MIB
    old = t.alloc(size)
    for _ in range(10000):
        size += 32 * KIB
        new = t.alloc(size)
        t.free(old)
        old = new
    t.free(old)
    t.close()


def fork(folder):
    draw = random.Random(12)
    t = Trace(folder, "fork", "long-lived small blocks between large ones")
    kept = []
    for _ in range(60):
        large = []
        for _ in range(40):
            large.append(t.alloc(draw.randrange(3 * MIB, 48 * MIB)))
            kept.append(t.alloc(draw.randrange(200 * KIB, 900 * KIB)))
            if len(large) > 6:
                t.free(large.pop(draw.randrange(len(large))))
        for block in large:
            t.free(block)
        if len(kept) > 1200:
            t.free(kept.pop(draw.randrange(len(kept))))
    for block in kept:
        t.free(block)
    t.close()


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    os.makedirs(sys.argv[1], exist_ok=True)
    hand_over(sys.argv[1])
    growth(sys.argv[1])
    fork(sys.argv[1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
