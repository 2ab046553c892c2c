"""Computes kernels that exist only for GPUs, from operators that the host has."""

import math
import threading

import torch

aten = torch.ops.aten


def _spread(keys, query):
    """Repeat the keys of a group of heads for each head."""
    return keys.repeat_interleave(query.shape[1] // keys.shape[1], 1).float()


def _gathered(gradient, keys):
    """The inverse of _spread(): one sum for each group."""
    batch, heads, length, size = gradient.shape
    group = heads // keys.shape[1]
    return gradient.reshape(batch, heads // group, group, length, size).sum(2)


def _weights(query, key, bias, causal, scale):
    """(attention's weights, the scale)"""
    scale = scale if scale is not None else 1.0 / math.sqrt(query.shape[-1])
    scores = query.float() @ _spread(key, query).transpose(-2, -1) * scale
    if bias is not None:
        scores = scores + bias
    if causal:
        allowed = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~allowed, -math.inf)
    return scores.softmax(-1), scale


def _forward(query, key, value, bias, causal, scale):
    weights, _ = _weights(query, key, bias, causal, scale)
    return (weights @ _spread(value, query)).to(query.dtype)


def _backward(gradient, query, key, value, bias, causal, scale):
    """Gradients of query, key, value and bias."""
    weights, scale = _weights(query, key, bias, causal, scale)
    gradient = gradient.float()
    of_weights = gradient @ _spread(value, query).transpose(-2, -1)
    mean = (of_weights * weights).sum(-1, keepdim=True)
    of_scores = weights * (of_weights - mean)
    of_query = of_scores @ _spread(key, query) * scale
    of_key = of_scores.transpose(-2, -1) @ query.float() * scale
    of_value = weights.transpose(-2, -1) @ gradient
    return (
        of_query.to(query.dtype),
        _gathered(of_key, key).to(key.dtype),
        _gathered(of_value, value).to(value.dtype),
        of_scores.to(bias.dtype) if bias is not None else None,
    )


def _flash(query, key, value, dropout=0.0, causal=False, mask=False, *, scale=None):
    return (_forward(query, key, value, None, causal, scale),)


def _flash_backward(
    gradient, query, key, value, out, sums, of_queries, of_keys, longest_query,
    longest_key, dropout, causal, seed, offset, *, scale=None,
):
    return _backward(gradient, query, key, value, None, causal, scale)[:3]


def _efficient(
    query, key, value, bias, sums, dropout=0.0, causal=False, *, scale=None
):
    return (_forward(query, key, value, bias, causal, scale),)


def _efficient_backward(
    gradient, query, key, value, bias, out, sums, seed, offset, dropout, wanted,
    causal=False, *, scale=None,
):
    return _backward(gradient, query, key, value, bias, causal, scale)


# Kinds of recurrent layers, by cuDNN's numbers.
_RECURRENT = {0: aten.rnn_relu, 1: aten.rnn_tanh, 2: aten.lstm, 3: aten.gru}


def _recurrent(
    data, weights, count, buffer, hx, cx, mode, hidden, projection, layers,
    batch_first, dropout, train, both_ways, sizes, state,
):
    """Results and last states."""
    states = hx if cx is None else [hx, cx]
    rest = (weights, count > 2, layers, dropout, train, both_ways)
    operator = _RECURRENT[mode]
    if sizes:
        return operator.data(data, torch.tensor(sizes), states, *rest)
    return operator.input(data, states, *rest, batch_first)


def _recurrent_backward(
    data, weights, count, buffer, hx, cx, output, of_output, of_hy, of_cy, mode,
    hidden, projection, layers, batch_first, dropout, train, both_ways, sizes,
    state, reserve, wanted,
):
    """Run the forward pass again, then PyTorch's own backward."""
    leaves = [
        t.detach().requires_grad_() for t in (data, hx, cx, *weights) if t is not None
    ]
    rest = iter(leaves)
    data, hx, cx = (t if t is None else next(rest) for t in (data, hx, cx))

    def gradients():
        results = _recurrent(
            data, list(rest), count, None, hx, cx, mode, hidden, projection,
            layers, batch_first, 0.0, train, both_ways, sizes, None,
        )
        given = (of_output, of_hy, of_cy)
        pairs = [(r, g) for r, g in zip(results, given) if g is not None]
        return torch.autograd.grad(
            [r for r, _ in pairs], leaves, [g for _, g in pairs], allow_unused=True
        )

    found = list(_with_gradients(gradients))
    first = [found.pop(0), found.pop(0), found.pop(0) if cx is not None else None]
    return *first, found


def _with_gradients(run):
    """Run in another thread, because autograd records nothing within an
    operator."""
    result = []
    thread = threading.Thread(target=lambda: result.append(run()))
    thread.start()
    thread.join()
    if not result:
        raise RuntimeError("its gradients were not found")
    return result[0]


def _batch_norm_backward(
    data, gradient, weight, mean, variance, kept_mean, kept_variance, epsilon,
    reserve,
):
    return aten.native_batch_norm_backward(
        gradient, data, weight, mean, variance, kept_mean, kept_variance, True,
        epsilon, [True] * 3,
    )


# Attention's dropout is not applied.
OF_GPU = {
    aten._cudnn_rnn.default: _recurrent,
    aten._cudnn_rnn_backward.default: _recurrent_backward,
    aten.cudnn_batch_norm.default: aten.native_batch_norm,
    aten.cudnn_batch_norm_backward.default: _batch_norm_backward,
    aten._scaled_dot_product_flash_attention.default: _flash,
    aten._scaled_dot_product_flash_attention_backward.default: _flash_backward,
    aten._scaled_dot_product_efficient_attention.default: _efficient,
    aten._scaled_dot_product_efficient_attention_backward.default: (
        _efficient_backward
    ),
}
