"""What PyTorch's own reductions ask for beside their results, and what `larder
run` says they do: over shapes, types and dimensions.  Prints each difference."""

import itertools

import torch

from larder.fit import reductions

aten = torch.ops.aten
PROCESSORS, THREADS = 108, 2048

SHAPES = (
    (2048, 768),
    (20000, 256),
    (256, 4096),
    (100000, 40),
    (65536, 768),
    (12, 100000),
    (2048, 50257),
    (3, 5),
    (1 << 22,),
    (16, 128, 768),
    (4, 512, 1024),
    (16, 64, 112, 112),
    (64, 64, 64, 64),
)
TYPES = (torch.float32, torch.bfloat16, torch.float16)


def of_all(tensor):
    yield aten.sum.default, ()
    yield aten.mean.default, ()
    for dim in range(tensor.dim()):
        yield aten.sum.dim_IntList, ([dim],)


def of_tables(tensor):
    yield aten.amax.default, ([0],)
    yield aten.max.dim, (0,)
    yield aten.argmax.default, (0,)
    yield aten.linalg_vector_norm.default, (2, [0])


def of_many(tensor):
    yield aten.sum.dim_IntList, ([0, 1],)
    yield aten.sum.dim_IntList, ([0, 2],)
    yield aten.var_mean.correction, ([0, 2],)
    if tensor.dim() == 4:
        yield aten.sum.dim_IntList, ([0, 2, 3],)
        yield aten.mean.dim, ([2, 3],)


def cases():
    for shape, dtype in itertools.product(SHAPES, TYPES):
        tensor = torch.empty(shape, device="cuda", dtype=dtype)
        kinds = [of_all, *((of_tables,) if len(shape) == 2 else ())]
        kinds += [of_many] if len(shape) > 2 else []
        for kind in kinds:
            yield from ((tensor, *case) for case in kind(tensor))
        if len(shape) > 1:
            swapped = tensor.transpose(-1, -2)
            yield swapped, aten.sum.dim_IntList, ([0],)
    for dtype in (torch.float32, torch.bool, torch.int32):
        tensor = torch.empty(1 << 22, device="cuda", dtype=dtype)
        for func in (aten.any.default, aten.all.default, aten.max.default):
            yield tensor, func, ()
        if dtype != torch.bool:
            yield tensor, aten.sum.default, ()


def really(tensor, func, args):
    history = torch.cuda.memory._record_memory_history
    history(enabled=None)
    history()
    result = func(tensor, *args)
    results = len(result) if isinstance(result, tuple) else 1
    trace = torch.cuda.memory._snapshot()["device_traces"][0]
    return [e["size"] for e in trace if e["action"] == "alloc"][results:]


def main():
    count = 0
    for tensor, func, args in cases():
        count += 1
        real = really(tensor, func, args)
        said = reductions.temporaries(
            func, (tensor, *args), {}, PROCESSORS, THREADS
        )
        if real != said:
            print(
                f"{func} {args} of {tuple(tensor.shape)} {tensor.stride()} "
                f"{tensor.dtype}: {real}, said to be {said}"
            )
    print(f"{count} cases")


if __name__ == "__main__":
    main()
