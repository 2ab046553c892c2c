"""Hooks of tensors: functions that see a gradient as it is computed."""

import ctypes
import itertools
from ctypes import byref, c_int, c_void_p

from larder._library import library
from larder.lab.failures import check, raised_inside
from larder.lab.tensors import handle, wrap

_Hook = ctypes.PYFUNCTYPE(
    c_int, c_void_p, c_void_p, ctypes.POINTER(c_void_p)
)
_Release = ctypes.PYFUNCTYPE(None, c_void_p)

# What the library may still call, by the number it knows it by.
_hooks = {}
_numbers = itertools.count(1)


@_Hook
def _run_hook(number, gradient, replacement):
    try:
        result = _hooks[number](wrap(library.lab_ref(gradient)))
        if result is not None:
            replacement[0] = library.lab_ref(handle(result))
        return 0
    except BaseException as error:
        return raised_inside(error)


@_Release
def _release_hook(number):
    _hooks.pop(number, None)


class HookHandle:
    """Takes a hook away again, also at the end of a `with`."""

    def __init__(self, h):
        self._h = h

    def remove(self):
        h, self._h = self._h, None
        library.lab_hook_remove(h)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()

    # The default holds the function when the module's names are gone already.
    def __del__(self, leave=library.lab_hook_leave):
        leave(self._h)


def register_hook(tensor, hook):
    """Call hook(gradient) in every backward; what it returns, unless None,
    takes the gradient's place."""
    number = next(_numbers)
    _hooks[number] = hook
    out = c_void_p()
    check(
        library.lab_register_hook(
            tensor._h, _run_hook, number, _release_hook, byref(out)
        )
    )
    return HookHandle(out.value)
