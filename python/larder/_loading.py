"""Loads Larder's libraries, and declares their functions and structures."""

import ctypes

from larder._finding import VARIABLE, candidates

# A letter for each type: that of the result, then those of the arguments ("-":
# none).
TYPES = {
    "v": None,
    "p": ctypes.c_void_p,  # any pointer: a tensor, an array, an output
    "s": ctypes.c_char_p,
    "b": ctypes.c_bool,
    "i": ctypes.c_int,  # larder_result and the other enumerations too
    "u": ctypes.c_uint,
    "q": ctypes.c_int64,
    "Q": ctypes.c_uint64,
    "z": ctypes.c_size_t,
    "d": ctypes.c_double,
    "n": ctypes.POINTER(ctypes.c_int64),
    "c": ctypes.c_char,
    "B": ctypes.c_ubyte,
}


def _field_type(text):
    """Of a letter, with a number before it for an array."""
    count, kind = text[:-1], TYPES[text[-1]]
    return kind * int(count) if count else kind


def structure(name, fields, **others):
    """A structure of the library: the name and the type of each field.  `others`:
    structures that are types of fields, by the name for them."""
    words = fields.split()
    types = [others.get(kind) or _field_type(kind) for kind in words[1::2]]
    pairs = zip(words[::2], types)
    return type(name, (ctypes.Structure,), {"_fields_": list(pairs), "__doc__": name})


def declare(loaded, path, prototypes):
    """Set the types of a library's functions: name, result and arguments of each."""
    words = iter(prototypes.split())
    missing = []
    for name in words:
        returns = next(words)
        takes = next(words)
        try:
            function = getattr(loaded, name)
        except AttributeError:
            missing.append(name)
            continue
        function.restype = TYPES[returns]
        function.argtypes = [TYPES[letter] for letter in takes.strip("-")]
    if missing:
        raise ImportError(
            f"{path} has a different version from this package: "
            f"it lacks {', '.join(missing[:4])}"
        )


def load(kind, name, prototypes, what):
    """The library of that name, loaded as ctypes' `kind`, and its path.
    `prototypes`: as declare() takes them.  ImportError says what was tried; `what`
    is the library in words."""
    tried = []
    for path in candidates((f"{name}.so", f"{name}.so.0")):
        try:
            loaded = kind(path)
        except OSError as error:
            tried.append(f"  {path}: {error}")
            continue
        declare(loaded, path, prototypes)
        return loaded, path
    raise ImportError(
        f"{what} cannot be loaded; tried\n"
        + "\n".join(tried)
        + f"\nBuild it with `make`, or set {VARIABLE} to its folder."
    )
