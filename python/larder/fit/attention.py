"""Temporary memory of attention kernels, beside their results.

Shapes are those of PyTorch's operators: (batch, heads, length, head size).
The kernels read and write (batch, length, heads, head size).
"""

import math

import torch

_HALF = (torch.float16, torch.bfloat16)


def _div_up(a, b):
    return -(-a // b)


def _round_up(a, b):
    return _div_up(a, b) * b


def copies(*places, turned=True):
    """These arguments, copied unless they have the order that the kernel needs;
    `turned`: with length and heads exchanged."""

    def rule(taker, args, kwargs, gpu):
        for at in places:
            read = args[at].transpose(1, 2) if turned else args[at]
            if not read.is_contiguous():
                taker.take(args[at].nbytes)

    return rule


def _lengths(query, key):
    """Batch, heads, length and head size of the queries; heads and length of
    the keys."""
    return *query.shape, key.shape[1], key.shape[2]


# ---- flash ------------------------------------------------------------------


def _head_rounded(size):
    return _round_up(size, 32 if size <= 128 else 64)


def _splits(blocks, places, key_blocks):
    """Into how many parts the keys are split if there are too few blocks to
    use the GPU: the smallest number within 15 % of the best utilization."""
    if blocks >= 0.8 * places:
        return 1
    most = min(128, places, key_blocks)
    used = {}
    for count in range(1, most + 1):
        if count > 1 and _div_up(key_blocks, count) == _div_up(
            key_blocks, count - 1
        ):
            continue
        waves = blocks * count / places
        used[count] = waves / math.ceil(waves)
    best = max(used.values())
    return min(count for count, use in used.items() if use >= 0.85 * best)


def flash_forward(taker, args, kwargs, gpu):
    """Partial sums and results, if keys are split among multiprocessors."""
    query, key = args[:2]
    dropout = args[3] if len(args) > 3 else kwargs.get("dropout_p", 0.0)
    batch, heads, length, size, _, keys = _lengths(query, key)
    if dropout:
        return
    width = 256 if size <= 64 else 128 if size <= 128 else 64
    splits = _splits(
        batch * heads * _div_up(length, 64),
        2 * gpu.processors,
        _div_up(keys, width),
    )
    if splits > 1:
        rows = splits * batch * heads * length
        taker.take(rows * 4)
        taker.take(rows * _head_rounded(size) * 4)


def flash_backward(taker, args, kwargs, gpu):
    """Row sums, the queries' gradients in 32 bits, and the gradients of keys
    and values for each head of the queries."""
    query, key = args[1:3]
    batch, heads, length, size, key_heads, keys = _lengths(query, key)
    rows = batch * heads * _round_up(length, 128)
    taker.take(rows * 4)
    taker.take(rows * _head_rounded(size) * 4)
    if key_heads != heads:
        spread = batch * keys * heads * size * query.element_size()
        taker.take(spread)
        taker.take(spread)


# ---- memory-efficient -------------------------------------------------------


def _has_much_shared_memory(capability):
    """Whether a block can have 163 KiB or more of shared memory; otherwise it
    is 99 KiB, or 64 KiB for compute capability 7.5."""
    return capability >= (8, 0) and (
        capability[1] in (0, 7) and capability[0] < 12
    )


def _tile(query, size, dropout, gpu):
    """Queries and keys per block, and whether gradients of keys and values are
    accumulated in memory: those of the first kernel in the list that fits.
    `size`: the larger head size, of the queries or of the values."""
    roomy = _has_much_shared_memory(gpu.capability)
    if size <= 64:
        return 64, 64, False
    if query.dtype not in _HALF:
        return (128 if roomy else 64), 64, False
    if size > 128:
        return 128, 64, True
    if roomy:
        return 128, 128, False
    if gpu.capability < (8, 0):
        return 128, 64, False
    if size <= 96 and not dropout and gpu.capability in ((8, 6), (8, 9)):
        return 128, 64, False
    return 64, 64, True


def _key_splits(query, keys, width):
    blocks = query.shape[0] * query.shape[1]
    if blocks >= 256 and keys <= 2 * width:
        return 1
    return max(1, min(_div_up(keys, width), 200 // blocks))


def _workspace(query, key, value, dropout, gpu):
    """The queries' gradients in tiles, each with 16 bytes of locks, and those
    of keys and values."""
    batch, heads, length, size, _, keys = _lengths(query, key)
    widest = max(size, value.shape[-1])
    height, width, adds_up = _tile(query, widest, dropout, gpu)
    tiles = _div_up(length, height) * _div_up(size, width)
    each = tiles * (16 + height * width * 4)
    if adds_up:
        wide = _round_up(size, height) + _round_up(value.shape[-1], height)
        each += _key_splits(query, keys, width) * width * wide * 4
    return batch * heads * each


def efficient_forward(taker, args, kwargs, gpu):
    """Results in 32 bits, if a head is too large for registers."""
    query, value = args[0], args[2]
    if query.dtype in _HALF and value.shape[-1] > 128:
        batch, heads, length, _ = query.shape
        taker.take(batch * heads * length * value.shape[-1] * 4)


def efficient_backward(taker, args, kwargs, gpu):
    """Gradients of keys and values for each head of the queries, row sums (in
    32 bits by way of a product), and the workspace."""
    query, key, value, out = *args[1:4], args[5]
    if key.shape[1] != query.shape[1]:
        groups = query.shape[1] // key.shape[1]
        taker.take(key.nbytes * groups)
        taker.take(value.nbytes * groups)
    dropout = args[9] if len(args) > 9 else kwargs.get("dropout_p", 0.0)
    rows = query.shape[0] * query.shape[1] * query.shape[2] * 4
    if query.dtype in _HALF:
        taker.take(rows)
    else:
        product = taker.take(out.nbytes)
        sums = taker.take(rows)
        if query.shape[1] > 1:
            taker.take(rows)
            taker.drop(sums)
        taker.drop(product)
    taker.take(_workspace(query, key, value, dropout, gpu))


# ---- cuDNN ------------------------------------------------------------------


def cudnn_backward(taker, args, kwargs, gpu):
    """The queries' gradients and row sums in 32 bits.  Only cuDNN knows."""
    batch, heads, length, size, _, _ = _lengths(*args[1:3])
    taker.take(batch * heads * length * (size + 1) * 4)
