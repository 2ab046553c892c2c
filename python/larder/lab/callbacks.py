"""Python functions that the library calls, identified by numbers."""

import ctypes
import itertools
from ctypes import c_int, c_void_p

# Takes one tensor; gives another, or leaves the output unchanged.
OneToOne = ctypes.PYFUNCTYPE(c_int, c_void_p, c_void_p, ctypes.POINTER(c_void_p))
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
