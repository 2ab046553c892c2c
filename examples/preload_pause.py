# A GPU that two programs use in turn.  Start it so:
#   LD_PRELOAD=liblarder_preload.so LARDER_PRELOAD=limit,pause python3 ...
import larder.preload
import torch

weights = torch.randn(4096, 4096, device="cuda")
larder.preload.pause()  # the memory is others' now; a copy is on the host
larder.preload.resume()  # the same addresses, the same contents
print(weights.sum(), larder.preload.stats())
