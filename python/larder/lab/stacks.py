"""Python stacks for the allocator's history: file, line and function of each
allocation."""

import ctypes
import functools
import os
import sys
from ctypes import byref

from larder._calls import initialized
from larder._library import Frame, HistoryOptions, library
from larder.lab.failures import check

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

_Find = ctypes.PYFUNCTYPE(
    ctypes.c_size_t,
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_uint64),
    ctypes.c_size_t,
)
_Name = ctypes.PYFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64, ctypes.POINTER(Frame)
)

# Places in programs, by their numbers in the history.
_numbers = {}
_places = []


@functools.lru_cache(maxsize=None)
def is_own(filename):
    """Whether the file does not belong to the program."""
    if filename.startswith("<"):
        return filename.startswith(("<frozen ", "<string>"))
    return os.path.abspath(filename).startswith(_PACKAGE)


def _number_of(frame):
    key = frame.f_code, frame.f_lineno
    found = _numbers.get(key)
    if found is None:
        found = _numbers[key] = len(_places) + 1
        code = frame.f_code
        _places.append((code.co_filename, frame.f_lineno, code.co_name))
    return found


@_Find
def _find(context, frames, capacity):
    try:
        count = 0
        frame = sys._getframe(1)
        while frame is not None and count < capacity:
            if not is_own(frame.f_code.co_filename):
                frames[count] = _number_of(frame)
                count += 1
            frame = frame.f_back
        return count
    except BaseException:
        # No exception can pass through the library, and a missing stack does no
        # harm.
        return 0


def _fitting(text, field):
    return text.encode(errors="replace")[: field.size - 1]


@_Name
def _name(context, number, out):
    try:
        filename, line, name = _places[number - 1]
        frame = out[0]
        frame.filename = _fitting(filename, Frame.filename)
        frame.name = _fitting(name, Frame.name)
        frame.line = line
        return 1
    except BaseException:
        return 0


def start(handle, max_entries=None, with_stacks=True):
    options = initialized(HistoryOptions, library.larder_history_options_init_sized)
    if max_entries is not None:
        options.max_events = max(1, min(max_entries, 1 << 24))
    check(
        library.lab_history_start(
            handle,
            byref(options),
            ctypes.cast(_find, ctypes.c_void_p) if with_stacks else None,
            ctypes.cast(_name, ctypes.c_void_p),
            None,
        )
    )


def stop(handle):
    check(library.lab_history_stop(handle))
