"""torch.backends: switches without effect here."""

from larder.lab.failures import gate
from larder.lab.torch_stand_in.backends import cuda, cudnn, mps

__getattr__ = gate("torch.backends", globals(), "cuda cudnn mps")
