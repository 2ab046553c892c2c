"""When tensors go: two that hold each other, a hundred of a function, a global."""

import gc

import torch


class Holder:
    """One of two objects that refer to each other, each with 4 MiB."""

    def __init__(self, other=None):
        self.other = other or Holder(self)
        self.tensor = torch.randn(1024, 1024, device="cuda")


def many():
    return [torch.randn(100, 100, device="cuda") for _ in range(100)]


def inside():
    kept = many()
    print("in_function", torch.cuda.memory_allocated())
    del kept


pair = Holder()
print("pair", torch.cuda.memory_allocated())
del pair
print("pair_deleted", torch.cuda.memory_allocated())
gc.collect()
inside()
one = torch.randn(100, 100, device="cuda")
print("global", torch.cuda.memory_allocated())
hundred = many()
print("global_and_list", torch.cuda.memory_allocated())
