"""Temporary memory of sorting on a GPU: that of CUB's radix sort, and what
PyTorch allocates around it.

The numbers were obtained from PyTorch 2.15 at compute capability 8.0.  Other
capabilities may tile the keys differently, which changes the total by less
than 1 %.
"""

import math

_DIGIT = 8  # bits per pass
_TILE = {4: 3072, 8: 3840}  # keys per block, by their size in bytes
_AT_ONCE = 2048  # keys that a single block sorts
_NARROW_COUNTERS = 45312

# PyTorch lets one block sort a row of up to this length.
_SHORT_ROW = 4096
# From this number of rows on they are sorted in place.
_MANY_ROWS = 128


def bits_of(largest):
    return max(largest, 1).bit_length()


def _narrow_threads(gpu):
    """Threads of the GPU, if another kernel sorts keys of one and two bytes
    (before compute capability 9)."""
    return gpu.processors * gpu.threads if gpu.capability < (9, 0) else 0


def pairs_bytes(count, key_bytes=8, bits=64, narrow_threads=0):
    """For keys with 8-byte indices: counters of each pass and block, and a
    second copy of keys and indices if there are several passes."""
    if count <= _AT_ONCE:
        return 1
    passes = -(-bits // _DIGIT)
    is_narrow = key_bytes < 4 and narrow_threads > 0
    if is_narrow:
        # Counters of each block; there are as many blocks as fit.
        size = _NARROW_COUNTERS + 10 * key_bytes * narrow_threads
    else:
        size = 255 + 256 + 2048 * passes
        size += 1024 * -(-count // _TILE.get(key_bytes, 3072))
    if passes > 1 or is_narrow:
        for each in (key_bytes, 8):
            size += -(-count * each // 256) * 256
    return size


def sort(taker, args, kwargs, gpu):
    """Sorted indices; for several long rows the indices twice, and the keys."""
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
        taker.take(pairs_bytes(count, each, 8 * each, _narrow_threads(gpu)))
        return
    taker.take(count * 8)
    keys = taker.take(count * each)
    if rows < _MANY_ROWS:
        taker.drop(taker.take(pairs_bytes(count, each, 8 * each, _narrow_threads(gpu))))
        taker.drop(keys)
        taker.take(pairs_bytes(count, 8, bits_of(rows - 1)))


# topk: threads per block, blocks per multiprocessor (limited by registers,
# equal for all capabilities), and how many values a thread examines.
_TOPK_THREADS = 256
_TOPK_BLOCKS = 6
_TOPK_LEAST, _TOPK_MOST = 4, 64
# Number of rows, up to the next entry, and the row length from which several
# blocks share a row.
_TOPK_SHARED = (
    (0, 20000), (21, 10000), (41, 8000), (81, 5000), (200, 3000), (800, 800),
    (4001, 400),
)


def _topk_shares(rows, length):
    return length >= [least for first, least in _TOPK_SHARED if rows >= first][-1]


def _topk_blocks(rows, length, gpu):
    places = gpu.processors * _TOPK_BLOCKS * _TOPK_THREADS
    each = -(-rows * length // places)
    each = max(_TOPK_LEAST, min(each, _TOPK_MOST)) * _TOPK_THREADS
    return rows * -(-length // each)


def topk(taker, args, kwargs, gpu):
    """Counts of each digit by block and by row, if blocks share a row.  If
    many sorted results are requested: copies of both results, the temporaries
    of sorting, and indices."""
    tensor, wanted = args[:2]
    if not tensor.numel() or not tensor.dim():
        return
    dim = args[2] if len(args) > 2 else kwargs.get("dim", -1)
    length, each = tensor.shape[dim], tensor.element_size()
    rows = tensor.numel() // length
    if _topk_shares(rows, length):
        blocks = _topk_blocks(rows, length, gpu)
        sizes = (
            rows * each, rows * 8, rows * 2 * max(4, each), blocks * 512, rows * 1024
        )
        for number in [taker.take(s) for s in (*sizes, blocks * 4, blocks * 4)]:
            taker.drop(number)
    in_order = args[4] if len(args) > 4 else kwargs.get("sorted", True)
    if in_order and wanted > _SHORT_ROW:
        count = rows * wanted
        taker.take(count * 8)
        taker.take(count * each)
        sort(taker, (tensor.narrow(dim, 0, wanted), dim), {}, gpu)
        taker.take(count * 8)


def index_put(taker, args, kwargs, gpu):
    """Accumulating sorts the indices: each is made positive, multiplied by its
    stride, and they are summed.  Then: sorted indices, their origin, and the
    previous origin."""
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


# Up to this many indices embedding's backward does not sort them.
_FEW_INDICES = 3072


def embedding_before(taker, args, kwargs, gpu):
    """Inputs made contiguous; for many indices also the sorted ones and their
    origin."""
    gradient, indices, rows = args[:3]
    if not gradient.is_contiguous():
        taker.take(gradient.nbytes)
    count = indices.numel()
    if count <= _FEW_INDICES:
        return
    taker.take(count * 8)
    taker.take(count * 8)
    origin = taker.take(count * 8)
    taker.drop(taker.take(pairs_bytes(count, bits=bits_of(rows - 1))))
    taker.drop(origin)


def embedding_after(taker, args, kwargs, gpu):
    """Rows in parts of ten indices, each part with a sum in 32 bits."""
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
