"""Gradients of each sample and a Hessian, with torch.func."""

import torch
from torch.func import functional_call, grad, hessian, vmap

model = torch.nn.Sequential(
    torch.nn.Linear(128, 256), torch.nn.Tanh(), torch.nn.Linear(256, 10)
).cuda()
parameters = {name: one.detach() for name, one in model.named_parameters()}


def loss_of(parameters, sample, label):
    result = functional_call(model, parameters, (sample[None],))
    return torch.nn.functional.cross_entropy(result, label[None])


of_each = vmap(grad(loss_of), in_dims=(None, 0, 0))
for _ in range(3):
    samples = torch.randn(64, 128, device="cuda")
    labels = torch.randint(10, (64,), device="cuda")
    gradients = of_each(parameters, samples, labels)
    norms = torch.stack([one.flatten(1).norm(dim=1) for one in gradients.values()]).norm(dim=0)
    scale = (1.0 / norms).clamp(max=1.0)
    with torch.no_grad():
        for name, one in gradients.items():
            parameters[name] -= 0.1 * torch.einsum("i,i...->...", scale, one) / 64
curve = hessian(lambda x: model(x).logsumexp(0))(torch.randn(128, device="cuda"))
print(curve.shape)
