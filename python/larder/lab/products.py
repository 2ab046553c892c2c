"""Matrix products in all their forms, and attention."""

import math

from larder.lab import operations, reducing
from larder.lab.autocasting import in_narrow
from larder.lab.failures import InvalidError, not_covered
from larder.lab.making import ones
from larder.lab.picking import triu
from larder.lab.pointwise import masked_fill


@in_narrow
def bmm(input, mat2):
    if input.ndim != 3 or mat2.ndim != 3:
        raise InvalidError("bmm is for two batches of matrices")
    return operations.matmul(input, mat2)


def mm(input, mat2):
    if input.ndim != 2 or mat2.ndim != 2:
        raise InvalidError("mm is for two matrices")
    return operations.matmul(input, mat2)


def mv(input, vec):
    return operations.matmul(input, vec)


def dot(input, other):
    return operations.matmul(input, other)


def outer(input, vec2):
    return input.unsqueeze(1) * vec2.unsqueeze(0)


def addmm(input, mat1, mat2, *, beta=1, alpha=1):
    product = operations.matmul(mat1, mat2)
    return (input if beta == 1 else beta * input) + (
        product if alpha == 1 else alpha * product
    )


baddbmm = addmm


def bilinear(input1, input2, weight, bias=None):
    out = einsum("bi,oij,bj->bo", input1, weight, input2)
    return out if bias is None else out + bias


# ---- einsum ----


def _spelled(equation, operands):
    """The letters of each operand and of the result."""
    equation = equation.replace(" ", "")
    left, arrow, right = equation.partition("->")
    parts = left.split(",")
    if len(parts) != len(operands):
        raise InvalidError(
            f"einsum: {len(parts)} operands are named in {equation!r}, "
            f"{len(operands)} given"
        )
    if "." in equation:
        free = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in equation]
        more = max(
            one.ndim - len(part.replace("...", ""))
            for part, one in zip(parts, operands)
        )
        batch = "".join(free[:more])
        parts = [
            part.replace("...", batch[more - one.ndim + len(part) - 3 :])
            if "..." in part
            else part
            for part, one in zip(parts, operands)
        ]
        right = right.replace("...", batch)
    if not arrow:
        letters = "".join(parts)
        alone = (c for c in set(letters) if letters.count(c) == 1)
        right = "".join(sorted(alone))
    for part, one in zip(parts, operands):
        if len(part) != one.ndim or len(set(part)) != len(part):
            raise not_covered(
                f"einsum's {part!r} for {one.ndim} dimensions",
                ["a letter for each dimension, each once"],
            )
    return parts, right


def _summed(letters, tensor, wanted):
    """The operand summed over dimensions that occur nowhere else."""
    gone = [i for i, c in enumerate(letters) if c not in wanted]
    if gone:
        tensor = operations.sum(tensor, tuple(gone))
    return "".join(c for c in letters if c in wanted), tensor


def _in_order(letters, tensor, order):
    dims = [letters.index(c) for c in order]
    if dims == list(range(len(dims))):
        return tensor
    return tensor.permute(*dims)


def _product(a, b, wanted):
    """The product of two operands as a matrix product: dimensions of both that
    are in the result are batch dimensions, those that are not are summed over."""
    (a_letters, a_tensor), (b_letters, b_tensor) = a, b
    both = [c for c in a_letters if c in b_letters]
    batch = [c for c in both if c in wanted]
    inner = [c for c in both if c not in wanted]
    rows = [c for c in a_letters if c not in both]
    columns = [c for c in b_letters if c not in both]
    sizes = dict(zip(a_letters, a_tensor.shape))
    sizes.update(zip(b_letters, b_tensor.shape))

    def count(letters):
        return math.prod(sizes[c] for c in letters)

    left = _in_order(a_letters, a_tensor, batch + rows + inner)
    right = _in_order(b_letters, b_tensor, batch + inner + columns)
    left = left.reshape(count(batch), count(rows), count(inner))
    right = right.reshape(count(batch), count(inner), count(columns))
    out = bmm(left, right)
    letters = batch + rows + columns
    return "".join(letters), out.reshape([sizes[c] for c in letters])


def einsum(equation, *operands):
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = tuple(operands[0])
    parts, result = _spelled(equation, operands)
    rest = list(zip(parts, operands))
    while len(rest) > 1:
        a, b, *others = rest
        wanted = set(result).union(*(letters for letters, _ in others))
        a = _summed(*a, wanted | set(b[0]))
        b = _summed(*b, wanted | set(a[0]))
        rest = [_product(a, b, wanted), *others]
    letters, out = _summed(*rest[0], set(result))
    return _in_order(letters, out, result)


# ---- attention ----


def _masked(scores, mask):
    if mask.dtype.python is bool:
        return masked_fill(scores, ~mask, -math.inf)
    return scores + mask


def _causal(scores):
    rows, columns = scores.shape[-2:]
    later = triu(ones(rows, columns, device=scores.device), 1).bool()
    return masked_fill(scores, later, -math.inf)


@in_narrow
def scaled_dot_product_attention(
    query,
    key,
    value,
    attn_mask=None,
    dropout_p=0.0,
    is_causal=False,
    scale=None,
    enable_gqa=False,
):
    if enable_gqa and key.shape[-3] != query.shape[-3]:
        times = query.shape[-3] // key.shape[-3]
        key = key.repeat_interleave(times, -3)
        value = value.repeat_interleave(times, -3)
    same_heads = key.shape[:-2] == query.shape[:-2]
    if attn_mask is None and not dropout_p and scale is None and same_heads:
        return operations.plain_attention(query, key, value, is_causal)
    if scale is None:
        scale = query.shape[-1] ** -0.5
    scores = operations.matmul(query * scale, key.transpose(-2, -1))
    if is_causal:
        scores = _causal(scores)
    if attn_mask is not None:
        scores = _masked(scores, attn_mask)
    weights = operations.softmax(scores, -1)
    if dropout_p:
        weights = operations.dropout(weights, dropout_p)
    return operations.matmul(weights, value)


# ---- distances ----


def cdist(x1, x2, p=2.0):
    if p != 2.0:
        raise not_covered(f"cdist's p={p}", ["2"])
    away = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    return operations.sum(away * away, -1).sqrt()


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    size = reducing.norm(x1, 2, dim) * reducing.norm(x2, 2, dim)
    return operations.sum(x1 * x2, dim) / size.clamp(min=eps)


def normalize(input, p=2.0, dim=1, eps=1e-12):
    size = reducing.norm(input, p, dim, True).clamp(min=eps)
    return input / size.expand(input.shape)
