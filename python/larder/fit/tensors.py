"""Hides from programs that their tensors have another type."""

import functools

import torch
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensor


@functools.cache
def _own_names():
    """Attributes of every fake tensor."""
    with fake_tensor.FakeTensorMode():
        return {*vars(torch.empty(0)), "_is_param"}


@functools.cache
def _fake_kind(kind):
    """The GPU class of tensors that are of this class on the host."""
    if issubclass(kind, FakeTensor) or kind in (torch.Tensor, torch.nn.Parameter):
        return FakeTensor
    return type(kind.__name__, (FakeTensor, kind), {"_larder_host_kind": kind})


def _become(tensor, other):
    """Turn the object into what `other` was, like torch.utils.swap_tensors(),
    which fails if PyTorch itself holds weak references.  It keeps the class and
    the attributes that the program gave it."""
    kind, mine = type(tensor), tensor.__dict__
    if isinstance(other, FakeTensor):
        tensor.__class__ = _fake_kind(kind)
    else:
        tensor.__class__ = getattr(kind, "_larder_host_kind", type(other))
    given = mine
    if isinstance(tensor, FakeTensor) or issubclass(kind, FakeTensor):
        given = {name: mine[name] for name in mine if name not in _own_names()}
    tensor.__dict__ = {**other.__dict__, **given}
    other.__class__, other.__dict__ = kind, mine
    torch._C._swap_tensor_impl(tensor, other)


def _is_compatible(tensor, value):
    return isinstance(tensor, FakeTensor) == isinstance(value, FakeTensor) and (
        tensor.device.type == value.device.type
    )


def _set_data(inherited):
    """`parameter.data = parameter.cuda()` keeps the object, which optimizers
    and tied weights refer to."""

    def set_data(self, value):
        if _is_compatible(self, value):
            inherited.__set__(self, value)
            return
        is_parameter = isinstance(self, torch.nn.Parameter)
        gradient, self.grad = self.grad, None
        moved = value.detach().requires_grad_(self.requires_grad)
        if is_parameter and not isinstance(value, FakeTensor):
            moved = torch.nn.Parameter(moved, self.requires_grad)
        _become(self, moved)
        if is_parameter and isinstance(self, FakeTensor):
            self._is_param = True
        if gradient is not None and gradient.device == self.device:
            self.grad = gradient

    return set_data


def _move(tensor, function):
    with torch.no_grad():
        moved = function(tensor)
    if moved is not tensor:
        tensor.data = moved


def _apply(self, fn, recurse=True):
    """Module._apply() as for GPU tensors.  For fake tensors PyTorch would
    create new parameters, which optimizers and tied weights do not refer to."""
    if recurse:
        for module in self.children():
            module._apply(fn)
    for parameter in self._parameters.values():
        if parameter is None:
            continue
        gradient = parameter.grad
        _move(parameter, fn)
        if gradient is not None:
            with torch.no_grad():
                parameter.grad = fn(gradient)
    for key, buffer in self._buffers.items():
        if buffer is not None:
            self._buffers[key] = fn(buffer)
    return self


def _text(self, *, tensor_contents=None):
    shown = self.detach().cpu()
    text = repr(shown)
    return text[:-1] + ", device='cuda:0')" if text.endswith(")") else text


def _format(self, spec):
    if self.dim() == 0:
        return self.item().__format__(spec)
    return _text(self).__format__(spec)


def _to_list(self):
    return self.detach().cpu().tolist()


def _reduce(self, protocol):
    """What torch.save() writes: values on the host, to be moved to the GPU on
    load."""
    rebuild = torch._utils._rebuild_device_tensor_from_cpu_tensor
    host = self.detach().cpu()
    return rebuild, (host, self.dtype, "cuda:0", self.requires_grad)


def _allow_foreach():
    from torch.optim import optimizer
    from torch.utils import _foreach_utils

    for owner in (optimizer, _foreach_utils):
        kinds = getattr(owner, "_foreach_supported_types", None)
        if kinds is not None and FakeTensor not in kinds:
            kinds.append(FakeTensor)


def _make_subclass(made):
    """Of host tensors: a class of tensors on the GPU is one of fake tensors too."""

    def make_subclass(*args, **kwargs):
        kind, data, *rest = args
        if not isinstance(data, FakeTensor):
            return made(*args, **kwargs)
        tensor = data.detach()
        tensor.requires_grad_(rest[0] if rest else kwargs.get("require_grad", False))
        tensor.__class__ = _fake_kind(kind)
        tensor._is_param = issubclass(kind, torch.nn.Parameter)
        return tensor

    return staticmethod(make_subclass)


def install():
    _own_names()
    torch.Tensor._make_subclass = _make_subclass(torch.Tensor._make_subclass)
    inherited = torch._C.TensorBase.data
    torch.Tensor.data = property(
        inherited.__get__, _set_data(inherited), inherited.__delete__
    )
    torch.nn.Module._apply = _apply
    FakeTensor.__repr__ = _text
    FakeTensor.__format__ = _format
    FakeTensor.__reduce_ex__ = _reduce
    FakeTensor.__deepcopy__ = _copy_deep
    FakeTensor.tolist = _to_list
    fake_tensor.init_gpu_context = lambda *args: None
    _allow_foreach()


def _copy_deep(self, memo):
    if id(self) in memo:
        return memo[id(self)]
    with torch.no_grad():
        copy = self.detach().clone()
    if isinstance(self, torch.nn.Parameter):
        copy = torch.nn.Parameter(copy, self.requires_grad)
    else:
        copy.requires_grad_(self.requires_grad)
    memo[id(self)] = copy
    return copy
