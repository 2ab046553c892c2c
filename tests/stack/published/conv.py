"""A convolution of float16 over images of growing width, its cache emptied each time."""

import torch

conv = torch.nn.Conv2d(256, 256, kernel_size=3, padding=1).half().to("cuda")
for width in (1024, 1152):
    # The old image lives until the new one is there, as the name is given again.
    image = torch.zeros((1, 256, 2048, width)).half().to("cuda")
    conv(image)
    print(f"allocated_{width}", torch.cuda.memory_allocated())
    print(f"reserved_{width}", torch.cuda.memory_reserved())
    torch.cuda.empty_cache()
