"""torch.amp, and its older names in torch.cuda.amp."""

import functools

from larder.lab import raw
from larder.lab.autocasting import autocast, is_autocast_enabled  # noqa: F401
from larder.lab.failures import gate
from larder.lab.making import full, zeros
from larder.lab.recording import no_grad
from larder.lab.tensors import Tensor

_READY, _UNSCALED, _STEPPED = range(3)


class GradScaler:
    """Scales losses up and gradients down, and skips steps whose gradients are
    not finite."""

    def __init__(
        self, device="cuda", init_scale=2.0**16, growth_factor=2.0,
        backoff_factor=0.5, growth_interval=2000, enabled=True,
    ):
        if not isinstance(device, str):
            device, init_scale = "cuda", device
        self._device = device
        self._enabled = enabled
        self._init_scale = float(init_scale)
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._tracker = 0
        self._scale = None
        self._states = {}

    def is_enabled(self):
        return self._enabled

    def _scale_tensor(self):
        """The scale on the device, created on first use as in torch."""
        if self._scale is None:
            self._scale = full((), self._init_scale, device=self._device)
        return self._scale

    def get_scale(self):
        if not self._enabled:
            return 1.0
        if self._scale is None:
            return self._init_scale
        return self._scale.item()

    def scale(self, outputs):
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale_tensor()
        return type(outputs)(map(self.scale, outputs))

    @no_grad()
    def unscale_(self, optimizer):
        if not self._enabled:
            return
        state, _ = self._states.get(id(optimizer), (_READY, None))
        if state != _READY:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since "
                "the last update()"
            )
        found = zeros((), device=self._device)
        inverse = self._scale_tensor().reciprocal()
        for group in optimizer.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    self._unscale_one(param.grad, inverse, found)
        self._states[id(optimizer)] = _UNSCALED, found.item() != 0

    @staticmethod
    def _unscale_one(grad, inverse, found):
        """A single kernel in torch, so no device memory is allocated."""
        finite = raw.map("isfinite", grad.cpu())
        if not raw.reduce(raw.ALL, finite).item():
            found.fill_(1)
        grad.mul_(inverse)

    def step(self, optimizer, *arguments, **named):
        if not self._enabled:
            return optimizer.step(*arguments, **named)
        state, found = self._states.get(id(optimizer), (_READY, None))
        if state == _STEPPED:
            raise RuntimeError(
                "step() has already been called since the last update()"
            )
        if state == _READY:
            self.unscale_(optimizer)
            _, found = self._states[id(optimizer)]
        self._states[id(optimizer)] = _STEPPED, found
        return None if found else optimizer.step(*arguments, **named)

    def update(self, new_scale=None):
        if not self._enabled:
            return
        scale = self._scale_tensor()
        if new_scale is not None:
            scale.fill_(float(new_scale))
        elif any(found for _, found in self._states.values()):
            scale.mul_(self._backoff_factor)
            self._tracker = 0
        else:
            self._tracker += 1
            if self._tracker == self._growth_interval:
                scale.mul_(self._growth_factor)
                self._tracker = 0
        self._states.clear()

    def state_dict(self):
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._tracker,
        }

    def load_state_dict(self, state_dict):
        if not self._enabled:
            return
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._tracker = state_dict["_growth_tracker"]


def custom_fwd(fwd=None, *, device_type="cuda", cast_inputs=None):
    """A decorator for a Function's forward().  No effect: there is only one
    type to remember."""
    if fwd is None:
        return functools.partial(custom_fwd, cast_inputs=cast_inputs)
    return fwd


def custom_bwd(bwd=None, *, device_type="cuda"):
    return custom_bwd if bwd is None else bwd


__getattr__ = gate("torch.amp", globals(), "autocast is_autocast_enabled")
