"""Operations whose backward is written in Python, here or by a listing."""

import ctypes
from ctypes import byref, c_int, c_void_p

from larder._library import Function as _Struct
from larder._library import library
from larder.lab import callbacks
from larder.lab.failures import check, not_covered, raised_inside
from larder.lab.sessions import opened
from larder.lab.tensors import Tensor, array_of, handle, optional, wrap

_Backward = ctypes.PYFUNCTYPE(
    c_int,
    c_void_p,
    ctypes.POINTER(c_void_p),
    ctypes.POINTER(c_void_p),
    ctypes.POINTER(c_void_p),
)


def _tensor(h):
    return None if not h else wrap(library.lab_ref(h))


@_Backward
def _run_backward(number, saved, grads, results):
    try:
        backward, inputs, outputs, saves = callbacks.held[number]
        found = backward(
            [_tensor(grads[i]) for i in range(outputs)],
            [_tensor(saved[i]) for i in range(saves)],
        )
        for i, result in enumerate(found[:inputs]):
            if result is not None:
                results[i] = library.lab_ref(handle(result))
        return 0
    except BaseException as error:
        return raised_inside(error)


_run_backward_address = ctypes.cast(_run_backward, c_void_p)
_release_address = ctypes.cast(callbacks.release, c_void_p)


def recorded(tensors):
    """Whether an operation on these tensors is recorded for backward."""
    return library.lab_grad_enabled(opened()) and any(
        t is not None and library.lab_requires_grad(t._h) for t in tensors
    )


def record(name, inputs, outputs, saved, backward):
    """Record that `outputs` were computed from `inputs`. backward(grads,
    saved) returns a gradient, or None, for each input.  It must not hold
    tensors itself: they would live as long as the graph."""
    number = callbacks.keep((backward, len(inputs), len(outputs), len(saved)))
    arrays = [array_of(some, optional) for some in (inputs, outputs, saved)]
    what = _Struct(
        ctypes.sizeof(_Struct),
        name.encode(),
        _run_backward_address,
        number,
        _release_address,
        len(inputs),
        len(outputs),
        len(saved),
        *(ctypes.cast(array, c_void_p) for array in arrays),
    )
    check(library.lab_function_record(opened(), byref(what)))


def made(name, out, inputs, saved, backward):
    """`out`, a new tensor or one that was changed in place, recorded for backward
    if needed."""
    if recorded(inputs):
        record(name, inputs, (out,), saved, backward)
    return out


def made_of(name, out, input, rule, *saved):
    """The same of one input, whose gradient is rule(gradient, *saved)."""
    return made(
        name, out, (input,), saved, lambda grads, kept: (rule(grads[0], *kept),)
    )


def named(name, function):
    """The function under a name of its own."""
    function.__name__ = function.__qualname__ = name
    return function


def check_writable(name, tensor):
    """Raise RuntimeError for an in-place change of a leaf that requires a
    gradient."""
    if (
        library.lab_grad_enabled(opened())
        and tensor.requires_grad
        and tensor.is_leaf
    ):
        raise RuntimeError(
            f"{name}: a leaf that requires grad is being used in an in-place operation"
        )


# ---- torch.autograd.Function ----


class Context:
    """Data that forward() passes to backward()."""

    def __init__(self, needs):
        self.needs_input_grad = needs
        self._saved = ()
        self._given = None
        self._plain = ()

    def save_for_backward(self, *tensors):
        self._saved = tensors

    @property
    def saved_tensors(self):
        return tuple(self._saved if self._given is None else self._given)

    def mark_non_differentiable(self, *tensors):
        self._plain = tuple(id(tensor) for tensor in tensors)

    def mark_dirty(self, *tensors):
        """No effect: tensors changed in place are recognized when they are
        returned."""

    def set_materialize_grads(self, value):
        """No effect: missing gradients are always None here."""


def _as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


class Function:
    """A custom operation with forward() and backward(), called by apply()."""

    @staticmethod
    def forward(ctx, *arguments):
        raise NotImplementedError("a Function needs a forward()")

    @staticmethod
    def backward(ctx, *grads):
        raise NotImplementedError("a Function needs a backward()")

    @classmethod
    def _forward(cls, ctx, arguments):
        setup = getattr(cls, "setup_context", None)
        if setup is None:
            return cls.forward(ctx, *arguments)
        output = cls.forward(*arguments)
        setup(ctx, arguments, output)
        return output

    @classmethod
    def apply(cls, *arguments):
        tensors = [a if isinstance(a, Tensor) else None for a in arguments]
        needs = tuple(t is not None and t.requires_grad for t in tensors)
        ctx = Context(needs)
        was = library.lab_set_grad_enabled(opened(), False)
        try:
            output = cls._forward(ctx, arguments)
        finally:
            library.lab_set_grad_enabled(opened(), was)
        outputs = _as_tuple(output)
        if not recorded(tensors):
            return output
        outputs = tuple(cls._own(one, arguments) for one in outputs)
        cls._record(ctx, tensors, outputs)
        return outputs if isinstance(output, tuple) else outputs[0]

    @staticmethod
    def _own(output, arguments):
        """An output that is an input, as a new tensor."""
        if any(output is one for one in arguments) and not (
            isinstance(output, Tensor) and not output.is_leaf
        ):
            return output.detach() if isinstance(output, Tensor) else output
        return output

    @classmethod
    def _record(cls, ctx, tensors, outputs):
        differentiable = [
            one
            if isinstance(one, Tensor)
            and one.is_floating_point()
            and id(one) not in ctx._plain
            else None
            for one in outputs
        ]
        saved, ctx._saved = ctx._saved, ()

        def backward(grads, kept):
            ctx._given = kept
            try:
                return list(_as_tuple(cls.backward(ctx, *grads)))
            finally:
                ctx._given = None

        record(
            f"{cls.__name__}Backward",
            tensors,
            differentiable,
            saved,
            backward,
        )


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    allow_unused=None,
):
    """torch.autograd.grad() for one output."""
    if create_graph:
        raise not_covered("grad's create_graph=True", ["False"])
    outputs = _as_tuple(outputs if not isinstance(outputs, list) else
                        tuple(outputs))
    if len(outputs) != 1:
        raise not_covered(f"grad of {len(outputs)} outputs", ["one"])
    if isinstance(inputs, Tensor):
        inputs = (inputs,)
    start = grad_outputs
    if isinstance(start, (tuple, list)):
        (start,) = start
    found = (c_void_p * len(inputs))()
    check(
        library.lab_gradients(
            handle(outputs[0]),
            optional(start),
            bool(retain_graph),
            array_of(inputs, optional),
            len(inputs),
            found,
        )
    )
    grads = tuple(wrap(h) if h else None for h in found)
    if not allow_unused and any(one is None for one in grads):
        raise RuntimeError(
            "one of the inputs does not appear to have been used in the graph; set "
            "allow_unused=True if this is intended"
        )
    return grads
