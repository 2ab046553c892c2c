"""Gradients of several batches are added up; the last ones are fewer."""

import torch
from torch.utils.data import DataLoader, TensorDataset

nn = torch.nn
layer = nn.TransformerEncoderLayer(256, 8, 512, batch_first=True, norm_first=True)
model = nn.Sequential(nn.TransformerEncoder(layer, 3, enable_nested_tensor=False),
                      nn.Linear(256, 40)).cuda()
optimizer = torch.optim.NAdam(model.parameters(), 1e-3)
data = TensorDataset(torch.randn(42, 64, 256), torch.randint(40, (42, 64)))
loader = DataLoader(data, batch_size=4)
running = 0.0
for at, (x, labels) in enumerate(loader, 1):
    result = model(x.to("cuda"))
    loss = nn.functional.cross_entropy(result.flatten(0, 1), labels.cuda().flatten())
    (loss / 4).backward()
    running += loss.item()
    if at % 4 == 0 or at == len(loader):
        nn.utils.clip_grad_value_(model.parameters(), 0.5)
        optimizer.step()
        optimizer.zero_grad()
print(running / len(loader))
