import random
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import Dataset, DataLoader

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
random.seed(0)
torch.manual_seed(0)


class PairDataset(Dataset):
    def __init__(self, images, labels):
        self.images, self.labels = images, labels
        self.by_label = {c: [i for i, l in enumerate(labels.tolist()) if l == c] for c in set(labels.tolist())}

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        anchor, label = self.images[index], int(self.labels[index])
        same = random.random() < 0.5
        if same:
            other = random.choice(self.by_label[label])
        else:
            other = random.choice(self.by_label[random.choice([c for c in self.by_label if c != label])])
        return anchor, self.images[other], torch.tensor(float(same))


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 32, 5), nn.BatchNorm2d(32), nn.PReLU(), nn.MaxPool2d(2, stride=2), nn.Dropout2d(0.1),
            nn.Conv2d(32, 64, 5), nn.BatchNorm2d(64), nn.PReLU(), nn.MaxPool2d(2, stride=2), nn.Dropout2d(0.1),
        )
        self.fc = nn.Sequential(nn.Flatten(), nn.Linear(64 * 4 * 4, 256), nn.ReLU(inplace=True), nn.Linear(256, 64))

    def forward_once(self, x):
        return F.normalize(self.fc(self.cnn(x)), p=2, dim=1)

    def forward(self, a, b):
        return self.forward_once(a), self.forward_once(b)


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=1.0):
        super().__init__()
        self.margin = margin

    def forward(self, out1, out2, same):
        distance = F.pairwise_distance(out1, out2)
        loss = same * distance.pow(2) + (1 - same) * torch.clamp(self.margin - distance, min=0.0).pow(2)
        return loss.mean()


images = torch.randn(64, 1, 28, 28)
labels = torch.randint(0, 4, (64,))
loader = DataLoader(PairDataset(images, labels), batch_size=16, shuffle=True, num_workers=0, drop_last=True)
net = SiameseNetwork().to(device)
criterion = ContrastiveLoss()
optimizer = optim.Adam(net.parameters(), lr=5e-4, weight_decay=1e-5)
scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.9)

for epoch in range(2):
    net.train()
    running = 0.0
    for a, b, same in loader:
        a, b, same = a.to(device), b.to(device), same.to(device)
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(*net(a, b), same)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        running += loss.item()
    scheduler.step()
    print(f"epoch {epoch + 1}: loss {running / len(loader):.4f} lr {scheduler.get_last_lr()[0]:.6f}")

net.eval()
with torch.no_grad():
    e1, e2 = net(images[:8].to(device), images[8:16].to(device))
    print("distances", [f"{d:.2f}" for d in F.pairwise_distance(e1, e2).cpu().tolist()])
    print("cosine", F.cosine_similarity(e1, e2).shape)
print(f"peak {torch.cuda.max_memory_allocated() / 1024**2:.1f} MiB")
