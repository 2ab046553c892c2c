"""Constructors made from a table of arguments."""

import inspect

from larder.lab.failures import NotTakenError, not_covered

_NONE = inspect.Parameter.empty
_ANY = inspect.Parameter.POSITIONAL_OR_KEYWORD

# The last arguments of layers that have weights.
PLACE = {"device": None, "dtype": None}


def _read(name, options, arguments, named):
    """The value of each option, given in order or by name, or by default."""
    if len(arguments) > len(options):
        raise TypeError(f"{name} takes {len(options)} options")
    placed = dict(zip(options, arguments))
    for option in placed.keys() & named:
        raise TypeError(f"{name} is given {option} twice")
    given = {**options, **placed, **named}
    for option, value in given.items():
        if option not in options:
            raise not_covered(f"{name}'s {option}", error=NotTakenError)
        if value is _NONE:
            raise TypeError(f"{name} needs {option}")
    return given


def _taken_by(function, given):
    """Those of the options that a function names.  `**options` are all of them,
    `**place` are device and dtype."""
    names = set(inspect.signature(function).parameters)
    if "options" in names:
        return given
    if "place" in names:
        names.update(PLACE)
    return {name: value for name, value in given.items() if name in names}


def constructor(needed="", /, first=None, **defaults):
    """An __init__() with the arguments `needed`, which have no default, and
    `defaults`.  It calls first(self), sets each argument as an attribute, and calls
    self._made_from() with the arguments that this method names, which are not set."""
    options = {**dict.fromkeys(needed.split(), _NONE), **defaults}

    def __init__(self, *arguments, **named):
        given = _read(type(self).__name__, options, arguments, named)
        if first is not None:
            first(self)
        made_from = getattr(self, "_made_from", lambda: None)
        taken = _taken_by(made_from, given)
        for name, value in given.items():
            if name not in taken:
                setattr(self, name, value)
        made_from(**taken)

    __init__.__signature__ = inspect.Signature(
        [inspect.Parameter("self", _ANY)]
        + [inspect.Parameter(name, _ANY, default=one) for name, one in options.items()]
    )
    return __init__
