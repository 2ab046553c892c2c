"""Reads machine code and tables of PyTorch's loaded libraries."""

import ctypes
import os

import torch

# Machine code that only returns 1, or 0, on x86-64 and AArch64, with and
# without the landing pad for indirect branches.
RETURN_ONE = (
    b"\xb8\x01\x00\x00\x00\xc3",
    b"\xf3\x0f\x1e\xfa\xb8\x01\x00\x00\x00\xc3",
    b"\x20\x00\x80\x52\xc0\x03\x5f\xd6",
    b"\x5f\x24\x03\xd5\x20\x00\x80\x52\xc0\x03\x5f\xd6",
)
RETURN_ZERO = (
    b"\x31\xc0\xc3",
    b"\xf3\x0f\x1e\xfa\x31\xc0\xc3",
    b"\x00\x00\x80\x52\xc0\x03\x5f\xd6",
    b"\x5f\x24\x03\xd5\x00\x00\x80\x52\xc0\x03\x5f\xd6",
)


class ForeignError(RuntimeError):
    """This PyTorch build differs from those that are supported."""

    def __init__(self, why):
        super().__init__(
            f"PyTorch {torch.__version__}: {why}; docs/FIT.md lists the tested versions"
        )


def library(name):
    """One of PyTorch's libraries, which is loaded already."""
    path = os.path.join(os.path.dirname(torch.__file__), name)
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise ForeignError(f"{path}: {error}") from None


def does(function, codes):
    """Whether the code at this address is one of `codes`."""
    return bool(function) and any(
        ctypes.string_at(function, len(code)) == code for code in codes
    )
