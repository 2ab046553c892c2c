# CuPy on Larder's memory.
import cupy
import larder.cupy

allocator = larder.cupy.enable(conf="limit:8GiB")
x = cupy.random.rand(4096, 4096)
y = x @ x
print(float(y.sum()))
print(allocator.adapter.summary())
allocator.adapter.snapshot("cupy.pickle")  # larder report cupy.pickle
