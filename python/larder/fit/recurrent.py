"""LSTM, GRU and plain recurrent layers as cuDNN runs them: one operator, with
the weights in one buffer and a reserve space that backward reads.

Only cuDNN knows the size of the reserve space.  Here it is what a step of a
layer must keep: gates, states, and the layer's output.
"""

import torch
from torch._subclasses.fake_tensor import FakeTensor

from larder.fit import composites

aten = torch.ops.aten

_RELU, _TANH, _LSTM, _GRU = range(4)

# Values kept per value of the state: for an LSTM four gates, the cell, its
# tanh.
_KEPT = {_RELU: 1, _TANH: 1, _LSTM: 6, _GRU: 5}

# The type that autocast gives cuDNN's layers, whatever it gives others.
_NARROW = torch.float16

_library = None


def _parts(whole, weights):
    """Each weight, and its part of the buffer that holds all of them."""
    begin = 0
    for weight in weights:
        end = begin + weight.numel()
        yield weight, whole[begin:end].view(weight.shape)
        begin = end


def _flatten(self):
    """RNNBase.flatten_parameters(): make all weights views of one buffer."""
    weights = [w for w in self._flat_weights if isinstance(w, FakeTensor)]
    if not weights or len(weights) != len(self._flat_weights):
        return
    if len({w.untyped_storage()._cdata for w in weights}) == 1:
        return
    with torch.no_grad():
        whole = torch.empty(
            sum(w.numel() for w in weights),
            dtype=weights[0].dtype,
            device=weights[0].device,
        )
        for weight, part in _parts(whole, weights):
            weight.data = part.copy_(weight)


def _sizes(batch_sizes):
    return [] if batch_sizes is None else [int(n) for n in batch_sizes.tolist()]


def _narrow(tensor):
    if tensor is None or tensor.dtype == torch.float64:
        return tensor
    return tensor.to(_NARROW)


def _narrowed(weights):
    """Copy all weights into one buffer of lower precision, as under autocast."""
    if weights[0].dtype in (_NARROW, torch.float64):
        return None, weights
    whole = torch.zeros(
        sum(w.numel() for w in weights), dtype=_NARROW, device=weights[0].device
    )
    # Not views for autograd: each has the history of its own copy.
    return whole, [
        part.detach().copy_(weight) for weight, part in _parts(whole, weights)
    ]


def _run(mode, data, batch_sizes, hx, cx, rest):
    params, has_biases, layers, dropout, train, both_ways, batch_first = rest
    count = 4 if has_biases else 2
    projection = 0
    if mode == _LSTM and len(params) % (layers * (2 if both_ways else 1)):
        count += 1
    if cx is not None and hx.shape[-1] != cx.shape[-1]:
        projection, count = hx.shape[-1], count + 1
    hidden = (cx if cx is not None else hx).shape[-1]
    whole = None
    if torch.is_autocast_enabled("cuda"):
        whole, params = _narrowed(params)
        hx, cx, data = (_narrow(tensor) for tensor in (hx, cx, data))
    with torch.autocast("cuda", enabled=False):
        result = aten._cudnn_rnn(
            data, params, count, whole, hx, cx, mode, hidden, projection, layers,
            batch_first, dropout, train, both_ways, _sizes(batch_sizes), None,
        )
    return result[:3] if cx is not None else result[:2]


def _layer(mode, is_packed):
    """The layer over a padded or a packed sequence."""

    def run(data, *rest):
        sizes, state, *rest = rest if is_packed else (None, *rest)
        h, c = state if mode == _LSTM else (state, None)
        return _run(mode, data, sizes, h, c, (*rest, False) if is_packed else rest)

    return run


def pack(mode, func, args, kwargs):
    """_pack_padded_sequence: its lengths are on the host, and known."""
    data, lengths, batch_first = args
    steps = int(lengths.max())
    sizes = torch.stack([(lengths > n).sum() for n in range(steps)])
    count = int(lengths.sum())
    shape = [count, *data.shape[2:]]
    return mode.made("_pack_padded_sequence", data.new_empty, shape), sizes


def unpack(mode, func, args, kwargs):
    """The backward of pack()."""
    gradient, shape = args[:2]
    return mode.made("_pack_padded_sequence_backward", gradient.new_empty, shape)


def _as_read(mode, tensor, turned):
    """The input with steps before sequences, as cuDNN reads it; copied if it
    has another order."""
    with mode.fake:
        read = (tensor.transpose(0, 1) if turned else tensor).contiguous()
    mode.take("_cudnn_rnn", read)
    return read


def forward(mode, func, args, kwargs):
    """_cudnn_rnn: PyTorch's shapes, and an estimated reserve space."""
    data, weight_buf, train, sizes = args[0], args[3], args[12], args[14]
    kind, layers, both_ways, hidden = args[6], args[9], args[13], args[7]
    turned = args[10] and not sizes
    dense = data.shape[0] * data.shape[1]
    count = (sum(sizes) if sizes else dense) * hidden
    kept = count * layers * (2 if both_ways else 1) * _KEPT[kind]
    read = _as_read(mode, data, turned)
    with mode.fake:
        output, hy, cy, _, _ = func(*args, **kwargs)
        if turned:
            steps, batch = read.shape[:2]
            output = data.new_empty([steps, batch, output.shape[2]])
            output = output.transpose(0, 1)
        reserve = data.new_empty(
            kept * data.element_size() if train else 0, dtype=torch.uint8
        )
        whole = weight_buf if weight_buf is not None else data.new_empty(0)
    mode.take("_cudnn_rnn", output, hy, cy, reserve, whole)
    return output, hy, cy, reserve, whole


def _states(mode, given, like):
    """Gradients of results and last states; zeros where there are none."""
    made = []
    for gradient, state in zip(given, like):
        if gradient is None and state is not None:
            gradient = mode.made("_cudnn_rnn_backward", torch.empty_like, state)
        made.append(gradient)
    return made


def _gradients_of_data(mode, data, hx, cx, gradient, turned):
    """cudnnRNNBackwardData: its inputs, with steps first, and its results."""
    read = [_as_read(mode, tensor, turned) for tensor in (data, gradient)]
    with mode.fake:
        made = torch.empty_like(read[0])
        made = made.transpose(0, 1) if turned else made
        ghx = torch.empty_like(hx)
        gcx = torch.empty_like(cx) if cx is not None else None
    mode.take("_cudnn_rnn_backward", made, ghx, gcx)
    return made, ghx, gcx


def _gradients_of_weights(mode, data, weights, turned):
    """cudnnRNNBackwardWeights: one buffer for all of them."""
    read = _as_read(mode, data, turned)
    count = sum(w.numel() for w in weights)
    whole = mode.made("_cudnn_rnn_backward", read.new_empty, count)
    with mode.fake:
        return [part for _, part in _parts(whole, weights)]


def backward(mode, func, args, kwargs):
    """_cudnn_rnn_backward, with its allocations in order."""
    data, weights, hx, cx = args[0], args[1], args[4], args[5]
    turned = args[14] and not args[18]
    gradient, *states = _states(mode, args[7:10], (args[6], hx, cx))
    made = _gradients_of_data(mode, data, hx, cx, gradient, turned)
    parts = _gradients_of_weights(mode, data, weights, turned)
    del states
    return *made, parts


def install():
    global _library
    _library = torch.library.Library("aten", "IMPL")
    names = {"lstm": _LSTM, "gru": _GRU, "rnn_tanh": _TANH, "rnn_relu": _RELU}
    for name, mode in names.items():
        composites.put(_library, f"{name}.input", _layer(mode, False))
        composites.put(_library, f"{name}.data", _layer(mode, True))
    torch.nn.RNNBase.flatten_parameters = _flatten
