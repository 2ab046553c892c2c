"""Nine tenths of the memory are free, a piece of each handle is not: a request
for most of it.  Prints "served" or "refused", and whether the pieces are intact;
what they hold comes from the host, as a simulated GPU computes nothing.

moving.py [BYTES]: the memory there is, if not all that is free."""

import sys
import threading

import torch

PIECE = 2 << 20
KEPT_EACH = 10

free = int(sys.argv[1]) if sys.argv[1:] else torch.cuda.mem_get_info()[0]
count = free * 9 // 10 // PIECE
pieces = [
    torch.full((PIECE // 4,), i, dtype=torch.int32).cuda() for i in range(count)
]
kept = {i: t for i, t in enumerate(pieces) if i % KEPT_EACH == 0}
del pieces

over = threading.Event()


def launch():
    """Work of another thread, all the while."""
    own = torch.zeros(1 << 10, device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()):
        while not over.is_set():
            own.add_(1)


worker = threading.Thread(target=launch)
worker.start()
try:
    large = torch.empty(free * 3 // 4, dtype=torch.uint8, device="cuda")
    said = "served"
except torch.cuda.OutOfMemoryError:
    said = "refused"
finally:
    over.set()
    worker.join()
wrong = [i for i, t in kept.items() if not bool((t.cpu() == i).all())]
print(said, "intact" if not wrong else f"wrong: {wrong[:5]}")
sys.exit(bool(wrong))
