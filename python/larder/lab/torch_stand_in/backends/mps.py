"""torch.backends.mps, which is not available."""

from larder.lab.failures import gate


def is_available():
    return False


def is_built():
    return False


__getattr__ = gate("torch.backends.mps", globals())
