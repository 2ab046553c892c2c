"""Files written as the library writes them: whole or not at all."""

import ctypes
import os


class NewFile:
    """A file of larder/file.h as a context that gives a file object.  It takes
    its place when the context ends well."""

    def __init__(self, library, path, mode="w", **options):
        self._library = library
        self._path = os.fsencode(path)
        self._mode = mode
        self._options = options

    def _must(self, result):
        if result != 0:
            words = self._library.larder_last_error
            words.restype = ctypes.c_char_p
            raise OSError(words().decode(errors="replace"))

    def __enter__(self):
        self._handle = ctypes.c_void_p()
        self._must(
            self._library.larder_file_create(
                ctypes.c_char_p(self._path), ctypes.byref(self._handle)
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
