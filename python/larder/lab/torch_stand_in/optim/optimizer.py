"""The base of all optimizers: parameter groups and per-parameter state."""

import collections

from larder.lab.failures import InvalidError, not_covered
from larder.lab.recording import enable_grad, no_grad
from larder.lab.tensors import Tensor
from larder.lab.torch_stand_in.nn.module import clear_grad

# Called when a step() ends: the runner counts steps by it.
after_step = []


class Optimizer:
    """Parameter groups with their options; `state` maps each parameter to the
    data that its steps keep."""

    def __init__(self, params, defaults):
        params = list(params)
        if not params:
            raise InvalidError("an optimizer needs parameters")
        if not isinstance(params[0], dict):
            params = [{"params": params}]
        self.defaults = dict(defaults)
        self.state = collections.defaultdict(dict)
        self.param_groups = []
        for group in params:
            self.add_param_group(group)

    def add_param_group(self, group):
        group = dict(group)
        given = group["params"]
        group["params"] = (
            [given] if isinstance(given, Tensor) else list(given)
        )
        for param in group["params"]:
            if isinstance(param, tuple):
                raise not_covered("parameters with names", ["parameters"])
            if not isinstance(param, Tensor):
                raise TypeError(f"a parameter must be a tensor, not {param!r}")
            if not param.is_leaf:
                raise InvalidError("a parameter must be a leaf of the graph")
        for name, value in self.defaults.items():
            group.setdefault(name, value)
        if group.get("lr", 0) < 0:
            raise InvalidError(f"a learning rate of {group['lr']}")
        self.param_groups.append(group)

    # ---- steps ----

    def step(self, closure=None):
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                params = [p for p in group["params"] if p.grad is not None]
                self._begin(group, params)
                self._step_group(group, params)
        for told in after_step:
            told(self)
        return loss

    def _begin(self, group, params):
        """Create the state of a group before its first step."""

    def _step_group(self, group, params):
        raise NotImplementedError("an optimizer needs a _step_group()")

    def zero_grad(self, set_to_none=True):
        for group in self.param_groups:
            for param in group["params"]:
                clear_grad(param, set_to_none)

    # ---- states ----

    def _numbered(self):
        params = [p for group in self.param_groups for p in group["params"]]
        return {id(param): i for i, param in enumerate(params)}, params

    def state_dict(self):
        numbers, _ = self._numbered()
        groups = [
            {**group, "params": [numbers[id(p)] for p in group["params"]]}
            for group in self.param_groups
        ]
        state = {
            numbers[id(param)]: dict(kept)
            for param, kept in self.state.items()
        }
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict):
        groups = state_dict["param_groups"]
        if [len(one["params"]) for one in groups] != [
            len(one["params"]) for one in self.param_groups
        ]:
            raise InvalidError(
                "the state has other parameter groups than the optimizer"
            )
        _, params = self._numbered()
        for own, saved in zip(self.param_groups, groups):
            own.update({k: v for k, v in saved.items() if k != "params"})
        self.state.clear()
        for number, kept in state_dict["state"].items():
            param = params[number]
            self.state[param] = {
                name: _kept_like(param, value) for name, value in kept.items()
            }

    # ---- in words ----

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


def _kept_like(param, value):
    """A copy with the parameter's type and device; numbers are unchanged."""
    if not isinstance(value, Tensor):
        return value
    return value.to(device=param.device, dtype=param.dtype, copy=True)


def refuse(name, **options):
    """Raise an error for options whose steps the lab does not implement."""
    for option, value in options.items():
        if value:
            raise not_covered(
                f"{name}'s {option}={value!r}", [f"{option}=False"]
            )
