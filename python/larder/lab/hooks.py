"""Hooks of tensors: functions that receive a gradient when it is computed."""

from ctypes import byref, c_void_p

from larder._library import library
from larder.lab import callbacks
from larder.lab.failures import check


class HookHandle:
    """Removes a hook, by remove() or at the end of a `with`."""

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
    """Call hook(gradient) in every backward pass.  A result other than None
    replaces the gradient."""
    number = callbacks.keep(hook)
    out = c_void_p()
    check(
        library.lab_register_hook(
            tensor._h, callbacks.run, number, callbacks.release, byref(out)
        )
    )
    return HookHandle(out.value)
