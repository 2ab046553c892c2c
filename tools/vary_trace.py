#!/usr/bin/env python3
"""vary_trace.py FOLDER [SEED] < TRACE - writes variants of a trace, to test whether
a result holds for similar traces:

  shift   each size of 4 KiB and more changed by -2 to 4 times 256 bytes
  scale   sizes of 64 KiB and more times 0.85 to 1.15, except those of blocks
          that are never freed
  rotate  the first 2 to 30 % removed, except for the blocks live at that point
  delay   one free in ten is delayed by up to 20 operations
  keep    one free in 300, of blocks of 1 KiB to 1 MiB, is delayed by 200 to 2000

Two of each are written, shift0.trace to keep1.trace; the same SEED (1) gives the
same variants.  For a compressed trace: zstd -dc TRACE.zst | vary_trace.py FOLDER
"""
import os
import random
import sys

KIB = 1 << 10


def is_alloc(op):
    return op[0] == "a"


def resized(op, size):
    return op[:2] + [str(size)] + op[3:]


def shift(ops, draw):
    moved = {}
    for op in ops:
        size = int(op[2]) if is_alloc(op) else 0
        if size < 4 * KIB:
            yield op
            continue
        if size not in moved:
            moved[size] = size + 256 * draw.randint(-2, 4)
        yield resized(op, moved[size])


def scale(ops, draw):
    factor = draw.uniform(0.85, 1.15)
    freed = {op[1] for op in ops if op[0] == "f"}
    lasting = {op[2] for op in ops if is_alloc(op) and op[1] not in freed}
    for op in ops:
        if is_alloc(op) and int(op[2]) >= 64 * KIB and op[2] not in lasting:
            op = resized(op, int(int(op[2]) * factor) // 512 * 512)
        yield op


def rotate(ops, draw):
    first = int(len(ops) * draw.uniform(0.02, 0.3))
    live = {}
    for op in ops[:first]:
        if is_alloc(op):
            live[op[1]] = op
        elif op[0] == "f":
            live.pop(op[1], None)
    return list(live.values()) + ops[first:]


def later(ops, how_much):
    """Move each operation down by how_much(op), which may be 0."""
    placed = []
    for i, op in enumerate(ops):
        more = how_much(op)
        placed.append((i + more + (0.5 if more else 0), i, op))
    placed.sort(key=lambda p: p[:2])
    return [op for _, _, op in placed]


def delay(ops, draw):
    def how_much(op):
        late = op[0] == "f" and draw.random() < 0.1
        return draw.randint(1, 20) if late else 0

    return later(ops, how_much)


def keep(ops, draw):
    medium = {op[1] for op in ops
              if is_alloc(op) and KIB <= int(op[2]) <= KIB * KIB}

    def how_much(op):
        late = op[0] == "f" and op[1] in medium and draw.random() < 1 / 300
        return draw.randint(200, 2000) if late else 0

    return later(ops, how_much)


def write(ops, path):
    """Write the trace with dense IDs, starting at 0."""
    numbers = {}
    with open(path, "w") as out:
        for op in ops:
            if is_alloc(op):
                numbers[op[1]] = str(len(numbers))
            if op[0] in ("a", "f", "r"):
                op = [op[0], numbers[op[1]]] + op[2:]
            out.write(" ".join(op) + "\n")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    folder = sys.argv[1]
    seed = sys.argv[2] if len(sys.argv) == 3 else "1"
    ops = [line.split() for line in sys.stdin if not line.startswith("#")]
    ops = [op for op in ops if op]
    os.makedirs(folder, exist_ok=True)
    for variant in (shift, scale, rotate, delay, keep):
        for i in range(2):
            draw = random.Random(f"{seed}-{variant.__name__}-{i}")
            write(variant(ops, draw),
                  os.path.join(folder, f"{variant.__name__}{i}.trace"))


if __name__ == "__main__":
    main()
