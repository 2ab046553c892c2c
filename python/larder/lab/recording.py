"""Whether operations are recorded for backward, and checkpoints."""

import ctypes
import functools
import itertools
from ctypes import byref, c_int, c_void_p

from larder._library import library
from larder.lab.failures import failure, not_covered, raised_inside
from larder.lab.sessions import session
from larder.lab.tensors import Tensor, handle, wrap


def is_grad_enabled():
    return session().grad_enabled()


class _Switch:
    """Recording on or off for a while: for `with`, or around a function."""

    _on = None

    def __enter__(self):
        self._was = session().set_grad_enabled(self._on)
        return self

    def __exit__(self, *error):
        session().set_grad_enabled(self._was)

    def __call__(self, function):
        on = self._on

        @functools.wraps(function)
        def switched(*arguments, **named):
            was = session().set_grad_enabled(on)
            try:
                return function(*arguments, **named)
            finally:
                session().set_grad_enabled(was)

        return switched


class _Bare(_Switch):
    """A switch that may stand without parentheses above a function."""

    def __new__(cls, function=None):
        made = object.__new__(cls)
        return made if function is None else made(function)

    def __init__(self, function=None):
        pass


class no_grad(_Bare):
    _on = False


class enable_grad(_Bare):
    _on = True


class set_grad_enabled(_Switch):
    """At once, and until the end of a `with` if it is used as one."""

    def __init__(self, mode):
        self._on = bool(mode)
        self._was = session().set_grad_enabled(self._on)

    def __enter__(self):
        return self

    def __call__(self, function):
        session().set_grad_enabled(self._was)
        return super().__call__(function)


# ---- checkpoints ----

_Segment = ctypes.PYFUNCTYPE(
    c_int, c_void_p, c_void_p, ctypes.POINTER(c_void_p)
)
_Release = ctypes.PYFUNCTYPE(None, c_void_p)

# What the library may still call, by the number it knows it by.
_functions = {}
_numbers = itertools.count(1)


@_Segment
def _run_segment(number, input_handle, out):
    try:
        result = _functions[number](wrap(library.lab_ref(input_handle)))
        out[0] = library.lab_ref(handle(result))
        return 0
    except BaseException as error:
        return raised_inside(error)


@_Release
def _release_segment(number):
    _functions.pop(number, None)


def checkpoint(
    function, *args, use_reentrant=None, preserve_rng_state=True, **kwargs
):
    """Run function(*args) and keep only its input: backward runs it again."""
    if not preserve_rng_state:
        raise not_covered("checkpoint's preserve_rng_state=False", ["True"])
    tensors = [n for n, value in enumerate(args) if isinstance(value, Tensor)]
    if len(tensors) != 1:
        raise not_covered(
            f"checkpoint of {len(tensors)} tensors", ["one tensor"]
        )
    at = tensors[0]
    before, after = args[:at], args[at + 1 :]
    number = next(_numbers)
    _functions[number] = lambda tensor: function(
        *before, tensor, *after, **kwargs
    )
    out = c_void_p()
    r = library.lab_checkpoint(
        _run_segment, number, _release_segment, args[at]._h, byref(out)
    )
    if r:
        raise failure(r)
    return wrap(out.value)
