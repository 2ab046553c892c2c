"""Automatic mixed precision: which operations run in which type."""

import functools

from larder.lab import kinds
from larder.lab.failures import InvalidError
from larder.lab.tensors import Tensor


class _State:
    """The current settings, and the weights converted so far."""

    device = None
    dtype = None
    depth = 0
    cache = {}


def is_autocast_enabled(device_type=None):
    return _State.device is not None and device_type in (None, _State.device)


def get_autocast_dtype(device_type="cuda"):
    return _State.dtype or kinds.float16


class autocast:
    """Run products in a two-byte type and losses in float32; a context manager
    or decorator."""

    def __init__(
        self, device_type="cuda", dtype=None, enabled=True, cache_enabled=True
    ):
        self.device = kinds.Device(device_type).type
        if dtype is None:
            dtype = (
                kinds.float16 if self.device == "cuda" else kinds.bfloat16
            )
        if dtype not in (kinds.float16, kinds.bfloat16, kinds.float32):
            raise InvalidError(f"autocast to {dtype!r}")
        self.dtype = dtype
        self.enabled = enabled

    def __enter__(self):
        self._was = _State.device, _State.dtype
        _State.depth += 1
        _State.device = self.device if self.enabled else None
        _State.dtype = self.dtype
        return self

    def __exit__(self, *error):
        _State.device, _State.dtype = self._was
        _State.depth -= 1
        if not _State.depth:
            _State.cache.clear()

    def __call__(self, function):
        @functools.wraps(function)
        def cast(*arguments, **named):
            with autocast(self.device, self.dtype, self.enabled):
                return function(*arguments, **named)

        return cast


def _is_meant(value):
    return (
        isinstance(value, Tensor)
        and value.is_floating_point()
        and value.dtype is not kinds.float64
        and value.device.type == _State.device
    )


def _narrow(value):
    """An operand in the type of the product.  Weights are converted only once."""
    if not _is_meant(value) or value.dtype is _State.dtype:
        return value
    if not (value.is_leaf and value.requires_grad):
        return value.to(_State.dtype)
    found = _State.cache.get(id(value))
    if found is None:
        # Kept together with the weight, so that its id is not reused.
        found = _State.cache[id(value)] = value, value.to(_State.dtype)
    return found[1]


def _wide(value):
    return value.to(kinds.float32) if _is_meant(value) else value


def _casting(function, cast):
    @functools.wraps(function)
    def casting(*arguments, **named):
        was = _State.device
        if was is None:
            return function(*arguments, **named)
        arguments = [cast(one) for one in arguments]
        named = {name: cast(one) for name, one in named.items()}
        _State.device = None
        try:
            return function(*arguments, **named)
        finally:
            _State.device = was

    return casting


def in_narrow(function):
    """Mark a product: its operands are converted to the two-byte type."""
    return _casting(function, _narrow)


def in_float32(function):
    """Mark a sum or function that needs higher precision."""
    return _casting(function, _wide)
