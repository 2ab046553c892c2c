"""What an operator asks PyTorch's allocator for, beside its results, and what a
rule of larder.fit says that it takes."""

import collections
import sys

import torch

SMALL = 16 << 10

Gpu = collections.namedtuple("Gpu", "capability processors threads")


class Taker:
    """Writes down what is taken, in order."""

    def __init__(self):
        self.sizes = []

    def take(self, size):
        if size > 0:
            self.sizes.append(rounded(size))

    def drop(self, number):
        pass


def rounded(size):
    return -(-size // 512) * 512


def asked(run):
    """The requests of a call, and its results."""
    begin = len(torch.cuda.memory._snapshot()["device_traces"][0])
    results = run()
    events = torch.cuda.memory._snapshot()["device_traces"][0][begin:]
    return [rounded(e["size"]) for e in events if e["action"] == "alloc"], results


def without(sizes, results):
    """What is asked for beside results of the GPU."""
    left = list(sizes)
    for tensor in results:
        if isinstance(tensor, torch.Tensor) and tensor.is_cuda and tensor.numel():
            size = rounded(tensor.untyped_storage().nbytes())
            if size in left:
                left.remove(size)
    return left


def predicted(gpu, args, *rules):
    taker = Taker()
    for rule in rules:
        rule(taker, args, {}, gpu)
    return taker.sizes


def check(pairs_of):
    """`pairs_of` makes (what is tried, real sizes, sizes said) of a GPU; sizes of
    up to 16 KiB are left out.  Exits with 1 if some differ."""
    torch.cuda.memory._record_memory_history(max_entries=1 << 20, stacks="python")
    properties = torch.cuda.get_device_properties(0)
    gpu = Gpu(
        (properties.major, properties.minor),
        properties.multi_processor_count,
        properties.max_threads_per_multi_processor,
    )
    count = wrong = 0
    for what, *both in pairs_of(gpu):
        count += 1
        real, said = (sorted(s for s in sizes if s > SMALL) for sizes in both)
        if real != said:
            wrong += 1
            print(*what, "real", real, "said", said)
    print(count, "cases")
    sys.exit(1 if wrong else 0)
