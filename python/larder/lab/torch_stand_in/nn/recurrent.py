"""Recurrent layers and their cells."""

import math

from larder.lab import recurring
from larder.lab.failures import InvalidError, check_layers, not_covered
from larder.lab.making import empty, zeros
from larder.lab.tensors import Parameter
from larder.lab.torch_stand_in.nn import functional, init
from larder.lab.torch_stand_in.nn.module import Module
from larder.lab.torch_stand_in.nn.utils.rnn import PackedSequence

_BLOCKS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


class _Recurrent(Module):
    """Stacked layers, in one direction or both."""

    _cell = None

    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        proj_size=0,
        device=None,
        dtype=None,
    ):
        super().__init__()
        if proj_size:
            raise not_covered(f"proj_size={proj_size}", ["0"])
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        for suffix, width in self._parts():
            self._add(suffix, width, device, dtype)
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

    def _add(self, suffix, width, device, dtype):
        rows = recurring.GATES[self._cell] * self.hidden_size
        shapes = [(rows, width), (rows, self.hidden_size), (rows,), (rows,)]
        for name, shape in zip(_BLOCKS, shapes):
            if len(shape) == 2 or self.bias:
                made = Parameter(empty(shape, device=device, dtype=dtype))
                self.register_parameter(f"{name}_{suffix}", made)

    def reset_parameters(self):
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size else 0
        for one in self.parameters():
            init.uniform_(one, -bound, bound)

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

    def _run_packed(self, packed, h, c):
        """Run on packed sequences.  The results are packed too."""
        x = packed.padded
        out, h, c = recurring.rnn(
            self._cell,
            x,
            self._initial(x) if h is None else h,
            self._initial(x)
            if c is None and self._cell == recurring.LSTM
            else c,
            self._weights(),
            self.bidirectional,
            self._between,
            packed.lengths,
        )
        return PackedSequence(out, packed.lengths), h, c

    def _run(self, input, h, c):
        if isinstance(input, PackedSequence):
            return self._run_packed(input, h, c)
        if input.ndim not in (2, 3):
            raise InvalidError(
                f"{type(self).__name__} takes 2 or 3 dimensions, not "
                f"{input.ndim}"
            )
        lone = input.ndim == 2
        x = input.unsqueeze(1) if lone else input
        if self.batch_first and not lone:
            x = x.transpose(0, 1)
        h = self._initial(x) if h is None else h.unsqueeze(1) if lone else h
        if self._cell == recurring.LSTM:
            c = (
                self._initial(x)
                if c is None
                else c.unsqueeze(1)
                if lone
                else c
            )
        out, h, c = recurring.rnn(
            self._cell,
            x,
            h,
            c,
            self._weights(),
            self.bidirectional,
            self._between,
        )
        if lone:
            c = None if c is None else c.squeeze(1)
            return out.squeeze(1), h.squeeze(1), c
        return out.transpose(0, 1) if self.batch_first else out, h, c

    def forward(self, input, hx=None):
        out, h, _ = self._run(input, hx, None)
        return out, h

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
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

    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        nonlinearity="tanh",
        **named,
    ):
        if nonlinearity == "relu":
            object.__setattr__(self, "_cell", recurring.RNN_RELU)
        super().__init__(input_size, hidden_size, num_layers, **named)


class _Cell(Module):
    """A single step."""

    _cell = None

    def __init__(
        self, input_size, hidden_size, bias=True, device=None, dtype=None
    ):
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        rows = recurring.GATES[self._cell] * hidden_size
        shapes = [(rows, input_size), (rows, hidden_size), (rows,), (rows,)]
        for name, shape in zip(_BLOCKS, shapes):
            made = None
            if len(shape) == 2 or bias:
                made = Parameter(empty(shape, device=device, dtype=dtype))
            self.register_parameter(name, made)
        bound = 1 / math.sqrt(hidden_size)
        for one in self.parameters():
            init.uniform_(one, -bound, bound)

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

    def extra_repr(self):
        return f"{self.input_size}, {self.hidden_size}"


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
