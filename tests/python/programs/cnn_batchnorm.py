"""A small convolutional network on made-up images, as a first course has it."""
#%% imports
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print("using", device)


#%% the model
class BasicBlock(nn.Module):
    def __init__(self, in_planes, planes, stride=1):
        super(BasicBlock, self).__init__()
        self.conv1 = nn.Conv2d(
            in_planes, planes, kernel_size=3, stride=stride, padding=1, bias=False
        )
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.shortcut = nn.Sequential()
        if stride != 1 or in_planes != planes:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_planes, planes, kernel_size=1, stride=stride, bias=False),
                nn.BatchNorm2d(planes),
            )

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)), inplace=True)
        out = self.bn2(self.conv2(out))
        out += self.shortcut(x)
        return F.relu(out)


class Net(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding="same", bias=False),
            nn.BatchNorm2d(16),
            nn.LeakyReLU(0.1),
            nn.MaxPool2d(3, stride=2, padding=1),
        )
        self.layer1 = BasicBlock(16, 16)
        self.layer2 = BasicBlock(16, 32, stride=2)
        self.depthwise = nn.Conv2d(32, 32, 3, padding=1, groups=32)
        self.pool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=0.2)
        self.fc = nn.Linear(32, num_classes)

    def forward(self, x):
        x = self.stem(x)
        x = self.layer1(x)
        x = self.layer2(x)
        x = F.silu(self.depthwise(x))
        x = self.pool(x)
        x = torch.flatten(x, 1)
        x = self.dropout(x)
        return self.fc(x)


model = Net().to(device)
print(model)
total = sum(p.numel() for p in model.parameters() if p.requires_grad)
print(f"{total:,} parameters")

#%% data
images = torch.randn(96, 3, 16, 16)
labels = (images.mean(dim=(1, 2, 3)) > 0).long()
train_loader = DataLoader(
    TensorDataset(images[:64], labels[:64]), batch_size=16, shuffle=True
)
test_loader = DataLoader(TensorDataset(images[64:], labels[64:]), batch_size=16)

#%% training
criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
optimizer = optim.SGD(
    model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4, nesterov=True
)
scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=3)

for epoch in range(3):
    model.train()
    running_loss, correct, seen = 0.0, 0, 0
    for i, (inputs, targets) in enumerate(train_loader):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
        running_loss += loss.item() * inputs.size(0)
        _, predicted = outputs.max(1)
        correct += predicted.eq(targets).sum().item()
        seen += targets.size(0)
    scheduler.step()
    print(
        f"epoch {epoch}: loss {running_loss / seen:.3f} "
        f"accuracy {100.0 * correct / seen:.1f}% lr {scheduler.get_last_lr()[0]:.4f}"
    )

#%% testing
model.eval()
test_loss = 0
correct = 0
with torch.no_grad():
    for data, target in test_loader:
        data, target = data.to(device), target.to(device)
        output = F.log_softmax(model(data), dim=1)
        test_loss += F.nll_loss(output, target, reduction="sum").item()
        pred = output.argmax(dim=1, keepdim=True)
        correct += pred.eq(target.view_as(pred)).sum().item()
test_loss /= len(test_loader.dataset)
print(f"test: loss {test_loss:.3f}, {correct}/{len(test_loader.dataset)}")
assert model.stem[1].num_batches_tracked.item() == 12
assert 0 <= correct <= 32
print("peak", torch.cuda.max_memory_allocated() if device.type == "cuda" else 0)
