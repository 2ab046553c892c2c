"""Recurrent layers: one kernel for each direction of each layer, like cuDNN's,
which keeps data for backward."""

import ctypes
from ctypes import byref

from larder._library import Rnn, RnnGrads, library
from larder.lab.autocasting import in_narrow
from larder.lab.failures import check
from larder.lab.functions import record, recorded
from larder.lab.making import cat, empty, stack, zeros_like
from larder.lab.tensors import optional

RNN_TANH, RNN_RELU, LSTM, GRU = range(4)
GATES = {RNN_TANH: 1, RNN_RELU: 1, LSTM: 4, GRU: 3}


def _struct(cell, backwards, at, lengths, weights, h, c):
    w_x, w_h, b_x, b_h = weights
    return Rnn(
        ctypes.sizeof(Rnn),
        cell,
        backwards,
        at,
        *(optional(one) for one in (w_x, w_h, b_x, b_h, h, c)),
        None if lengths is None else ctypes.addressof(lengths),
    )


def _like(tensor, *sizes):
    return empty(sizes, device=tensor.device, dtype=tensor.dtype)


def _backward_of(fixed, wants):
    """The backward of one direction.  `wants`: which inputs need a gradient."""

    def backward(grads, saved):
        x, out, kept, h, w_x, w_h, c, b_x, b_h = saved
        made = [
            zeros_like(one) if wanted else None
            for one, wanted in zip((x, w_x, w_h, b_x, b_h, h, c), wants)
        ]
        to = RnnGrads(
            ctypes.sizeof(RnnGrads), *(optional(one) for one in made)
        )
        what = _struct(*fixed, (w_x, w_h, b_x, b_h), h, c)
        dense = [None if g is None else g.contiguous() for g in grads]
        grad_c = dense[2] if len(dense) > 2 else None
        check(
            library.lab_raw_rnn_backward(
                byref(what),
                x._h,
                out._h,
                kept._h,
                optional(dense[0]),
                optional(dense[1]),
                optional(grad_c),
                byref(to),
            )
        )
        return made

    return backward


def _direction(cell, backwards, x, weights, h, c, lengths):
    """One direction of one layer.  Returns out, and the last h and c."""
    fixed = cell, backwards, 0, lengths
    steps, rows, _ = x.shape
    hidden = h.shape[-1]
    inputs = (x, *weights, h, c)
    keep = recorded(inputs)
    out = _like(x, steps, rows, hidden)
    h_last = _like(x, rows, hidden)
    c_last = _like(x, rows, hidden) if cell == LSTM else None
    width = (GATES[cell] + 1) * hidden
    kept = _like(x, steps, rows, width) if keep else None
    check(
        library.lab_raw_rnn(
            byref(_struct(*fixed, weights, h, c)),
            x._h,
            out._h,
            h_last._h,
            optional(c_last),
            optional(kept),
        )
    )
    if keep:
        w_x, w_h, b_x, b_h = weights
        wants = [one is not None and one.requires_grad for one in inputs]
        record(
            "CudnnRnnBackward0",
            inputs,
            (out, h_last) if c_last is None else (out, h_last, c_last),
            (x, out, kept, h, w_x, w_h, c, b_x, b_h),
            _backward_of(fixed, wants),
        )
    return out, h_last, c_last


@in_narrow
def _typed(*tensors):
    """Convert to the type that autocast requires."""
    return tensors


def rnn(cell, x, h, c, weights, bidirectional, drop, lengths=None):
    """x: steps × rows × features; weights: for each layer and direction w_x,
    w_h, b_x, b_h; drop(x) between two layers; lengths: the steps of each row.
    The result of the last layer, and every layer's last h and c."""
    if lengths is not None:
        lengths = (ctypes.c_int64 * len(lengths))(*lengths)
    last_h, last_c = [], []
    directions = 2 if bidirectional else 1
    layers = len(weights) // directions
    for layer in range(layers):
        outs = []
        for direction in range(directions):
            i = layer * directions + direction
            x_in, h_in, c_in, *own = _typed(
                x, h[i], None if c is None else c[i], *weights[i]
            )
            out, h_last, c_last = _direction(
                cell,
                direction == 1,
                x_in.contiguous(),
                own,
                h_in.contiguous(),
                None if c_in is None else c_in.contiguous(),
                lengths,
            )
            outs.append(out)
            last_h.append(h_last)
            last_c.append(c_last)
        x = outs[0] if directions == 1 else cat(outs, -1)
        if layer + 1 < layers:
            x = drop(x)
    hs = stack(last_h) if len(last_h) > 1 else last_h[0].unsqueeze(0)
    if cell != LSTM:
        return x, hs, None
    cs = stack(last_c) if len(last_c) > 1 else last_c[0].unsqueeze(0)
    return x, hs, cs
