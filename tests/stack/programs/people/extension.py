"""A kernel of CUDA, compiled as the program starts.
Needs: nvcc, ninja."""

import torch
from torch.utils.cpp_extension import load_inline

source = """
__global__ void scale(const float *from, float *to, float by, int count) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < count) to[at] = from[at] * by;
}
torch::Tensor scaled(torch::Tensor from, double by) {
  auto to = torch::empty_like(from);
  int count = from.numel();
  scale<<<(count + 255) / 256, 256>>>(from.data_ptr<float>(), to.data_ptr<float>(), by, count);
  return to;
}
"""
own = load_inline("own", "torch::Tensor scaled(torch::Tensor from, double by);", source,
                  functions=["scaled"], verbose=False)
for _ in range(3):
    x = torch.randn(1 << 20, device="cuda")
    for _ in range(3):
        x = own.scaled(x, 2.0)
    x.sum().item()
