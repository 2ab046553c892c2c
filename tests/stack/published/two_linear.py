"""Two layers without biases, step by step: weights, input, activations, gradients."""

import torch


def tell(name):
    print(name, torch.cuda.memory_allocated())


first = torch.nn.Linear(1024, 1024, bias=False).cuda()
tell("first")
second = torch.nn.Linear(1024, 1, bias=False).cuda()
tell("second")
batch = torch.ones(1024, 1024).cuda()
tell("input")
hidden = first(batch)
tell("hidden")
out = second(hidden)
tell("out")
# Python's own sum adds the rows one after the other, 1024 small tensors.
loss = sum(out)
tell("loss")
loss.backward()
tell("backward")
print("peak", torch.cuda.max_memory_allocated())
