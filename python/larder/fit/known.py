"""Values of small tensors, computed on the host alongside a GPU that computes
nothing.  Both engines use this to follow a program's operators.

A storage is known as a whole or not at all; the Python object of a known one holds
the values.  Whatever is not written by an observed operator is unknown: results of
kernels that are launched without one, of graphs, of large tensors.
"""

import functools

import torch

from larder.fit import assumptions, ledger

INDEX_BYTES = 4 << 20  # bytes of types without fractions: masks, indices

_VALUES, _ASSUMED = "_larder_values", "_larder_assumed"

storage_of = torch._C.TensorBase.untyped_storage  # unread.py replaces Tensor's

# Host tensors whose functions the program cannot override.
PLAIN = (torch.Tensor, torch.nn.Parameter)
NUMBERS = (int, float, bool, complex)

# Their results have no values.
WITHOUT_VALUES = (
    "empty", "new_empty", "empty_like", "empty_strided", "new_empty_strided",
)
# Their result covers all that they write.
_OVERWRITE = ("zero_", "fill_", "copy_", "normal_", "uniform_", "random_")


class Unknown(Exception):
    """A value is not known."""


def wraps_others(kind):
    """Whether such tensors wrap others and run their operators themselves, as
    DTensor does."""
    return kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__


def flat(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from flat(one)


def mapped(value, function):
    """The same lists and tuples, of the function's results."""
    if isinstance(value, (list, tuple)):
        return type(value)(mapped(one, function) for one in value)
    return function(value)


def place_of(tensor):
    """The tensor's place in its storage."""
    return tensor.dtype, tensor.storage_offset(), tensor.size(), tensor.stride()


def view_of(storage, place):
    """The tensor at the same place in a host storage."""
    dtype, *where = place
    return torch.empty(0, dtype=dtype).set_(storage, *where)


def is_known(tensor):
    return getattr(storage_of(tensor), _VALUES, None) is not None


def host_of(tensor):
    """The tensor's values, as a view of the values of its storage."""
    storage = storage_of(tensor)
    held = getattr(storage, _VALUES, None)
    if held is None or held.nbytes() != storage.nbytes() or tensor.is_complex():
        raise Unknown
    return view_of(held, place_of(tensor))


def assumed_of(tensor):
    """The assumptions that the tensor's values depend on."""
    return getattr(storage_of(tensor), _ASSUMED, set())


def covers(tensor):
    """Whether the tensor covers its whole storage."""
    return tensor.nbytes == storage_of(tensor).nbytes()


def keep(tensor, host, assumed):
    storage = storage_of(tensor)
    held = torch.zeros(storage.nbytes(), dtype=torch.uint8).untyped_storage()
    setattr(storage, _VALUES, held)
    setattr(storage, _ASSUMED, assumed)
    host_of(tensor).copy_(host)


class Traits:
    """What is known of an operator. `keeps`: the arguments that it leaves unchanged
    if the assumption holds."""

    def __init__(self, op):
        arguments = op._schema.arguments
        self._places = [
            at
            for at, one in enumerate(arguments)
            if one.alias_info is not None and one.alias_info.is_write
        ]
        self._names = [arguments[at].name for at in self._places]
        self._tensors = [
            at
            for at, one in enumerate(arguments)
            if str(one.type) in ("Tensor", "Optional[Tensor]")
        ]
        self.name = op._schema.name.partition("::")[2]
        self.is_random = torch.Tag.nondeterministic_seeded in op.tags
        # `out=` is overwritten as well.
        self.overwrites = self.name in _OVERWRITE or not self.name.endswith("_")
        self.keeps = assumptions.KEPT.get(self.name, ())
        self.rule = assumptions.RULES.get(self.name)

    def written(self, args, kwargs):
        """The arguments that it writes to."""
        found = [args[at] for at in self._places if at < len(args)]
        return found + [kwargs[one] for one in self._names if one in kwargs]

    def has_number(self, args):
        """Whether a number stands for a tensor: another overload takes it."""
        for at in self._tensors:
            if at < len(args) and type(args[at]) in NUMBERS:
                return True
        return False


traits_of = functools.cache(Traits)


class Known:
    def __init__(self):
        self.assumed = {}  # assumption -> the first place that relies on it
        self._random = torch.Generator().manual_seed(0).get_state()

    # ---- differences between the engines ------------------------------------

    float_bytes = 64 << 10  # of floating-point types

    def follows(self, tensor):
        """Whether it is on the GPU and has values of its own."""
        return not wraps_others(type(tensor)) and tensor.is_cuda

    def can(self):
        """Whether anything may be computed now."""
        return True

    def quietly(self, function, *args, **kwargs):
        """Run an operation of this module, without following it."""
        return function(*args, **kwargs)

    def host_of(self, tensor):
        return host_of(tensor)

    def filled(self, host):
        """A host tensor that is about to be read."""
        return host

    def forget(self, value):
        """Mark tensors as unknown that something else writes to."""
        for tensor in flat(value):
            if self.follows(tensor) and is_known(tensor):
                setattr(storage_of(tensor), _VALUES, None)

    # ---- the host's computation ----------------------------------------------

    def is_small(self, tensor):
        if tensor.is_complex():
            return False
        most = self.float_bytes if tensor.is_floating_point() else INDEX_BYTES
        return tensor.nbytes <= most

    def _map(self, value, assumed):
        """The host's counterpart of an argument. Raises Unknown."""
        kind = type(value)
        if isinstance(value, torch.Tensor):
            if self.follows(value):
                host = self.host_of(value)
                assumed |= assumed_of(value)
                return host
            if kind not in PLAIN:
                raise Unknown
            return self.filled(value)
        if kind in (list, tuple):
            return kind(self._map(one, assumed) for one in value)
        if kind is torch.device:
            return torch.device("cpu")
        if kind is torch.Generator:
            return None
        return value

    def compute(self, op, args, kwargs, whole=()):
        """(the host's result, what was assumed).  `whole`: tensors that it
        overwrites completely. Raises Unknown."""
        if not self.can():
            raise Unknown
        for one in flat(whole):
            self._begin(one)
        assumed = set()
        traits = traits_of(op)
        if traits.has_number(args):
            op = op.overloadpacket
        args = [self._map(one, assumed) for one in args]
        kwargs = {name: self._map(one, assumed) for name, one in kwargs.items()}
        return self._on_host(op, args, kwargs, traits.is_random), assumed

    def _on_host(self, op, args, kwargs, is_random):
        """Leaves the program's host random numbers unchanged."""
        before = torch.get_rng_state() if is_random else None
        if is_random:
            torch.set_rng_state(self._random)
        try:
            return self.quietly(op, *args, **kwargs)
        except (RuntimeError, NotImplementedError, IndexError, ValueError):
            raise Unknown from None  # the host has no such kernel
        finally:
            if is_random:
                self._random = torch.get_rng_state()
                torch.set_rng_state(before)

    def store(self, made, host, assumed):
        for one, values in zip(flat(made), flat(host)):
            if self.follows(one) and one.shape == values.shape and self.is_small(one):
                keep(one, values, assumed)

    def go_by(self, assumed):
        """Note that the program relies on these assumptions."""
        for one in assumed:
            if one not in self.assumed:
                self.assumed[one] = ledger.caller()

    def told(self):
        """[what, where the program first relies on it, the resulting bound on the
        need] of each assumption."""
        return [
            [what, f"{place[0]}:{place[1]}", assumptions.BOUNDS.get(what)]
            for what, place in sorted(self.assumed.items())
        ]

    # ---- operators -----------------------------------------------------------

    def learn(self, op, made, args, kwargs):
        """Follow an operator that creates tensors."""
        traits = traits_of(op)
        if traits.name in WITHOUT_VALUES or not any(
            self.follows(one) and self.is_small(one) for one in flat(made)
        ):
            return
        try:
            host, assumed = self.compute(op, args, kwargs)
            self.quietly(self.store, made, host, assumed)
        except Unknown:
            self.forget(made)
            if traits.rule is not None and self.can():
                self.quietly(self._assume, traits.rule, made, args)

    def _assume(self, rule, made, args):
        host, what = rule(args, *flat(made))
        for one, values in zip(flat(made), host):
            if values is not None and self.is_small(one):
                keep(one, values, {what} if what else set())

    def _fills(self, traits, args):
        """Whether the operator writes each element of its first argument."""
        if traits.name != "scatter_" or args[0].dim() != 1:
            return traits.overwrites
        target, _, index = args[:3]
        return (
            self.follows(index)
            and is_known(index)
            and self.quietly(torch.unique, host_of(index)).numel() == target.numel()
        )

    def write(self, op, args, kwargs):
        """Follow an operator that writes to its arguments."""
        traits = traits_of(op)
        written = traits.written(args, kwargs)
        if traits.keeps:
            for at in set(range(len(args))) - set(traits.keeps):
                self.forget(args[at])
            return
        whole = written if self._fills(traits, args) else ()
        try:
            _, assumed = self.compute(op, args, kwargs, whole)
        except Unknown:
            self.forget(written)
            return
        for one in flat(written):
            if self.follows(one):
                setattr(storage_of(one), _ASSUMED, assumed)

    def _begin(self, tensor):
        """Make a storage known that is about to be overwritten completely."""
        if not self.follows(tensor) or is_known(tensor) or not self.is_small(tensor):
            return
        if covers(tensor):
            zeros = torch.zeros((), dtype=tensor.dtype)
            self.quietly(keep, tensor, zeros, set())
