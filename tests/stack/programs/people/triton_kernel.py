"""A kernel of Triton with its own gradient, tuned by itself.
Needs: triton."""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": 512}), triton.Config({"BLOCK": 1024})], key=["count"])
@triton.jit
def square(source, target, count, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(source + places, mask=places < count)
    tl.store(target + places, x * x, mask=places < count)


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        result = torch.empty_like(x)
        square[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, result, x.numel())
        return result

    @staticmethod
    def backward(ctx, gradient):
        return 2 * ctx.saved_tensors[0] * gradient


layer = torch.nn.Linear(512, 2048).cuda()
optimizer = torch.optim.SGD(layer.parameters(), 0.1)
for _ in range(3):
    Square.apply(layer(torch.randn(256, 512, device="cuda"))).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
