"""Normalization layers."""

from larder.lab.constructing import PLACE
from larder.lab.failures import InvalidError
from larder.lab.kinds import int64
from larder.lab.making import ones, zeros
from larder.lab.tensors import Parameter
from larder.lab.torch_stand_in.nn import functional
from larder.lab.torch_stand_in.nn.module import Module, layer


def _affine(module, shape, wanted, place, bias=True):
    weight = offset = None
    if wanted:
        weight = Parameter(ones(shape, **place))
        if bias:
            offset = Parameter(zeros(shape, **place))
    module.register_parameter("weight", weight)
    module.register_parameter("bias", offset)


class _OverLast(Module):
    """Normalizes over the last dimensions."""

    _repr_of = "normalized_shape", "eps elementwise_affine"

    def _made_from(self, bias=False, **place):
        shape = self.normalized_shape
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.normalized_shape = shape
        _affine(self, shape, self.elementwise_affine, place, bias)


class LayerNorm(_OverLast):
    __init__ = layer(
        "normalized_shape", passed="bias", eps=1e-5, elementwise_affine=True, bias=True,
        **PLACE,
    )

    def forward(self, input):
        return functional.layer_norm(
            input, self.normalized_shape, self.weight, self.bias, self.eps
        )


class RMSNorm(_OverLast):
    __init__ = layer("normalized_shape", eps=None, elementwise_affine=True, **PLACE)

    def forward(self, input):
        return functional.rms_norm(
            input, self.normalized_shape, self.weight, self.eps
        )


class _BatchNorm(Module):
    """Normalizes each channel over the batch, with running statistics for
    evaluation."""

    _dims = ()
    __init__ = layer(
        "num_features", eps=1e-5, momentum=0.1, affine=True,
        track_running_stats=True, **PLACE,
    )
    _repr_of = "num_features", "eps momentum affine track_running_stats"

    def _made_from(self, **place):
        shape = (self.num_features,)
        _affine(self, shape, self.affine, place)
        for name, make, shape, dtype in (
            ("running_mean", zeros, shape, None),
            ("running_var", ones, shape, None),
            ("num_batches_tracked", zeros, (), int64),
        ):
            made = None
            if self.track_running_stats:
                made = make(shape, device=place["device"], dtype=dtype)
            self.register_buffer(name, made)

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


class BatchNorm1d(_BatchNorm):
    _dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    _dims = (4,)


class GroupNorm(Module):
    """Normalizes groups of channels of each image."""

    __init__ = layer("num_groups num_channels", eps=1e-5, affine=True, **PLACE)
    _repr_of = "num_groups num_channels", "eps affine"

    def _made_from(self, **place):
        if self.num_channels % self.num_groups:
            raise InvalidError(
                f"{self.num_channels} channels cannot be divided into "
                f"{self.num_groups} groups"
            )
        _affine(self, (self.num_channels,), self.affine, place)

    def forward(self, input):
        return functional.group_norm(
            input, self.num_groups, self.weight, self.bias, self.eps
        )


class _InstanceNorm(Module):
    """Normalizes each channel of each image."""

    __init__ = layer(
        "num_features", eps=1e-5, momentum=0.1, affine=False,
        track_running_stats=False, **PLACE,
    )
    _repr_of = "num_features", "eps"

    def _made_from(self, **place):
        _affine(self, (self.num_features,), self.affine, place)

    def forward(self, input):
        return functional.instance_norm(
            input, weight=self.weight, bias=self.bias, eps=self.eps
        )


class InstanceNorm1d(_InstanceNorm):
    pass


class InstanceNorm2d(_InstanceNorm):
    pass
