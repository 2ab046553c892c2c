"""Calls that several of Larder's libraries have in common.  `check` raises an error
for a result that is a failure."""

import ctypes


def initialized(kind, init):
    """A structure with its defaults."""
    made = kind()
    init(ctypes.byref(made), ctypes.sizeof(made))
    return made


def policy_number(library, name, check):
    number = ctypes.c_int()
    check(library.larder_policy_parse(name.encode(), ctypes.byref(number)))
    return number.value


def memory_summary(library, allocator, abbreviated, check):
    """The table of the allocator's statistics."""
    needed = ctypes.c_size_t(1 << 14)
    while True:
        text = ctypes.create_string_buffer(needed.value + 1)
        check(
            library.larder_memory_summary(
                allocator, abbreviated, text, len(text), ctypes.byref(needed)
            )
        )
        if needed.value < len(text):
            return text.value.decode()
