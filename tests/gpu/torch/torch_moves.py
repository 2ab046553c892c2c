"""torch_moves.py - what live memory holds while it moves: under
LARDER_PRELOAD=cache,migrate, each tensor an allocation of the driver.

Threads launch kernels on streams of their own all the while.  Ends with 1 and
words if a byte is wrong or nothing moved; else prints an object of what it did.
"""

import json
import sys
import threading

import torch

LIMIT = 6 << 30  # the program is started with it
PIECE = 2 << 20
KEPT_EACH = 10  # of a segment of PyTorch's, or a handle, one stays
ROUNDS = 6
WORKERS = 2


def pieces():
    """What stays, by number; nine tenths of the memory are free again."""
    count = LIMIT * 9 // 10 // PIECE
    made = [
        torch.full((PIECE // 4,), i, dtype=torch.int32, device="cuda")
        for i in range(count)
    ]
    return {i: t for i, t in enumerate(made) if i % KEPT_EACH == 0}


def wrong(kept, added):
    """The pieces that do not hold their number, plus what was added."""
    return [
        i
        for i, t in kept.items()
        if not bool((t == i + added.get(i, 0)).all())
    ]


class Worker(threading.Thread):
    """Adds 1 to its pieces, again and again, on a stream of its own."""

    def __init__(self, kept, own):
        super().__init__()
        self.kept, self.own = kept, own
        self.stop = threading.Event()
        self.added = dict.fromkeys(own, 0)

    def run(self):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            while not self.stop.is_set():
                for i in self.own:
                    self.kept[i].add_(1)
                    self.added[i] += 1
        stream.synchronize()


def main():
    kept = pieces()
    torch.cuda.synchronize()
    names = list(kept)
    workers = [
        Worker(kept, names[n :: WORKERS + 1]) for n in range(WORKERS)
    ]
    for worker in workers:
        worker.start()
    asked = served = 0
    for _ in range(ROUNDS):
        large = torch.full(
            (LIMIT * 3 // 4 // 4,), 7, dtype=torch.int32, device="cuda"
        )
        served += all(bool((part == 7).all()) for part in large.split(1 << 22))
        asked += 1
        del large
    for worker in workers:
        worker.stop.set()
        worker.join()
    torch.cuda.synchronize()
    added = {}
    for worker in workers:
        added.update(worker.added)
    bad = wrong(kept, added)
    print(
        json.dumps(
            {
                "pieces": len(kept),
                "asked": asked,
                "served": served,
                "kernels": sum(added.values()),
                "wrong": bad,
            }
        )
    )
    return int(bool(bad) or served != ROUNDS)


if __name__ == "__main__":
    sys.exit(main())
