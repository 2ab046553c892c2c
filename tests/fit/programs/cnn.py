"""A CNN with BatchNorm."""
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
assert device == "cuda"
model = nn.Sequential(
    nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(),
    nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Dropout(0.2), nn.Linear(1024, 10),
).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
for epoch in range(4):
    model.train()
    x = torch.randn(16, 3, 32, 32).to(device)
    y = torch.randint(0, 10, (16,)).to(device)
    out = model(x)
    loss = criterion(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    correct = (out.argmax(1) == y).sum().item()
    print(f"epoch {epoch} loss {loss.item():.4f} accuracy {correct / 16:.2f}")
model.eval()
with torch.no_grad():
    print(model(x).softmax(1).cpu().numpy().shape)
