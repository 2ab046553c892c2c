"""CuPy: its pool, kernels of every kind, libraries, a stream, the driver's pools."""

import cupy
import numpy

data = cupy.arange(1 << 20, dtype=numpy.float32).reshape(1024, 1024)
product = (data * 2 + 1) @ data
kernel = cupy.RawKernel(
    'extern "C" __global__ void add(float *x) { x[threadIdx.x] += 1; }', "add"
)
kernel((1,), (32,), (data,))
cupy.fft.fft(data)
cupy.linalg.svd(cupy.ones((8, 8)))
cupy.random.rand(10)
float(data.sum())
with cupy.cuda.Stream() as stream:
    cupy.ones(1000)
    stream.synchronize()
print("pool", cupy.get_default_memory_pool().used_bytes())
numpy.testing.assert_array_equal(
    cupy.asnumpy(cupy.asarray(numpy.arange(9))), numpy.arange(9)
)
cupy.cuda.set_allocator(cupy.cuda.MemoryAsyncPool().malloc)
cupy.zeros((4, 1 << 20), numpy.float32)
