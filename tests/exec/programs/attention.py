"""What PyTorch's kernels of attention ask for beside their results, and what
larder.fit.attention says: every case that differs is named, status 1."""

import collections
import itertools
import sys

import torch

from larder.fit import attention

aten = torch.ops.aten
Gpu = collections.namedtuple("Gpu", "capability processors")


class Taker:
    """Writes down what is taken."""

    def __init__(self):
        self.sizes = []

    def take(self, size):
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


def predicted(rule, gpu, *args):
    taker = Taker()
    rule(taker, args, {}, gpu)
    return taker.sizes


def tensors(dtype, batch, heads, key_heads, length, keys, size):
    def one(heads, length):
        whole = torch.empty(batch, length, heads, size, dtype=dtype, device="cuda")
        return whole.transpose(1, 2)

    return one(heads, length), one(key_heads, keys), one(key_heads, keys)


def efficient(gpu, dropout, q, k, v):
    words = (q, k, v, None, True, dropout, False)
    real, forward = asked(lambda: aten._scaled_dot_product_efficient_attention(*words))
    yield without(real, forward), predicted(attention.efficient_forward, gpu, *words)
    out, sums, seed, offset = forward
    for gradient in (torch.empty_like(out), torch.empty_like(out).contiguous()):
        words = (
            *(gradient, q, k, v, None, out, sums, seed, offset),
            *(dropout, [True, True, True, False], False),
        )
        real, results = asked(
            lambda: aten._scaled_dot_product_efficient_attention_backward(*words)
        )
        copies = [rounded(s) for s in attention.efficient_copies(words, {})]
        ours = predicted(attention.efficient_backward, gpu, *words)
        yield without(real, results), copies + ours


def flash(gpu, dropout, q, k, v):
    words = (q, k, v, dropout, False, False)
    real, forward = asked(lambda: aten._scaled_dot_product_flash_attention(*words))
    yield (
        [size for size in without(real, forward) if size > 512],
        [s for s in predicted(attention.flash_forward, gpu, *words) if s > 512],
    )
    out, sums, ends_q, ends_k, most_q, most_k, seed, offset, _ = forward
    for gradient in (torch.empty_like(out), torch.empty_like(out).contiguous()):
        words = (
            *(gradient, q, k, v, out, sums, ends_q, ends_k, most_q, most_k),
            *(dropout, False, seed, offset),
        )
        real, results = asked(
            lambda: aten._scaled_dot_product_flash_attention_backward(*words)
        )
        copies = [rounded(s) for s in attention.flash_copies(words, {})]
        ours = predicted(attention.flash_backward, gpu, *words)
        yield without(real, results), copies + ours


def cases():
    """The way, and the shapes."""
    sizes = (32, 64, 72, 96, 128, 160, 256)
    for size, (length, keys) in itertools.product(
        sizes, ((256, 256), (200, 77), (1024, 1024))
    ):
        for dropout in (0.0, 0.1):
            for dtype in (torch.float32, torch.float16):
                yield efficient, dropout, (dtype, 2, 3, 3, length, keys, size)
            for heads in (3, 6):
                shape = (torch.bfloat16, 2, heads, 3, length, keys, size)
                yield flash, dropout, shape
    yield efficient, 0.0, (torch.float16, 20, 16, 16, 64, 64, 160)
    yield flash, 0.0, (torch.float16, 1, 1, 1, 1, 8192, 64)


def main():
    torch.cuda.memory._record_memory_history(max_entries=1 << 20, stacks="python")
    properties = torch.cuda.get_device_properties(0)
    gpu = Gpu((properties.major, properties.minor), properties.multi_processor_count)
    count = wrong = 0
    for way, dropout, shape in cases():
        for real, ours in way(gpu, dropout, *tensors(*shape)):
            count += 1
            if sorted(real) != sorted(ours):
                wrong += 1
                print(way.__name__, dropout, shape, "real", real, "ours", ours)
    print(count, "cases")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
