"""CuPy's own build on larder.cupy: arrays hold what was put in, a stream's memory
is reused on it, and running out of memory is CuPy's error."""

import os
import pickle
import tempfile

import cupy
import numpy

import larder.cupy

allocator = larder.cupy.enable()
values = numpy.arange(1 << 20, dtype=numpy.float32)
array = cupy.empty(1 << 20, dtype=cupy.float32)
array.set(values)
stream = cupy.cuda.Stream()
with stream:
    first = cupy.empty(3 << 20, dtype=cupy.uint8)
    place = first.data.ptr
    del first
    second = cupy.empty(3 << 20, dtype=cupy.uint8)
assert second.data.ptr == place
other = cupy.empty(3 << 20, dtype=cupy.uint8)
assert other.data.ptr != place
try:
    cupy.empty(1 << 40, dtype=cupy.uint8)
    raise AssertionError("a TiB could be had")
except cupy.cuda.memory.OutOfMemoryError as error:
    assert "1,099,511,627,776" in str(error)
assert bool((array.get() == values).all())


def held():
    """Of Larder's, in bytes: allocated and reserved."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "snapshot.pickle")
        allocator.adapter.snapshot(path)
        with open(path, "rb") as file:
            segments = pickle.load(file)["segments"]
    return [
        sum(s[key] for s in segments)
        for key in ("allocated_size", "total_size")
    ]


assert held()[0] == (4 + 3 + 3) << 20, held()
del array, second, other
allocator.adapter.empty_cache()
assert held() == [0, 0], held()
print(f"CuPy {cupy.__version__}: larder.cupy passes")
