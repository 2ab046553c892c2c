"""What sorting takes on a GPU: CUB's radix sort, and what PyTorch asks for around
it.

The numbers were found by asking PyTorch 2.15 at compute capability 8.0; other
capabilities may cut the keys into other tiles, which is less than 1 % of the
whole."""

import math

_DIGIT = 8  # bits of a pass
_TILE = {4: 3072, 8: 3840}  # keys of a block, by their bytes
_AT_ONCE = 2048  # keys that one block sorts alone

# PyTorch has a block sort a row of up to so many.
_SHORT_ROW = 4096
# From so many rows on they are sorted as they lie.
_MANY_ROWS = 128


def bits_of(largest):
    return max(largest, 1).bit_length()


def pairs_bytes(count, key_bytes=8, bits=64):
    """Of keys with places of 8 bytes: counters of each pass and block, and both
    once more if there are several passes."""
    if count <= _AT_ONCE:
        return 1
    passes = -(-bits // _DIGIT)
    size = 255 + 256 + 2048 * passes + 1024 * -(-count // _TILE.get(key_bytes, 3072))
    if passes > 1:
        for each in (key_bytes, 8):
            size += -(-count * each // 256) * 256
    return size


def sort(taker, args, kwargs, gpu):
    """Places in order; of several long rows places twice, and the keys."""
    tensor = args[0]
    count, each = tensor.numel(), tensor.element_size()
    if not count or not tensor.dim():
        return
    dim = kwargs.get("dim", -1)
    for arg in args[1:]:
        if isinstance(arg, int) and not isinstance(arg, bool):
            dim = arg
    length = tensor.shape[dim]
    rows = count // length
    if length <= _SHORT_ROW:
        taker.take(length * 8)
        return
    taker.take(count * 8)
    if rows == 1:
        taker.take(pairs_bytes(count, each, 8 * each))
        return
    taker.take(count * 8)
    keys = taker.take(count * each)
    if rows < _MANY_ROWS:
        taker.drop(taker.take(pairs_bytes(count, each, 8 * each)))
        taker.drop(keys)
        taker.take(pairs_bytes(count, 8, bits_of(rows - 1)))


def index_put(taker, args, kwargs, gpu):
    """Accumulating sorts the indices: each is made positive and multiplied by
    its stride, and they are added up; then sorted ones, their origin, and the
    origin before."""
    accumulate = args[3] if len(args) > 3 else kwargs.get("accumulate", False)
    indexed = [(d, i) for d, i in enumerate(args[1]) if i is not None]
    if not accumulate or not indexed:
        return
    for _, index in indexed:
        positive = taker.take(index.numel() * 8)
        taker.take(index.numel() * 8)
        taker.drop(positive)
    shapes = [index.shape for _, index in indexed]
    count = 1
    for size in _broadcast(shapes):
        count *= size
    if len(indexed) > 1:
        taker.take(count * 8)
    for _ in range(3):
        taker.take(count * 8)
    reach = math.prod(args[0].shape[d] for d, _ in indexed)
    taker.take(pairs_bytes(count, bits=bits_of(reach - 1)))


def _broadcast(shapes):
    longest = max(len(shape) for shape in shapes)
    padded = [(1,) * (longest - len(s)) + tuple(s) for s in shapes]
    return [max(sizes) for sizes in zip(*padded)]


# Up to so many indices embedding's backward does not sort them.
_FEW_INDICES = 3072


def embedding_before(taker, args, kwargs, gpu):
    """What comes in is made contiguous; of many indices sorted ones and their
    origin."""
    gradient, indices, rows = args[:3]
    if not gradient.is_contiguous():
        taker.take(gradient.numel() * gradient.element_size())
    count = indices.numel()
    if count <= _FEW_INDICES:
        return
    taker.take(count * 8)
    taker.take(count * 8)
    origin = taker.take(count * 8)
    taker.drop(taker.take(pairs_bytes(count, bits=bits_of(rows - 1))))
    taker.drop(origin)


def embedding_after(taker, args, kwargs, gpu):
    """Rows in parts of ten indices, each with a sum of its own in 32 bits."""
    gradient, indices, rows = args[:3]
    count = indices.numel()
    if count <= _FEW_INDICES:
        return
    taker.take(count * 8)
    taker.take(8)
    taker.drop(taker.take(count * 8))
    segments = min(count, rows)
    taker.take(segments * 8)
    taker.take(segments * 8)
    taker.take(8)
    parts = count // 10 + segments
    taker.take(parts * 8)
    taker.take(parts * gradient.shape[-1] * max(4, gradient.element_size()))
