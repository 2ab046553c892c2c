"""torch.optim: optimizers, whose work the library does."""

import ctypes
from ctypes import byref, c_void_p

from larder._library import OptimizerOptions, library
from larder.lab.failures import InvalidError, check, gate, not_covered
from larder.lab.tensors import Tensor, handles
from larder.lab.torch_stand_in.nn.module import clear_grad

_SGD, _ADAM, _ADAMW = range(3)


class Optimizer:
    """One group of parameters, and the library's optimizer over them.

    That one is made at the first step: until then a model may be moved, which
    gives its parameters other memory."""

    _kind = None

    def __init__(self, params, defaults):
        params = list(params)
        if params and isinstance(params[0], dict):
            if len(params) > 1:
                raise not_covered("several groups of parameters", ["one"])
            defaults = {**defaults, **params[0]}
            params = list(defaults.pop("params"))
        if not params:
            raise InvalidError("an optimizer needs parameters")
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError(f"a parameter is a tensor, not {param!r}")
            if not param.is_leaf:
                raise InvalidError("a parameter must be a leaf of the graph")
        if defaults["lr"] < 0:
            raise InvalidError(f"a learning rate of {defaults['lr']}")
        self.defaults = dict(defaults)
        self.param_groups = [{"params": params, **defaults}]
        self._made = None
        self._made_for = None
        self._made_with = None

    def __del__(self, destroy=library.lab_optimizer_destroy):
        made = self.__dict__.get("_made")
        if made is not None:
            destroy(made)

    def _options(self, group):
        """lab_optimizer_options of a group; its zeros mean defaults."""
        options = OptimizerOptions()
        library.lab_optimizer_options_init_sized(
            byref(options), ctypes.sizeof(options)
        )
        # The rate itself is set before each step.
        options.lr = 1.0
        options.momentum = group.get("momentum", 0)
        decay = group["weight_decay"]
        # AdamW's 0 would be its default; a number below it is 0.
        options.weight_decay = decay or (-1 if self._kind == _ADAMW else 0)
        options.beta1, options.beta2 = group.get("betas", (0, 0))
        options.eps = group.get("eps", 0)
        return options

    def _make(self, group):
        array, count = handles(group["params"])
        options = self._options(group)
        made = c_void_p()
        check(
            library.lab_optimizer_create(
                library.lab_session(group["params"][0]._h),
                self._kind,
                byref(options),
                array,
                count,
                byref(made),
            )
        )
        self._made = made.value
        self._made_for = [param._h for param in group["params"]]
        self._made_with = self._fixed(group)

    @staticmethod
    def _fixed(group):
        """What cannot be changed from step to step."""
        return {
            key: value
            for key, value in group.items()
            if key not in ("params", "lr", "initial_lr")
        }

    def _check_same(self, group):
        if [param._h for param in group["params"]] != self._made_for:
            raise not_covered(
                "moving or replacing parameters after an optimizer's first step"
            )
        for key, value in self._fixed(group).items():
            if self._made_with.get(key) != value:
                raise not_covered(f"changing {key} between steps", ["lr"])

    def step(self):
        (group,) = self.param_groups
        if self._made is None:
            self._make(group)
        else:
            self._check_same(group)
        library.lab_optimizer_set_lr(self._made, group["lr"])
        check(library.lab_optimizer_step(self._made))

    def zero_grad(self, set_to_none=True):
        for group in self.param_groups:
            for param in group["params"]:
                clear_grad(param, set_to_none)

    def __repr__(self):
        lines = []
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            for key in sorted(set(group) - {"params"}):
                lines.append(f"    {key}: {group[key]}")
        return f"{type(self).__name__} (\n" + "\n".join(lines) + "\n)"

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        raise not_covered(f"Optimizer.{name}", ["step", "zero_grad"])


def _one_by_one(foreach):
    if foreach:
        raise not_covered("an optimizer's foreach=True", ["foreach=False"])


class SGD(Optimizer):
    _kind = _SGD

    def __init__(
        self, params, lr=1e-3, momentum=0, weight_decay=0, *, foreach=None
    ):
        _one_by_one(foreach)
        super().__init__(
            params,
            {"lr": lr, "momentum": momentum, "weight_decay": weight_decay},
        )


class Adam(Optimizer):
    _kind = _ADAM

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        *,
        foreach=None,
    ):
        _one_by_one(foreach)
        if not all(0 < beta < 1 for beta in betas) or eps <= 0:
            raise not_covered(
                f"betas={tuple(betas)} with eps={eps}",
                ["betas between 0 and 1, eps above 0"],
            )
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": tuple(betas),
                "eps": eps,
                "weight_decay": weight_decay,
            },
        )


class AdamW(Adam):
    _kind = _ADAMW

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=1e-2,
        *,
        foreach=None,
    ):
        super().__init__(params, lr, betas, eps, weight_decay, foreach=foreach)


__getattr__ = gate("torch.optim", lambda: ["Adam", "AdamW", "Optimizer", "SGD"])
