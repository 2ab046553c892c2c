"""Frozen dataclasses made from JSON, checked against their annotations."""

import dataclasses
import functools
import typing

from larder._command import Error

_hints = functools.lru_cache(maxsize=None)(typing.get_type_hints)


def _wrong(where, expected, value):
    return Error(
        f"unexpected {where or 'value'} in the command's answer: expected "
        f"{expected}, got {value!r:.60}; are the command and this package of the "
        "same version?"
    )


def _object(kind, value, where):
    if not isinstance(value, dict):
        raise _wrong(where, "an object", value)
    hints = _hints(kind)
    made = {}
    for field in dataclasses.fields(kind):
        inside = f"{where}.{field.name}" if where else field.name
        if field.name in value:
            made[field.name] = read(
                hints[field.name], value[field.name], inside
            )
        elif field.default is dataclasses.MISSING:
            raise _wrong(inside, "a value", None)
    return kind(**made)


def _scalar(kind, value, where):
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is float and is_number:
        return float(value)
    if isinstance(value, kind) and (kind is not int or is_number):
        return value
    raise _wrong(where, f"a value of type {kind.__name__}", value)


def read(kind, value, where=""):
    """Convert `value`, parsed from JSON, to the annotated type `kind`.  Keys that a
    dataclass does not have are ignored: a newer command may have them."""
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if kind is typing.Any:
        return value
    if origin is typing.Union:  # Optional
        return None if value is None else read(inside[0], value, where)
    if origin is tuple:
        if not isinstance(value, list):
            raise _wrong(where, "a list", value)
        if inside[-1] is not Ellipsis and len(inside) != len(value):
            raise _wrong(where, f"{len(inside)} values", value)
        return tuple(
            read(inside[0], one, f"{where}[{at}]")
            for at, one in enumerate(value)
        )
    if origin is dict:
        if not isinstance(value, dict):
            raise _wrong(where, "an object", value)
        return {
            key: read(inside[1], one, f"{where}.{key}")
            for key, one in value.items()
        }
    if dataclasses.is_dataclass(kind):
        return _object(kind, value, where)
    return _scalar(kind, value, where)
