"""The optimizers.  Each step is PyTorch's single-tensor implementation with
its temporaries: a loop variable keeps its tensor alive until the next
iteration assigns it."""

import math

from larder.lab import raw
from larder.lab.constructing import ALL, constructor
from larder.lab.failures import not_covered
from larder.lab.making import zeros_like
from larder.lab.torch_stand_in.optim.optimizer import Optimizer, refuse


# Options without effect, and options that are refused if they are set.
_IDLE = {"foreach": None, "differentiable": False, "fused": None}
_OTHERS = ("maximize", "centered")


class _Known(Optimizer):
    """The optimizers of PyTorch: their options are those of each group."""

    def _made_from(self, params, **options):
        others = {name: options.pop(name) for name in _OTHERS if name in options}
        refuse(type(self).__name__, **others)
        for name in (*_IDLE, "capturable"):
            options.pop(name, None)
        Optimizer.__init__(self, params, options)


class SGD(_Known):
    __init__ = constructor(
        "params", passed=ALL, by_name={"maximize": False, **_IDLE}, lr=1e-3, momentum=0,
        dampening=0, weight_decay=0, nesterov=False,
    )

    def _step_group(self, group, params):
        momentum = group["momentum"]
        for param in params:
            change = param.grad
            if group["weight_decay"]:
                change = change.add(param, alpha=group["weight_decay"])
            if momentum:
                change = self._with_momentum(group, param, change, momentum)
            param.add_(change, alpha=-group["lr"])

    def _with_momentum(self, group, param, change, momentum):
        state = self.state[param]
        buffer = state.get("momentum_buffer")
        if buffer is None:
            buffer = state["momentum_buffer"] = change.detach().clone()
        else:
            buffer.mul_(momentum).add_(change, alpha=1 - group["dampening"])
        if group["nesterov"]:
            return change.add(buffer, alpha=momentum)
        return buffer


class _Adaptive(_Known):
    """Optimizers that keep tensors like each parameter."""

    def _names(self, group):
        raise NotImplementedError("what is kept for a parameter")

    def _begin(self, group, params):
        for param in params:
            state = self.state[param]
            state.setdefault("step", 0)
            for name in self._names(group):
                if name not in state:
                    state[name] = zeros_like(param)


_ADAM = {
    "passed": ALL, "by_name": {"maximize": False, "capturable": False, **_IDLE},
    "lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0,
    "amsgrad": False,
}


class Adam(_Adaptive):
    _decays_weights = False
    __init__ = constructor("params", **_ADAM)

    def _made_from(self, params, **options):
        betas, eps = options["betas"], options["eps"]
        if not all(0 <= beta < 1 for beta in betas) or eps < 0:
            raise not_covered(
                f"betas={tuple(betas)} with eps={eps}",
                ["betas from 0 to below 1, eps from 0"],
            )
        super()._made_from(params, **{**options, "betas": tuple(betas)})

    def _names(self, group):
        most = ("max_exp_avg_sq",) if group["amsgrad"] else ()
        return ("exp_avg", "exp_avg_sq", *most)

    def _step_group(self, group, params):
        beta1, beta2 = group["betas"]
        for param in params:
            grad = param.grad
            state = self.state[param]
            state["step"] += 1
            mean, squares = state["exp_avg"], state["exp_avg_sq"]
            if self._decays_weights:
                param.mul_(1 - group["lr"] * group["weight_decay"])
            elif group["weight_decay"]:
                grad = grad.add(param, alpha=group["weight_decay"])
            mean.mul_(beta1).add_(grad, alpha=1 - beta1)
            squares.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            if group["amsgrad"]:
                most = state["max_exp_avg_sq"]
                squares = raw.map_into(most, "maximum", most, squares)
            correction = math.sqrt(1 - beta2 ** state["step"])
            denom = (squares.sqrt() / correction).add_(group["eps"])
            size = group["lr"] / (1 - beta1 ** state["step"])
            param.addcdiv_(mean, denom, value=-size)


class AdamW(Adam):
    _decays_weights = True
    __init__ = constructor("params", **{**_ADAM, "weight_decay": 1e-2})


class RMSprop(_Adaptive):
    __init__ = constructor(
        "params", passed=ALL, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0,
        centered=False, foreach=None,
    )

    def _names(self, group):
        return ("square_avg", "momentum_buffer")[: 2 if group["momentum"] else 1]

    def _step_group(self, group, params):
        alpha = group["alpha"]
        for param in params:
            grad = param.grad
            state = self.state[param]
            state["step"] += 1
            squares = state["square_avg"]
            if group["weight_decay"]:
                grad = grad.add(param, alpha=group["weight_decay"])
            squares.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
            root = squares.sqrt().add_(group["eps"])
            if group["momentum"]:
                buffer = state["momentum_buffer"]
                buffer.mul_(group["momentum"]).addcdiv_(grad, root)
                param.add_(buffer, alpha=-group["lr"])
            else:
                param.addcdiv_(grad, root, value=-group["lr"])


class Adagrad(_Known):
    __init__ = constructor(
        "params", passed=ALL, lr=1e-2, lr_decay=0, weight_decay=0,
        initial_accumulator_value=0, eps=1e-10, foreach=None,
    )

    def _made_from(self, params, initial_accumulator_value, **options):
        super()._made_from(params, **options)
        # From the start and not from the first step, as in PyTorch.
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param] = {
                    "step": 0,
                    "sum": zeros_like(param).fill_(initial_accumulator_value),
                }

    def _step_group(self, group, params):
        for param in params:
            grad = param.grad
            state = self.state[param]
            state["step"] += 1
            if group["weight_decay"]:
                grad = grad.add(param, alpha=group["weight_decay"])
            rate = group["lr"] / (
                1 + (state["step"] - 1) * group["lr_decay"]
            )
            state["sum"].addcmul_(grad, grad, value=1)
            root = state["sum"].sqrt().add_(group["eps"])
            param.addcdiv_(grad, root, value=-rate)


class Adadelta(_Adaptive):
    __init__ = constructor(
        "params", passed=ALL, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None
    )

    def _names(self, group):
        return "square_avg", "acc_delta"

    def _step_group(self, group, params):
        rho, eps = group["rho"], group["eps"]
        for param in params:
            grad = param.grad
            state = self.state[param]
            state["step"] += 1
            squares, deltas = state["square_avg"], state["acc_delta"]
            if group["weight_decay"]:
                grad = grad.add(param, alpha=group["weight_decay"])
            squares.mul_(rho).addcmul_(grad, grad, value=1 - rho)
            std = squares.add(eps).sqrt_()
            delta = deltas.add(eps).sqrt_()
            delta.div_(std).mul_(grad)
            deltas.mul_(rho).addcmul_(delta, delta, value=1 - rho)
            param.add_(delta, alpha=-group["lr"])
