"""What sorting, accumulating by index and embedding's backward ask for beside
their results, and what larder.fit.sorting says: status 1 where they differ."""

import asking
import torch
from asking import asked, without

from larder.fit import sorting

aten = torch.ops.aten
COUNTS = (1000, 3000, 3073, 10_000, 100_000, 1_000_000)


def indices(count):
    return torch.zeros(count, dtype=torch.long, device="cuda")


def one(gpu, what, run, args, *rules):
    real, results = asked(run)
    if isinstance(results, torch.Tensor):
        results = [results]
    return what, without(real, results), asking.predicted(gpu, args, *rules)


def sorts(gpu):
    for count in COUNTS:
        for dtype in (torch.float32, torch.int64, torch.float16, torch.int8):
            data = torch.zeros(count, dtype=dtype, device="cuda")
            for shape in ((count,), (10, -1) if count % 10 == 0 else (7, -1)):
                if shape[0] == 7 and count % 7:
                    continue
                rows = data.view(shape)
                yield one(
                    gpu,
                    ("sort", dtype, tuple(rows.shape)),
                    lambda: aten.sort(rows, -1),
                    (rows, -1),
                    sorting.sort,
                )


def largest(gpu):
    for shape in (
        (4000,), (20_000,), (300_000,), (20, 20_000), (21, 10_000), (40, 9_999),
        (64, 50_257), (80, 8_000), (128, 5_000), (2000, 4000), (5000, 400),
    ):
        for dtype in (torch.float32, torch.float16, torch.int64):
            for wanted in (50, 5000):
                # Sorting so many rows is asked for otherwise, as one.
                if wanted > shape[-1] or (wanted > 50 and len(shape) > 1):
                    continue
                data = torch.zeros(shape, dtype=dtype, device="cuda")
                yield one(
                    gpu,
                    ("topk", dtype, shape, wanted),
                    lambda: aten.topk(data, wanted),
                    (data, wanted),
                    sorting.topk,
                )


def accumulations(gpu):
    for rows, width in ((100, 1), (20_000, 8), (1 << 22, 2)):
        table = torch.zeros(rows, width, device="cuda")
        for count in COUNTS:
            args = (table, [indices(count)], torch.zeros(count, width, device="cuda"))
            yield one(
                gpu,
                ("index_put_", rows, width, count),
                lambda: (aten._index_put_impl_(*args, True, True), ())[1],
                (*args, True, True),
                sorting.index_put,
            )


def embeddings(gpu):
    for rows in (500, 50_000):
        for count in COUNTS:
            for half in (False, True):
                dtype = torch.float16 if half else torch.float32
                gradient = torch.zeros(count, 64, dtype=dtype, device="cuda")
                args = (gradient, indices(count), rows, -1, False)
                yield one(
                    gpu,
                    ("embedding", rows, count, dtype),
                    lambda: aten.embedding_dense_backward(*args),
                    args,
                    sorting.embedding_before,
                    sorting.embedding_after,
                )


def pairs(gpu):
    for some in (sorts, largest, accumulations, embeddings):
        yield from some(gpu)


if __name__ == "__main__":
    asking.check(pairs)
