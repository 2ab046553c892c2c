"""torch.backends.cudnn"""

from larder.lab.failures import gate

benchmark = False
deterministic = False
enabled = True
allow_tf32 = True


def version():
    return 90100


def is_available():
    return True


__getattr__ = gate(
    "torch.backends.cudnn",
    globals(),
    "allow_tf32 benchmark deterministic enabled",
)
