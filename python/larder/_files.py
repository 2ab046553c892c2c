"""Files written as the library writes them: whole or not at all."""

import ctypes
import functools
import os

from larder._loading import load

_PROTOTYPES = """
    larder_last_error s -           larder_file_create i sp
    larder_file_descriptor i p      larder_file_close i pi
"""


@functools.lru_cache(maxsize=None)
def _library():
    """The core library, liblarder.so."""
    what = "liblarder.so, which writes files,"
    try:
        return load(ctypes.CDLL, "liblarder", _PROTOTYPES, what)[0]
    except ImportError as error:
        raise OSError(str(error)) from error


class NewFile:
    """A context manager around a file of larder/file.h, which yields a file
    object.  The file is renamed into place if the context exits without an
    exception."""

    def __init__(self, path, mode="w", **options):
        self._library = _library()
        self._path = os.fsencode(path)
        self._mode = mode
        self._options = options

    def _must(self, result):
        if result != 0:
            raise OSError(self._library.larder_last_error().decode(errors="replace"))

    def __enter__(self):
        self._handle = ctypes.c_void_p()
        self._must(
            self._library.larder_file_create(
                self._path, ctypes.byref(self._handle)
            )
        )
        descriptor = self._library.larder_file_descriptor(self._handle)
        self._file = os.fdopen(os.dup(descriptor), self._mode, **self._options)
        return self._file

    def __exit__(self, kind, value, trace):
        keep = kind is None
        try:
            self._file.close()
        except OSError:
            self._library.larder_file_close(self._handle, 0)
            raise
        self._must(self._library.larder_file_close(self._handle, int(keep)))
