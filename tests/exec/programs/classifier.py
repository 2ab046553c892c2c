"""A convolutional network with cuDNN's benchmark, fed by worker processes."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.backends.cudnn.benchmark = True
torch.manual_seed(0)
images = TensorDataset(torch.randn(24, 3, 32, 32), torch.zeros(24).long())
loader = DataLoader(images, batch_size=8, num_workers=2, pin_memory=True)
model = nn.Sequential(
    nn.Conv2d(3, 16, 3),
    nn.BatchNorm2d(16),
    nn.ReLU(inplace=True),
    nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, groups=4),
    nn.Flatten(),
    nn.LazyLinear(10),
).cuda()
model(torch.zeros(1, 3, 32, 32, device="cuda"))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for _ in range(2):
    for batch, label in loader:
        loss = nn.functional.cross_entropy(model(batch.cuda()), label.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
torch.cuda.synchronize()
print("peak", torch.cuda.max_memory_allocated())
