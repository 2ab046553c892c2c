"""A data set of one's own, workers, pinned memory and prefetching."""
#%%
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler, random_split


class Circles(Dataset):
    """Points on two rings."""

    def __init__(self, n=200, transform=None):
        generator = torch.Generator().manual_seed(1)
        angle = torch.rand(n, generator=generator) * 6.283
        self.labels = torch.randint(0, 2, (n,), generator=generator)
        radius = 1.0 + self.labels.float()
        self.points = torch.stack(
            [radius * torch.cos(angle), radius * torch.sin(angle)], dim=1
        )
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, idx):
        if torch.is_tensor(idx):
            idx = idx.tolist()
        sample = {"point": self.points[idx], "label": int(self.labels[idx])}
        if self.transform:
            sample = self.transform(sample)
        return sample


class Jitter:
    def __call__(self, sample):
        noise = 0.01 * torch.randn(2)
        return {"point": sample["point"] + noise, "label": sample["label"]}


def seed_worker(worker_id):
    random.seed(worker_id)


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
dataset = Circles(transform=Jitter())
train_set, val_set = random_split(
    dataset, [0.8, 0.2], generator=torch.Generator().manual_seed(42)
)
counts = torch.bincount(dataset.labels, minlength=2).float()
weights = (1.0 / counts)[dataset.labels[torch.tensor(train_set.indices)]]
sampler = WeightedRandomSampler(weights, num_samples=len(train_set), replacement=True)

train_loader = DataLoader(
    train_set,
    batch_size=32,
    sampler=sampler,
    num_workers=2,
    pin_memory=True,
    persistent_workers=True,
    prefetch_factor=2,
    worker_init_fn=seed_worker,
    drop_last=True,
)
val_loader = DataLoader(val_set, batch_size=32, num_workers=2, pin_memory=True)


#%% a model and its training
model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1)).to(device)
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)


def evaluate():
    model.eval()
    total, right, loss = 0, 0, 0.0
    with torch.no_grad():
        for batch in val_loader:
            x = batch["point"].to(device, non_blocking=True)
            y = batch["label"].to(device, non_blocking=True).float().unsqueeze(1)
            logits = model(x)
            loss += criterion(logits, y).item()
            right += ((torch.sigmoid(logits) > 0.5) == (y > 0.5)).sum().item()
            total += y.size(0)
    return loss / len(val_loader), right / total


for epoch in range(6):
    model.train()
    for batch in train_loader:
        assert batch["point"].is_pinned() or device.type == "cpu"
        x = batch["point"].to(device, non_blocking=True)
        y = batch["label"].to(device, non_blocking=True)
        optimizer.zero_grad()
        loss = criterion(model(x).squeeze(), y.float())
        loss.backward()
        optimizer.step()
    val_loss, accuracy = evaluate()
    scheduler.step(val_loss)
    print(f"epoch {epoch}: val loss {val_loss:.3f}, accuracy {accuracy:.2f}")
assert accuracy > 0.6


#%% batches of different lengths
def collate(batch):
    lengths = torch.tensor([len(item) for item in batch])
    return nn.utils.rnn.pad_sequence(batch, batch_first=True), lengths


lists = [torch.arange(n) for n in range(1, 9)]
for padded, lengths in DataLoader(lists, batch_size=4, collate_fn=collate):
    mask = torch.arange(padded.size(1))[None, :] < lengths[:, None]
    assert padded[~mask].sum() == 0
    print(tuple(padded.shape), mask.sum().item())


#%% prefetching on a stream of its own
class Prefetcher:
    def __init__(self, loader):
        self.loader = iter(loader)
        self.stream = torch.cuda.Stream()
        self.preload()

    def preload(self):
        try:
            self.batch = next(self.loader)
        except StopIteration:
            self.batch = None
            return
        with torch.cuda.stream(self.stream):
            self.batch = {k: v.cuda(non_blocking=True) for k, v in self.batch.items()}

    def next(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        batch = self.batch
        if batch is not None:
            for tensor in batch.values():
                tensor.record_stream(torch.cuda.current_stream())
            self.preload()
        return batch


if device.type == "cuda":
    prefetcher = Prefetcher(val_loader)
    batches = 0
    batch = prefetcher.next()
    while batch is not None:
        batches += 1
        batch = prefetcher.next()
    assert batches == len(val_loader)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    model(torch.randn(1000, 2, device=device))
    end.record()
    torch.cuda.synchronize()
    assert start.elapsed_time(end) >= 0
print("done")
