"""Hides from programs that their tensors have another type."""

import torch
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensor


def _become(tensor, other):
    """Turn the object into what `other` was, like torch.utils.swap_tensors(),
    which fails if PyTorch itself holds weak references."""
    tensor.__class__, other.__class__ = other.__class__, tensor.__class__
    tensor.__dict__, other.__dict__ = other.__dict__, tensor.__dict__
    torch._C._swap_tensor_impl(tensor, other)


def _set_data(inherited):
    """`parameter.data = parameter.cuda()` keeps the object, which optimizers
    and tied weights refer to."""

    def set_data(self, value):
        if isinstance(self, FakeTensor) == isinstance(value, FakeTensor):
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


def install():
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
