"""Python functions that the library calls, identified by numbers."""

import ctypes
import itertools
from ctypes import c_int, c_void_p

from larder._library import library
from larder.lab.failures import raised_inside
from larder.lab.tensors import handle, wrap

_OneToOne = ctypes.PYFUNCTYPE(c_int, c_void_p, c_void_p, ctypes.POINTER(c_void_p))
_Release = ctypes.PYFUNCTYPE(None, c_void_p)

# Functions that the library may still call.
held = {}
_numbers = itertools.count(1)


def keep(function):
    """Register a function and return its number.  It is kept until the library
    calls release() with the number."""
    number = next(_numbers)
    held[number] = function
    return number


# The default holds the function when the module's names are gone already.
@_Release
def release(number, forget=held.pop):
    forget(number, None)


@_OneToOne
def run(number, given, out):
    """Call a function of one tensor, which gives another, or None: then the output
    is unchanged."""
    try:
        result = held[number](wrap(library.lab_ref(given)))
        if result is not None:
            out[0] = library.lab_ref(handle(result))
        return 0
    except BaseException as error:
        return raised_inside(error)
