"""torch.save() and torch.load(): pickles that contain the bytes of tensors."""

import contextlib
import ctypes
import pickle

from larder._files import NewFile
from larder._library import library
from larder.lab import kinds
from larder.lab.failures import InvalidError, check
from larder.lab.making import empty
from larder.lab.tensors import Parameter

_MAGIC = b"larder lab 1\n"

# The target of the current load: a device, a dictionary, a function, or None
# for the original place.
_map_location = [None]


def _bytes_of(tensor):
    room = (ctypes.c_char * tensor.nbytes)()
    check(library.lab_read(tensor._h, room, len(room)))
    return bytes(room)


def reduced(tensor):
    """The reduced form for pickle."""
    if not tensor.is_leaf:
        raise RuntimeError(
            "only a leaf of the graph can be saved: use tensor.detach()"
        )
    return rebuilt, (
        tensor.dtype.code,
        tuple(tensor.shape),
        str(tensor.device),
        _bytes_of(tensor),
        tensor.requires_grad,
        isinstance(tensor, Parameter),
    )


def _place(device):
    where = _map_location[0]
    if where is None:
        return device
    if isinstance(where, dict):
        return where.get(device, device)
    if callable(where):
        # Called with a storage that is still in host memory, and its place.
        found = where("cpu", device)
        return device if found is None else found
    return where


def rebuilt(code, shape, device, content, requires_grad, is_parameter):
    tensor = empty(shape, device="cpu", dtype=kinds.dtypes[code])
    check(library.lab_write(tensor._h, content, len(content)))
    tensor = tensor.to(_place(device))
    if is_parameter:
        return Parameter(tensor, requires_grad)
    return tensor.requires_grad_() if requires_grad else tensor


@contextlib.contextmanager
def _opened(file, method, opening, mode):
    """Open a path.  An open file is used as it is and not closed."""
    if hasattr(file, method):
        yield file
        return
    with opening(file, mode) as opened:
        yield opened


def save(obj, f, pickle_protocol=4):
    with _opened(f, "write", NewFile, "wb") as file:
        file.write(_MAGIC)
        pickle.dump(obj, file, protocol=pickle_protocol)


_SAFE = {
    ("larder.lab.saving", "rebuilt"),
    ("larder.lab.kinds", "_dtype_of_code"),
    ("larder.lab.kinds", "Size"),
    ("collections", "OrderedDict"),
    ("collections", "defaultdict"),
    ("builtins", "set"),
    ("builtins", "dict"),
    ("builtins", "list"),
}


class _Careful(pickle.Unpickler):
    """An unpickler that allows only tensors and containers, and runs no other
    code."""

    def find_class(self, module, name):
        if (module, name) not in _SAFE:
            raise pickle.UnpicklingError(
                f"weights_only: the file has a {module}.{name}; "
                "weights_only=False loads it, and executes what it contains"
            )
        return super().find_class(module, name)


def load(f, map_location=None, weights_only=True, mmap=None):
    with _opened(f, "read", open, "rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise InvalidError(
                f"{f}: not a file that the lab's torch.save() wrote; it does "
                "not read those of PyTorch"
            )
        was, _map_location[0] = _map_location[0], map_location
        try:
            reader = _Careful if weights_only else pickle.Unpickler
            return reader(file).load()
        finally:
            _map_location[0] = was


