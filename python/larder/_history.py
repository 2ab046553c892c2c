"""Structures of larder/history.h that both libraries use."""

import ctypes


class HistoryOptions(ctypes.Structure):
    """larder_history_options"""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("max_events", ctypes.c_uint64),
        ("stacks", ctypes.c_int),
        ("depth", ctypes.c_uint32),
        ("skip_actions", ctypes.c_uint32),
        ("stackless_actions", ctypes.c_uint32),
        ("stack_bytes", ctypes.c_uint64),
        ("stack_fn", ctypes.c_void_p),
        ("stack_ctx", ctypes.c_void_p),
    ]
