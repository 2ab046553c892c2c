"""A graph network of PyTorch Geometric on batches of graphs.
Needs: torch_geometric.
Goes by: edges that are no loops."""

import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, global_mean_pool


def graph():
    edges = torch.randint(60, (2, 240))
    return Data(x=torch.randn(60, 32), edge_index=edges, y=torch.randint(4, (1,)))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = GCNConv(32, 128)
        self.second = GATConv(128, 64, heads=4)
        self.last = torch.nn.Linear(256, 4)

    def forward(self, batch):
        x = self.first(batch.x, batch.edge_index).relu()
        x = self.second(x, batch.edge_index).relu()
        return self.last(global_mean_pool(x, batch.batch, batch.num_graphs))


torch.manual_seed(0)
loader = DataLoader([graph() for _ in range(64)], batch_size=16, shuffle=True)
model = Net().cuda()
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
right = 0
for _ in range(2):
    for batch in loader:
        batch = batch.to("cuda")
        result = model(batch)
        torch.nn.functional.cross_entropy(result, batch.y).backward()
        optimizer.step()
        optimizer.zero_grad()
        right += int((result.argmax(1) == batch.y).sum())
