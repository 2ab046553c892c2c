#!/usr/bin/env python3
"""Write nn_expected.h: what PyTorch computes for test_nn.c and test_optim.c.

Needs python3-torch (1.13); the tests themselves do not.  Inputs come from a
formula that both sides have (number() here, numbers() in nn_inputs.c).

    /usr/bin/python3 tests/lab/make_expected.py > tests/lab/nn_expected.h
"""
import torch
import torch.nn.functional as F


def numbers(sizes, seed):
    count = 1
    for size in sizes:
        count *= size
    values = [(i * 37 + seed * 11) % 101 / 50 - 1 for i in range(count)]
    return torch.tensor(values).reshape(sizes)


def wanted(sizes, seed):
    return numbers(sizes, seed).requires_grad_(True)


def array(name, tensor):
    values = tensor.detach().contiguous().reshape(-1).tolist()
    print(f"static const float {name}[] = {{")
    for i in range(0, len(values), 5):
        print("    " + " ".join(f"{v:.8e}f," for v in values[i:i + 5]))
    print("};")


def case(name, inputs, result):
    grad = numbers(list(result.shape), 9)
    result.backward(grad)
    array(f"nn_{name}_out", result)
    for i, t in enumerate(inputs):
        array(f"nn_{name}_grad{i}", t.grad)


def layers():
    a = wanted([3, 19], 1)
    case("softmax", [a], F.softmax(a, -1))
    a = wanted([2, 4, 3], 1)
    case("softmax_middle", [a], F.softmax(a, 1))
    a = wanted([4, 3], 1)
    case("softmax_turned", [a], F.softmax(a.t(), 1))
    a = wanted([4, 3], 1)
    case("log_softmax", [a], F.log_softmax(a, 0))
    a = wanted([2, 66], 1)
    case("log_softmax_wide", [a], F.log_softmax(a, 0))
    a, w, b = wanted([2, 2, 11], 1), wanted([11], 2), wanted([11], 3)
    case("layer_norm", [a, w, b], F.layer_norm(a, [11], w, b, 1e-5))
    a = wanted([3, 21], 1)
    case("layer_norm_plain", [a], F.layer_norm(a, [21], eps=1e-3))
    w = wanted([7, 3], 1)
    index = torch.tensor([[1, 6, 1], [0, 3, 6]])
    case("embedding", [w], F.embedding(index, w))
    a, w, b = wanted([2, 3, 5, 6], 1), wanted([4, 3, 3, 2], 2), wanted([4], 3)
    case("conv2d", [a, w, b], F.conv2d(a, w, b, padding=1))
    a, w = wanted([1, 2, 7, 5], 1), wanted([3, 2, 3, 3], 2)
    case("conv2d_stride", [a, w], F.conv2d(a, w, stride=2, padding=1))
    a = wanted([2, 2, 5, 6], 1)
    case("max_pool2d", [a], F.max_pool2d(a, 2))
    a = wanted([1, 2, 5, 4], 1)
    case("max_pool2d_over", [a], F.max_pool2d(a, 3, 1))


def losses():
    a = wanted([5, 4], 1)
    target = torch.tensor([0, 3, 1, -100, 2])
    case("cross_entropy", [a], F.cross_entropy(a, target))
    a, b = wanted([3, 4], 1), wanted([3, 4], 2)
    case("mse_loss", [a, b], F.mse_loss(a, b))
    a, b = wanted([3, 4], 1), wanted([4], 2)
    case("mse_loss_spread", [a, b], F.mse_loss(a, b.expand(3, 4)))


def steps(name, make):
    param = wanted([6], 1)
    optimizer = make([param])
    after = []
    for step in range(4):
        param.grad = numbers([6], 20 + step)
        optimizer.step()
        after.append(param.detach().clone())
    array(f"optim_{name}", torch.stack(after))


def optimizers():
    optim = torch.optim
    steps("sgd", lambda p: optim.SGD(p, lr=0.1))
    steps("sgd_momentum", lambda p: optim.SGD(p, lr=0.1, momentum=0.9))
    steps("sgd_decay", lambda p: optim.SGD(p, lr=0.1, momentum=0.9,
                                           weight_decay=0.05))
    steps("adam", lambda p: optim.Adam(p, foreach=False))
    steps("adam_decay", lambda p: optim.Adam(p, lr=0.01, betas=(0.8, 0.95),
                                             eps=1e-3, weight_decay=0.05,
                                             foreach=False))
    steps("adamw", lambda p: optim.AdamW(p, foreach=False))
    steps("adamw_no_decay", lambda p: optim.AdamW(p, lr=0.02, weight_decay=0,
                                                  foreach=False))


print("/* nn_expected.h - PyTorch " + torch.__version__.split("+")[0] +
      "'s numbers: written by make_expected.py. */")
print("#ifndef LARDER_TESTS_LAB_NN_EXPECTED_H")
print("#define LARDER_TESTS_LAB_NN_EXPECTED_H")
print()
layers()
losses()
optimizers()
print()
print("#endif")
