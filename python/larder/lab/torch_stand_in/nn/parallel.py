"""torch.nn.parallel: with one device, the model itself."""

from larder.lab.failures import gate
from larder.lab.torch_stand_in.nn.module import Module


class DataParallel(Module):
    """The model on all devices, of which there is one."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module = module
        self.device_ids = [0] if device_ids is None else device_ids

    def forward(self, *arguments, **named):
        return self.module(*arguments, **named)


__getattr__ = gate("torch.nn.parallel", globals())
