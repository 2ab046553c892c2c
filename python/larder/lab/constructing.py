"""Constructors made from a table of arguments."""

import inspect

from larder.lab.failures import NotTakenError, not_covered

_NONE = inspect.Parameter.empty
_ANY = inspect.Parameter.POSITIONAL_OR_KEYWORD
_BY_NAME = inspect.Parameter.KEYWORD_ONLY

# The last arguments of layers that have weights.
PLACE = {"device": None, "dtype": None}

# For `passed`: all arguments.
ALL = object()


def _read(name, options, by_name, arguments, named):
    """The value of each option, given in order or by name, or by default."""
    if len(arguments) > len(options):
        raise TypeError(f"{name} takes {len(options)} options by position")
    placed = dict(zip(options, arguments))
    for option in placed.keys() & named:
        raise TypeError(f"{name} is given {option} twice")
    given = {**options, **by_name, **placed, **named}
    for option, value in given.items():
        if option not in options and option not in by_name:
            raise not_covered(f"{name}'s {option}", error=NotTakenError)
        if value is _NONE:
            raise TypeError(f"{name} needs {option}")
    return given


def constructor(needed="", *, passed="", by_name=None, first=None, **defaults):
    """An __init__() with the arguments `needed`, which have no default, `defaults`,
    and `by_name`, which are not taken by position.  It calls first(self), sets
    arguments as attributes, and calls self._made_from() with those that it does not
    set: `passed`, device and dtype."""
    options = {**dict.fromkeys(needed.split(), _NONE), **defaults}
    by_name = by_name or {}
    passed = {*options, *by_name} if passed is ALL else {*passed.split(), *PLACE}

    def __init__(self, *arguments, **named):
        given = _read(type(self).__name__, options, by_name, arguments, named)
        if first is not None:
            first(self)
        for name, value in given.items():
            if name not in passed:
                setattr(self, name, value)
        made_from = getattr(self, "_made_from", None)
        if made_from is not None:
            made_from(**{name: given[name] for name in given if name in passed})

    __init__.__signature__ = inspect.Signature(
        inspect.Parameter(name, kind, default=value)
        for kind, taken in ((_ANY, {"self": _NONE, **options}), (_BY_NAME, by_name))
        for name, value in taken.items()
    )
    return __init__
