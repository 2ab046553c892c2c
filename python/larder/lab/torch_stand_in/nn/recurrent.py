"""Recurrent layers and their cells."""

import math

from larder.lab import recurring
from larder.lab.constructing import PLACE
from larder.lab.failures import InvalidError, check_layers, not_covered
from larder.lab.making import empty, zeros
from larder.lab.tensors import Parameter
from larder.lab.torch_stand_in.nn import functional, init
from larder.lab.torch_stand_in.nn.module import Module, layer
from larder.lab.torch_stand_in.nn.utils.rnn import PackedSequence

_BLOCKS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


class _Gated(Module):
    """What layers and cells share: the parameters of their gates."""

    _cell = None
    _repr_of = "input_size hidden_size", ""

    def _blocks(self, width, bias, place):
        """The parameters of one direction, None for a bias that is not there."""
        rows = recurring.GATES[self._cell] * self.hidden_size
        shapes = [(rows, width), (rows, self.hidden_size), (rows,), (rows,)]
        for name, shape in zip(_BLOCKS, shapes):
            made = None
            if len(shape) == 2 or bias:
                made = Parameter(empty(shape, **place))
            yield name, made

    def reset_parameters(self):
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size else 0
        for one in self.parameters():
            init.uniform_(one, -bound, bound)

    def _has_c(self):
        return self._cell == recurring.LSTM


_STACKED = {
    "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False,
    "proj_size": 0, **PLACE,
}


class _Recurrent(_Gated):
    """Stacked layers, in one direction or both."""

    __init__ = layer("input_size hidden_size", num_layers=1, **_STACKED)

    def _made_from(self, **place):
        if self.proj_size:
            raise not_covered(f"proj_size={self.proj_size}", ["0"])
        self.dropout = float(self.dropout)
        for suffix, width in self._parts():
            for name, made in self._blocks(width, self.bias, place):
                if made is not None:
                    self.register_parameter(f"{name}_{suffix}", made)
        self.reset_parameters()

    def _parts(self):
        """Name suffixes, and the input width of each."""
        directions = 2 if self.bidirectional else 1
        check_layers(self.num_layers)
        for layer in range(self.num_layers):
            width = (
                self.hidden_size * directions if layer else self.input_size
            )
            for direction in range(directions):
                yield f"l{layer}" + ("_reverse" if direction else ""), width

    def flatten_parameters(self):
        """No effect: the lab's kernels read each weight where it is."""

    @property
    def all_weights(self):
        return [
            [
                getattr(self, f"{name}_{suffix}")
                for name in _BLOCKS
                if hasattr(self, f"{name}_{suffix}")
            ]
            for suffix, _ in self._parts()
        ]

    def _weights(self):
        return [
            tuple(one) + (None,) * (4 - len(one)) for one in self.all_weights
        ]

    def _initial(self, x):
        count = self.num_layers * (2 if self.bidirectional else 1)
        return zeros(
            count,
            x.shape[1],
            self.hidden_size,
            device=x.device,
            dtype=x.dtype,
        )

    def _between(self, x):
        return functional.dropout(x, self.dropout, self.training)

    def _layers(self, x, h, c, lengths=None):
        """The layers over steps × rows × features, from zeros where no state is
        given."""
        h = self._initial(x) if h is None else h
        if c is None and self._has_c():
            c = self._initial(x)
        return recurring.rnn(
            self._cell,
            x,
            h,
            c,
            self._weights(),
            self.bidirectional,
            self._between,
            lengths,
        )

    def _run(self, input, h, c):
        if isinstance(input, PackedSequence):
            out, h, c = self._layers(input.padded, h, c, input.lengths)
            return PackedSequence(out, input.lengths), h, c
        if input.ndim not in (2, 3):
            raise InvalidError(
                f"{type(self).__name__} takes 2 or 3 dimensions, not "
                f"{input.ndim}"
            )
        if input.ndim == 2:
            h, c = (one if one is None else one.unsqueeze(1) for one in (h, c))
            out, h, c = self._layers(input.unsqueeze(1), h, c)
            c = None if c is None else c.squeeze(1)
            return out.squeeze(1), h.squeeze(1), c
        x = input.transpose(0, 1) if self.batch_first else input
        out, h, c = self._layers(x, h, c)
        return out.transpose(0, 1) if self.batch_first else out, h, c

    def forward(self, input, hx=None):
        out, h, _ = self._run(input, hx, None)
        return out, h

    def extra_repr(self):
        text = super().extra_repr()
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        for name in ("batch_first", "bidirectional"):
            if getattr(self, name):
                text += f", {name}=True"
        return text + (f", dropout={self.dropout}" if self.dropout else "")


class LSTM(_Recurrent):
    _cell = recurring.LSTM

    def forward(self, input, hx=None):
        h, c = (None, None) if hx is None else hx
        out, h, c = self._run(input, h, c)
        return out, (h, c)


class GRU(_Recurrent):
    _cell = recurring.GRU


class RNN(_Recurrent):
    _cell = recurring.RNN_TANH
    __init__ = layer(
        "input_size hidden_size", num_layers=1, nonlinearity="tanh", **_STACKED
    )

    def _made_from(self, **place):
        if self.nonlinearity == "relu":
            object.__setattr__(self, "_cell", recurring.RNN_RELU)
        super()._made_from(**place)


class _Cell(_Gated):
    """A single step."""

    __init__ = layer("input_size hidden_size", bias=True, **PLACE)

    def _made_from(self, **place):
        for name, made in self._blocks(self.input_size, self.bias, place):
            self.register_parameter(name, made)
        self.reset_parameters()

    def _zeros(self, input):
        return zeros(
            input.shape[0],
            self.hidden_size,
            device=input.device,
            dtype=input.dtype,
        )

    def _step(self, input, h, c):
        weights = [tuple(getattr(self, name) for name in _BLOCKS)]
        _, h, c = recurring.rnn(
            self._cell,
            input.unsqueeze(0),
            h.unsqueeze(0),
            None if c is None else c.unsqueeze(0),
            weights,
            False,
            None,
        )
        return h.squeeze(0), None if c is None else c.squeeze(0)

    def forward(self, input, hx=None):
        return self._step(
            input, self._zeros(input) if hx is None else hx, None
        )[0]


class LSTMCell(_Cell):
    _cell = recurring.LSTM

    def forward(self, input, hx=None):
        if hx is None:
            hx = self._zeros(input), self._zeros(input)
        return self._step(input, *hx)


class GRUCell(_Cell):
    _cell = recurring.GRU


class RNNCell(_Cell):
    _cell = recurring.RNN_TANH
