"""beside_moves.py NAME - what goes on while live memory moves, and after: none sees
other bytes than its own.  Values come from the host, as a simulated GPU computes
nothing.  Prints what was served."""

import sys
import threading

import torch

PIECE = 2 << 20
KEPT_EACH = 10
ROUNDS = 3


def filled(number, size=PIECE):
    return torch.full((size // 4,), number, dtype=torch.int32).cuda()


def must_hold(tensor, number):
    seen = tensor.cpu()
    if not bool((seen == number).all()):
        raise AssertionError(f"{seen.unique()[:5].tolist()} for {number}")


def pieces(bytes_of_all, first=0, streams=(None,)):
    """Of as many bytes every tenth piece, by the number that it holds; the rest is
    free again."""
    kept = {}
    made = []
    for i in range(bytes_of_all // PIECE):
        with torch.cuda.stream(streams[i % len(streams)]):
            made.append(filled(first + i))
    for i in range(0, len(made), KEPT_EACH):
        kept[first + i] = made[i]
    return kept


def free_bytes():
    torch.cuda.empty_cache()
    return torch.cuda.mem_get_info()[0]


def serve(free):
    """Three quarters of it: nine tenths are free, no handle as a whole."""
    large = torch.empty(free * 3 // 4, dtype=torch.uint8, device="cuda")
    places = range(0, large.numel(), large.numel() // 7)
    for i in places:
        large[i : i + 1].copy_(torch.tensor([i % 251], dtype=torch.uint8))
    for i in places:
        must_hold(large[i : i + 1], i % 251)


def alone():
    for turn in range(ROUNDS):
        free = free_bytes()
        kept = pieces(free * 9 // 10, turn << 16)
        serve(free)
        for number, tensor in kept.items():
            must_hold(tensor, number)
        del kept, tensor


def streams():
    """Allocated on side streams, recorded on others, freed while recorded."""
    sides = [torch.cuda.Stream() for _ in range(3)]
    for turn in range(ROUNDS):
        free = free_bytes()
        kept = pieces(free * 9 // 10, turn << 16, sides)
        for i, tensor in enumerate(kept.values()):
            tensor.record_stream(sides[(i + 1) % len(sides)])
        for number in list(kept)[::7]:
            with torch.cuda.stream(sides[turn]):
                kept[number].add_(1)
            del kept[number]
        serve(free)
        for i, (number, tensor) in enumerate(kept.items()):
            with torch.cuda.stream(sides[i % len(sides)]):
                must_hold(tensor, number)
        del kept, tensor


def graph():
    """Replayed around moves; nothing moves while one is captured."""
    free = free_bytes()
    kept = pieces(free * 9 // 10)
    given = next(iter(kept.values()))
    captured = torch.cuda.CUDAGraph()
    refused = []

    def ask():
        try:
            torch.empty(free * 3 // 4, dtype=torch.uint8, device="cuda")
        except torch.cuda.OutOfMemoryError:
            refused.append(True)

    with torch.cuda.graph(captured, capture_error_mode="thread_local"):
        made = given + 1
        other = threading.Thread(target=ask)
        other.start()
        other.join()
    assert refused, "memory moved during a capture"
    made.copy_(torch.full((PIECE // 4,), -1, dtype=torch.int32))
    for turn in range(ROUNDS):
        captured.replay()
        more = pieces(free * 3 // 4, (turn + 1) << 16)
        serve(free * 9 // 10)
        captured.replay()
        must_hold(made, -1)
        for number, tensor in (kept | more).items():
            must_hold(tensor, number)
        del more, tensor


class Worker(threading.Thread):
    """Copies in and out, launches and allocates all the while."""

    def __init__(self, number, over):
        super().__init__()
        self.number, self.over = number, over
        self.turns, self.failure = 0, None

    def turn(self, own, small):
        number = self.number << 20 | self.turns
        own.copy_(torch.full(own.shape, number, dtype=torch.int32))
        small.add_(1)
        torch.empty(own.shape[0] >> 4, device="cuda").zero_()
        must_hold(own, number)
        self.turns += 1

    def run(self):
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                own = filled(0, 256 << 10)
                small = torch.zeros(1 << 10, device="cuda")
                while not self.over.is_set():
                    self.turn(own, small)
        except BaseException as error:
            self.failure = error


def threads(count=4):
    over = threading.Event()
    workers = [Worker(i + 1, over) for i in range(count)]
    for worker in workers:
        worker.start()
    try:
        for turn in range(ROUNDS):
            free = free_bytes()
            kept = pieces(free * 17 // 20, turn << 16)
            serve(free)
            for number, tensor in kept.items():
                must_hold(tensor, number)
            del kept, tensor
    finally:
        over.set()
        for worker in workers:
            worker.join()
    for worker in workers:
        if worker.failure is not None:
            raise worker.failure
        assert worker.turns > 0


def ranks():
    """Two processes of DistributedDataParallel, each with its card."""
    from torch import distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("nccl")
    rank = dist.get_rank()
    torch.cuda.set_device(rank % torch.cuda.device_count())
    model = DistributedDataParallel(torch.nn.Linear(512, 512).cuda())
    optimizer = torch.optim.AdamW(model.parameters())
    for turn in range(ROUNDS):
        free = free_bytes()
        kept = pieces(free * 9 // 10, (rank * 8 + turn) << 16)
        model(torch.randn(64, 512, device="cuda")).sum().backward()
        serve(free - (free >> 4))
        optimizer.step()
        optimizer.zero_grad()
        own = torch.tensor([rank * 100 + turn] * 8).cuda()
        of_all = [torch.empty_like(own) for _ in range(dist.get_world_size())]
        dist.all_gather(of_all, own)
        for other, tensor in enumerate(of_all):
            must_hold(tensor, other * 100 + turn)
        for number, tensor in kept.items():
            must_hold(tensor, number)
        del kept, tensor
    dist.destroy_process_group()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    print("as they were")
