"""Normalization layers."""

from larder.lab.failures import InvalidError
from larder.lab.kinds import int64
from larder.lab.making import ones, zeros
from larder.lab.tensors import Parameter
from larder.lab.torch_stand_in.nn import functional
from larder.lab.torch_stand_in.nn.module import Module


def _affine(module, shape, wanted, device, bias=True, dtype=None):
    weight = offset = None
    if wanted:
        weight = Parameter(ones(shape, device=device, dtype=dtype))
        if bias:
            offset = Parameter(zeros(shape, device=device, dtype=dtype))
    module.register_parameter("weight", weight)
    module.register_parameter("bias", offset)


class _OverLast(Module):
    """Normalizes over the last dimensions."""

    def __init__(self, shape, eps, elementwise_affine, bias, device, dtype):
        super().__init__()
        if isinstance(shape, int):
            shape = (shape,)
        self.normalized_shape = tuple(shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        _affine(
            self,
            self.normalized_shape,
            elementwise_affine,
            device,
            bias,
            dtype,
        )

    def extra_repr(self):
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}"
        )


class LayerNorm(_OverLast):
    def __init__(
        self,
        normalized_shape,
        eps=1e-5,
        elementwise_affine=True,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__(
            normalized_shape, eps, elementwise_affine, bias, device, dtype
        )

    def forward(self, input):
        return functional.layer_norm(
            input, self.normalized_shape, self.weight, self.bias, self.eps
        )


class RMSNorm(_OverLast):
    def __init__(
        self,
        normalized_shape,
        eps=None,
        elementwise_affine=True,
        device=None,
        dtype=None,
    ):
        super().__init__(
            normalized_shape, eps, elementwise_affine, False, device, dtype
        )

    def forward(self, input):
        return functional.rms_norm(
            input, self.normalized_shape, self.weight, self.eps
        )


class _BatchNorm(Module):
    """Normalizes each channel over the batch, with running statistics for
    evaluation."""

    _dims = ()

    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.1,
        affine=True,
        track_running_stats=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        _affine(self, (num_features,), affine, device, True, dtype)
        tracked = track_running_stats
        shape = (num_features,)
        self.register_buffer(
            "running_mean", zeros(shape, device=device) if tracked else None
        )
        self.register_buffer(
            "running_var", ones(shape, device=device) if tracked else None
        )
        self.register_buffer(
            "num_batches_tracked",
            zeros((), dtype=int64, device=device) if tracked else None,
        )

    def reset_running_stats(self):
        if self.running_mean is not None:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def forward(self, input):
        if input.ndim not in self._dims:
            dims = " or ".join(map(str, self._dims))
            raise InvalidError(
                f"{type(self).__name__} takes {dims} dimensions, not "
                f"{input.ndim}"
            )
        momentum = self.momentum
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
            if momentum is None:
                momentum = 1.0 / float(self.num_batches_tracked)
        return functional.batch_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or self.running_mean is None,
            momentum or 0.0,
            self.eps,
        )

    def extra_repr(self):
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, "
            f"track_running_stats={self.track_running_stats}"
        )


class BatchNorm1d(_BatchNorm):
    _dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    _dims = (4,)


class GroupNorm(Module):
    """Normalizes groups of channels of each image."""

    def __init__(
        self,
        num_groups,
        num_channels,
        eps=1e-5,
        affine=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        if num_channels % num_groups:
            raise InvalidError(
                f"{num_channels} channels cannot be divided into "
                f"{num_groups} groups"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        _affine(self, (num_channels,), affine, device, True, dtype)

    def forward(self, input):
        return functional.group_norm(
            input, self.num_groups, self.weight, self.bias, self.eps
        )

    def extra_repr(self):
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, "
            f"affine={self.affine}"
        )


class _InstanceNorm(Module):
    """Normalizes each channel of each image."""

    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.1,
        affine=False,
        track_running_stats=False,
        device=None,
    ):
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        _affine(self, (num_features,), affine, device)

    def forward(self, input):
        return functional.instance_norm(
            input, weight=self.weight, bias=self.bias, eps=self.eps
        )

    def extra_repr(self):
        return f"{self.num_features}, eps={self.eps}"


class InstanceNorm1d(_InstanceNorm):
    pass


class InstanceNorm2d(_InstanceNorm):
    pass
