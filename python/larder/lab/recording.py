"""Switches recording for backward on and off, and checkpoints."""

import functools
import warnings

from larder.lab.failures import not_covered
from larder.lab.functions import record
from larder.lab.randomness import restore, state
from larder.lab.sessions import session
from larder.lab.tensors import Tensor


def is_grad_enabled():
    return session().grad_enabled()


class _Switch:
    """Switches recording on or off; a context manager or decorator."""

    _on = None

    def __enter__(self):
        self._was = session().set_grad_enabled(self._on)
        return self

    def __exit__(self, *error):
        session().set_grad_enabled(self._was)

    def __call__(self, function):
        on = self._on

        @functools.wraps(function)
        def switched(*arguments, **named):
            was = session().set_grad_enabled(on)
            try:
                return function(*arguments, **named)
            finally:
                session().set_grad_enabled(was)

        return switched


class _Bare(_Switch):
    """A switch that can also be used as a decorator without parentheses."""

    def __new__(cls, function=None):
        made = object.__new__(cls)
        return made if function is None else made(function)

    def __init__(self, function=None):
        pass


class no_grad(_Bare):
    _on = False


class enable_grad(_Bare):
    _on = True


class inference_mode(_Bare):
    """Like no_grad(): what PyTorch saves in addition is not memory."""

    _on = False

    def __new__(cls, mode=True):
        if callable(mode):
            return super().__new__(cls, mode)
        return object.__new__(cls)

    def __init__(self, mode=True):
        self._on = not mode


class set_grad_enabled(_Switch):
    """Takes effect at once; used as a context manager, until the end of the
    `with`."""

    def __init__(self, mode):
        self._on = bool(mode)
        self._was = session().set_grad_enabled(self._on)

    def __enter__(self):
        return self

    def __call__(self, function):
        session().set_grad_enabled(self._was)
        return super().__call__(function)


# ---- checkpoints ----


def checkpoint(
    function,
    *args,
    use_reentrant=None,
    context_fn=None,
    preserve_rng_state=True,
    determinism_check="default",
    debug=False,
    **kwargs,
):
    """Run function(*args) and keep only its inputs; backward runs it again."""
    if context_fn is not None:
        raise not_covered("checkpoint's context_fn", ["None"])
    wanted = any(isinstance(one, Tensor) and one.requires_grad for one in args)
    if not wanted and use_reentrant is not False:
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None"
        )
    return _checkpointed(
        function, args, kwargs, use_reentrant is False, preserve_rng_state
    )


def _wants_gradients(function):
    """Whether the function's own parameters require gradients.  This is known
    only for modules; other functions have to run first."""
    parameters = getattr(function, "parameters", None)
    return parameters is None or any(p.requires_grad for p in parameters())


def _backward_from(results, grads):
    """Run backward from several tensors, one after another, keeping shared
    parts of the graph until the last."""
    roots = [
        (result, grad)
        for result, grad in zip(results, grads)
        if grad is not None and result.requires_grad
    ]
    for number, (result, grad) in enumerate(roots, 1):
        result.backward(grad, retain_graph=number < len(roots))


def _checkpointed(function, args, kwargs, by_inner, keeps_random):
    """The outputs as one operation that saves all inputs.  With `by_inner`, tensors
    inside that require gradients count as inputs."""
    tensors = [one for one in args if isinstance(one, Tensor)]
    is_tensor = [isinstance(one, Tensor) for one in args]
    plain = [None if isinstance(one, Tensor) else one for one in args]
    wants = [one.requires_grad for one in tensors]
    random = state()
    with no_grad():
        out = function(*args, **kwargs)
    outs = out if isinstance(out, tuple) else (out,)
    if not all(isinstance(one, Tensor) for one in outs):
        raise not_covered(
            "checkpoint of other results", ["a tensor, a tuple of them"]
        )

    def again(saved):
        leaves = [one.detach() for one in saved]
        for leaf, wanted in zip(leaves, wants):
            leaf.requires_grad_(wanted)
        given = iter(leaves)
        full = [
            next(given) if there else one
            for there, one in zip(is_tensor, plain)
        ]
        return leaves, function(*full, **kwargs)

    def backward(grads, saved):
        now = state()
        if keeps_random:
            restore(random)
        with enable_grad():
            leaves, result = again(saved)
        restore(now)
        results = result if isinstance(result, tuple) else (result,)
        del result
        _backward_from(results, grads)
        return [leaf.grad for leaf in leaves] + [None]

    if is_grad_enabled():
        inner = None
        if by_inner and not any(wants) and _wants_gradients(function):
            # A number in host memory that requires a gradient for them.
            inner = Tensor([0.0]).requires_grad_()
        record(
            "CheckpointFunctionBackward",
            (*tensors, inner),
            outs,
            tensors,
            backward,
        )
    return out


def checkpoint_sequential(
    functions, segments, input, use_reentrant=None, **kwargs
):
    """Run a sequence in several segments, each except the last as a
    checkpoint."""
    functions = list(functions)
    size = len(functions) // segments

    def run(first, last):
        def piece(tensor):
            for function in functions[first:last]:
                tensor = function(tensor)
            return tensor

        return piece

    at = 0
    for _ in range(segments - 1):
        input = checkpoint(
            run(at, at + size), input, use_reentrant=use_reentrant, **kwargs
        )
        at += size
    return run(at, len(functions))(input)
