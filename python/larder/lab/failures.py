"""Exceptions."""

import difflib

from larder._library import library

_ERR_INVALID = 1
_ERR_OUT_OF_MEMORY = 2
_ERR_NO_HOST_MEMORY = 3
_ERR_CONF = 9
_ERR_UNSUPPORTED = 10


class LabError(RuntimeError):
    """A call of the lab failed.  No tensor was changed."""


class OutOfMemoryError(LabError):
    """The device is out of memory; the text is the allocator's explanation.
    The session can still be used."""


class HostMemoryError(LabError, MemoryError):
    """The host is out of memory."""


class InvalidError(LabError, ValueError):
    """An argument has the wrong sizes, type or device."""


class UnsupportedError(LabError, NotImplementedError):
    """The lab does not support this."""


class NotCoveredError(AttributeError, NotImplementedError):
    """A name of PyTorch that the lab does not have."""


class NotTakenError(NotCoveredError, TypeError):
    """An option that a class of the lab does not take; a TypeError, as for any
    function that is called with an unknown argument."""


# Programs import them from there, and tracebacks say so.
for _class in (
    LabError, OutOfMemoryError, HostMemoryError, InvalidError, UnsupportedError,
    NotCoveredError, NotTakenError,
):
    _class.__module__ = "larder.lab"

_CLASSES = {
    _ERR_INVALID: InvalidError,
    _ERR_OUT_OF_MEMORY: OutOfMemoryError,
    _ERR_NO_HOST_MEMORY: HostMemoryError,
    _ERR_CONF: InvalidError,
    _ERR_UNSUPPORTED: UnsupportedError,
}

# An exception raised by a caller's function while the library was calling it:
# it is the real cause of the failure that the library then reports.
_inside = []


def raised_inside(error):
    """Store an exception raised in a callback, to be raised when the library
    returns.  Returns the error code for the library."""
    _inside.append(error)
    return (
        _ERR_OUT_OF_MEMORY
        if isinstance(error, OutOfMemoryError)
        else _ERR_INVALID
    )


def failure(result):
    """The exception for a call that returned `result`."""
    if _inside:
        error = _inside.pop()
        _inside.clear()
        return error
    text = library.lab_last_error().decode(errors="replace")
    return _CLASSES.get(result, LabError)(text)


def check(result):
    """Raise the exception for `result`, unless it is success."""
    if result:
        raise failure(result)


def check_allocator(result):
    """check() for a call of the allocator itself, which has its own last
    error."""
    if result:
        text = library.larder_last_error().decode(errors="replace")
        raise _CLASSES.get(result, LabError)(text)


_MOST_NAMES = 12


def _near(what, names):
    """Names similar to the given one."""
    name = what.rpartition(".")[2].partition("(")[0]
    return difflib.get_close_matches(name, names, 4, 0.7)


def not_covered(what, covers=None, error=NotCoveredError):
    """The error for a name of PyTorch that does not exist here."""
    text = f"{what} is not part of the lab"
    covers = list(covers or ())
    if len(covers) > _MOST_NAMES:
        near = _near(what, covers)
        text += f"; it has {', '.join(near)}" if near else ""
    elif covers:
        text += f"; it covers {', '.join(sorted(covers))}"
    return error(text + " (docs/PYTHON.md)")


_LAYERS_MAX = 1 << 16


def check_layers(count):
    """Refuse a number of layers that would take hours to create."""
    if count > _LAYERS_MAX:
        raise not_covered(f"a stack of {count} layers", [f"{_LAYERS_MAX}"])


def own_names(space, more=""):
    """The public names of a module that are defined there, or in a module of the
    same package, and `more`."""
    home = space["__name__"]

    def is_own(value):
        of = getattr(value, "__module__", "")
        return of == home or of.startswith(home + ".")

    found = [name for name, one in space.items() if name[0] != "_" and is_own(one)]
    return found + more.split()


def gate(module, names, more=""):
    """A module's __getattr__(), which raises NotCoveredError for unknown names.
    `names`: a function that lists the public ones, or the module's namespace, for
    own_names()."""
    listed = names if callable(names) else lambda: own_names(names, more)

    def __getattr__(name):
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        public = [one for one in listed() if not one.startswith("_")]
        raise not_covered(f"{module}.{name}", public)

    __getattr__.names = listed
    return __getattr__
