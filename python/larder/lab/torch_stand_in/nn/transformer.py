"""Attention and the layers of transformers."""

import copy
import math

from larder.lab import operations
from larder.lab.constructing import ALL, PLACE
from larder.lab.failures import InvalidError, check_layers
from larder.lab.making import empty, full
from larder.lab.picking import triu
from larder.lab.tensors import Parameter
from larder.lab.torch_stand_in.nn import functional, init
from larder.lab.torch_stand_in.nn.containers import ModuleList
from larder.lab.torch_stand_in.nn.layers import Dropout, Linear
from larder.lab.torch_stand_in.nn.module import Module, layer
from larder.lab.torch_stand_in.nn.normalization import LayerNorm


class MultiheadAttention(Module):
    __init__ = layer(
        "embed_dim num_heads", passed="bias", dropout=0.0, bias=True, batch_first=False,
        **PLACE,
    )

    def _made_from(self, bias, **place):
        width = self.embed_dim
        if width % self.num_heads:
            raise InvalidError(
                f"{width} features cannot be divided into {self.num_heads} heads"
            )
        self.in_proj_weight = Parameter(empty(3 * width, width, **place))
        offset = Parameter(empty(3 * width, **place)) if bias else None
        self.register_parameter("in_proj_bias", offset)
        self.out_proj = Linear(width, width, bias, **place)
        init.xavier_uniform_(self.in_proj_weight)
        if bias:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)

    def _projected(self, query, key, value):
        """One product if query, key and value are the same tensor, as in
        torch."""
        if query is key and key is value:
            every = functional.linear(
                query, self.in_proj_weight, self.in_proj_bias
            )
            return every.chunk(3, -1)
        weights = self.in_proj_weight.chunk(3)
        biases = (
            (None,) * 3
            if self.in_proj_bias is None
            else self.in_proj_bias.chunk(3)
        )
        return tuple(
            functional.linear(x, w, b)
            for x, w, b in zip((query, key, value), weights, biases)
        )

    def _heads(self, x):
        """N × heads × T × head"""
        n, t, _ = x.shape
        return x.reshape(n, t, self.num_heads, -1).transpose(1, 2)

    def _mask(self, attn_mask, key_padding_mask, n):
        if attn_mask is not None and attn_mask.ndim == 3:
            attn_mask = attn_mask.reshape(
                n, self.num_heads, *attn_mask.shape[1:]
            )
        if key_padding_mask is None:
            return attn_mask
        padding = _as_added(key_padding_mask).unsqueeze(1).unsqueeze(1)
        return padding if attn_mask is None else _as_added(attn_mask) + padding

    def forward(
        self,
        query,
        key,
        value,
        key_padding_mask=None,
        need_weights=True,
        attn_mask=None,
        average_attn_weights=True,
        is_causal=False,
    ):
        lone = query.ndim == 2
        given = query, key, value
        same = query is key and key is value
        turned = [
            x.unsqueeze(0)
            if lone
            else x
            if self.batch_first
            else x.transpose(0, 1)
            for x in (given[:1] if same else given)
        ]
        q, k, v = map(
            self._heads, self._projected(*(turned * 3 if same else turned))
        )
        mask = self._mask(attn_mask, key_padding_mask, q.shape[0])
        out, weights = self._attend(q, k, v, mask, need_weights)
        n, _, t, _ = out.shape
        out = self.out_proj(out.transpose(1, 2).reshape(n, t, self.embed_dim))
        if weights is not None and average_attn_weights:
            weights = operations.mean(weights, 1)
        if lone:
            weights = None if weights is None else weights.squeeze(0)
            return out.squeeze(0), weights
        return out if self.batch_first else out.transpose(0, 1), weights

    def _attend(self, q, k, v, mask, need_weights):
        drop = self.dropout if self.training else 0.0
        if mask is not None and mask.dtype.python is bool:
            mask = ~mask
        if not need_weights:
            out = functional.scaled_dot_product_attention(
                q, k, v, mask, drop
            )
            return out, None
        scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1)
        if mask is not None:
            scores = scores + _as_added(~mask if mask.dtype.python is bool
                                        else mask)
        weights = functional.dropout(functional.softmax(scores, -1), drop)
        return weights @ v, weights


def _as_added(mask):
    """The mask as numbers to add: True means that a position is ignored."""
    if mask.dtype.python is not bool:
        return mask
    added = full(mask.shape, 0.0, device=mask.device)
    return added.masked_fill_(mask, -math.inf)


def _activation(activation):
    return (
        getattr(functional, activation)
        if isinstance(activation, str)
        else activation
    )


# The options of each layer, and of Transformer.
_OPTIONS = {
    "dim_feedforward": 2048, "dropout": 0.1, "activation": "relu",
    "layer_norm_eps": 1e-5, "batch_first": False, "norm_first": False, "bias": True,
    **PLACE,
}


class _Layer(Module):
    """The common base of encoder and decoder layers."""

    _attentions = ("self_attn",)
    __init__ = layer("d_model nhead", passed=ALL, **_OPTIONS)

    def _made_from(
        self, d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps,
        batch_first, norm_first, bias, **place,
    ):
        self.norm_first = norm_first
        for name in self._attentions:
            attention = MultiheadAttention(
                d_model, nhead, dropout, bias, batch_first, **place
            )
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **place)
        parts = range(1, len(self._attentions) + 2)
        for i in parts:
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, **place)
            setattr(self, f"norm{i}", norm)
        for i in parts:
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = _activation(activation)

    @staticmethod
    def _attended(attention, x, others, mask, padding):
        out, _ = attention(
            x,
            others,
            others,
            attn_mask=mask,
            key_padding_mask=padding,
            need_weights=False,
        )
        return out

    def _fed_forward(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _own(self, x, mask, padding):
        return self.dropout1(
            self._attended(self.self_attn, x, x, mask, padding)
        )


class TransformerEncoderLayer(_Layer):
    def _forward(self, x):
        return self.dropout2(self._fed_forward(x))

    def forward(
        self, src, src_mask=None, src_key_padding_mask=None, is_causal=False
    ):
        x = src
        if self.norm_first:
            x = x + self._own(self.norm1(x), src_mask, src_key_padding_mask)
            return x + self._forward(self.norm2(x))
        x = self.norm1(x + self._own(x, src_mask, src_key_padding_mask))
        return self.norm2(x + self._forward(x))


class TransformerDecoderLayer(_Layer):
    _attentions = ("self_attn", "multihead_attn")

    def _others(self, x, memory, mask, padding):
        return self.dropout2(
            self._attended(self.multihead_attn, x, memory, mask, padding)
        )

    def _forward(self, x):
        return self.dropout3(self._fed_forward(x))

    def forward(
        self,
        tgt,
        memory,
        tgt_mask=None,
        memory_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        tgt_is_causal=False,
        memory_is_causal=False,
    ):
        x = tgt
        other = memory, memory_mask, memory_key_padding_mask
        if self.norm_first:
            x = x + self._own(self.norm1(x), tgt_mask, tgt_key_padding_mask)
            x = x + self._others(self.norm2(x), *other)
            return x + self._forward(self.norm3(x))
        x = self.norm1(x + self._own(x, tgt_mask, tgt_key_padding_mask))
        x = self.norm2(x + self._others(x, *other))
        return self.norm3(x + self._forward(x))


def _copies(layer, count):
    check_layers(count)
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


class TransformerEncoder(Module):
    __init__ = layer(
        "encoder_layer num_layers", passed="encoder_layer norm", norm=None,
        enable_nested_tensor=True, mask_check=True,
    )

    def _made_from(self, encoder_layer, norm):
        self.layers = _copies(encoder_layer, self.num_layers)
        self.norm = norm

    def forward(
        self, src, mask=None, src_key_padding_mask=None, is_causal=None
    ):
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    __init__ = layer(
        "decoder_layer num_layers", passed="decoder_layer norm", norm=None
    )

    def _made_from(self, decoder_layer, norm):
        self.layers = _copies(decoder_layer, self.num_layers)
        self.norm = norm

    def forward(self, tgt, memory, *masks, **named):
        for layer in self.layers:
            tgt = layer(tgt, memory, *masks, **named)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    __init__ = layer(
        passed=ALL, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6,
        **_OPTIONS,
    )

    def _made_from(self, num_encoder_layers, num_decoder_layers, **options):
        def norm():
            place = {name: options[name] for name in PLACE}
            width, eps = options["d_model"], options["layer_norm_eps"]
            return LayerNorm(width, eps, bias=options["bias"], **place)

        self.encoder = TransformerEncoder(
            TransformerEncoderLayer(**options), num_encoder_layers, norm()
        )
        self.decoder = TransformerDecoder(
            TransformerDecoderLayer(**options), num_decoder_layers, norm()
        )
        for one in self.parameters():
            if one.ndim > 1:
                init.xavier_uniform_(one)

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """-inf for later positions, 0 elsewhere."""
        return triu(
            full((sz, sz), -math.inf, device=device, dtype=dtype), 1
        )

    def forward(
        self,
        src,
        tgt,
        src_mask=None,
        tgt_mask=None,
        memory_mask=None,
        src_key_padding_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
    ):
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        return self.decoder(
            tgt,
            memory,
            tgt_mask,
            memory_mask,
            tgt_key_padding_mask,
            memory_key_padding_mask,
        )
