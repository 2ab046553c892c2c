"""torch.nn.utils.rnn: sequences of different lengths.

A packed sequence of the lab stays padded, in its original order, and uses the
memory of the padded form.  PyTorch's contains only the existing steps, longest
sequence first.
"""

from larder.lab.failures import InvalidError, gate
from larder.lab.kinds import int64
from larder.lab.making import cat, full, tensor
from larder.lab.tensors import Tensor


class PackedSequence:
    """Steps × rows × features, and the number of steps of each row."""

    def __init__(self, padded, lengths):
        self.padded = padded
        self.lengths = tuple(lengths)

    def _rows_at(self, step):
        return [i for i, n in enumerate(self.lengths) if n > step]

    @property
    def batch_sizes(self):
        """The number of rows that have a first step, a second step, …"""
        steps = range(max(self.lengths))
        return tensor([len(self._rows_at(t)) for t in steps], dtype=int64)

    @property
    def data(self):
        """The existing steps, one after another."""
        return cat(
            [
                self.padded[t][self._rows_at(t)]
                for t in range(max(self.lengths))
            ]
        )

    def to(self, *arguments, **named):
        return PackedSequence(
            self.padded.to(*arguments, **named), self.lengths
        )

    def cuda(self):
        return self.to("cuda")

    def cpu(self):
        return self.to("cpu")


def pad_sequence(sequences, batch_first=False, padding_value=0.0):
    longest = max(len(one) for one in sequences)
    first = sequences[0]
    out = full(
        (len(sequences), longest) + tuple(first.shape[1:]),
        padding_value,
        dtype=first.dtype,
        device=first.device,
    )
    for i, one in enumerate(sequences):
        out[i, : len(one)] = one
    return out if batch_first else out.transpose(0, 1)


def pack_padded_sequence(
    input, lengths, batch_first=False, enforce_sorted=True
):
    lengths = lengths.tolist() if isinstance(lengths, Tensor) else lengths
    lengths = [int(length) for length in lengths]
    padded = input.transpose(0, 1) if batch_first else input
    if len(lengths) != padded.shape[1] or not all(
        0 < length <= padded.shape[0] for length in lengths
    ):
        raise InvalidError(
            f"lengths {lengths} for {padded.shape[1]} rows of at most "
            f"{padded.shape[0]} steps"
        )
    if enforce_sorted and lengths != sorted(lengths, reverse=True):
        raise RuntimeError(
            "lengths must be in decreasing order if enforce_sorted is set"
        )
    return PackedSequence(padded[: max(lengths)], lengths)


def pack_sequence(sequences, enforce_sorted=True):
    return pack_padded_sequence(
        pad_sequence(sequences),
        [len(one) for one in sequences],
        enforce_sorted=enforce_sorted,
    )


def pad_packed_sequence(
    sequence, batch_first=False, padding_value=0.0, total_length=None
):
    padded, lengths = sequence.padded, sequence.lengths
    more = 0 if total_length is None else total_length - padded.shape[0]
    if more < 0:
        raise InvalidError(f"total_length {total_length} is too short")
    shape = (more,) + tuple(padded.shape[1:])
    if more:
        rest = full(shape, 0.0, dtype=padded.dtype, device=padded.device)
        padded = cat((padded, rest))
    if padding_value:
        for row, length in enumerate(lengths):
            padded[length:, row] = padding_value
    out = padded.transpose(0, 1) if batch_first else padded
    return out, tensor(list(lengths), dtype=int64)


__getattr__ = gate("torch.nn.utils.rnn", globals())
