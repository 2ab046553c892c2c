"""`larder run`: runs a PyTorch program on a simulated GPU.

Its tensors have shapes but no values; each of their storages is an allocation
of Larder. docs/FIT.md says how far the result matches a real run.

Called, it is `larder fit`: larder.fit("oom.pickle", gpu="rtx4090").
"""

import sys
import types


class _Callable(types.ModuleType):
    # The name was this package's before it was a function's, and programs and
    # the command start it by that name.
    def __call__(self, source, *more, **options):
        from larder._asking import fit

        return fit(source, *more, **options)


sys.modules[__name__].__class__ = _Callable
