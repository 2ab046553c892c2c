"""A DataLoader with workers and pinned memory."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, at):
        return torch.full((8,), float(at)), at % 3


if __name__ == "__main__":
    loader = DataLoader(Pairs(), batch_size=16, shuffle=True, num_workers=2, pin_memory=True)
    model = nn.Linear(8, 3).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    seen = 0
    for x, y in loader:
        x, y = x.to("cuda", non_blocking=True), y.to("cuda", non_blocking=True)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen += len(x)
    print("seen", seen)
