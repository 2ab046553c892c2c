import torch
import torch.nn as nn
import torch.nn.functional as F

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        )
        self.classifier = nn.Linear(32, classes)
        self.gradients = None

    def activations_hook(self, grad):
        self.gradients = grad

    def forward(self, x):
        x = self.features(x)
        if x.requires_grad:
            x.register_hook(self.activations_hook)
        self.activations = x.detach()
        return self.classifier(F.adaptive_avg_pool2d(x, 1).flatten(1))


model = Net().to(device)
norms = {}
for name, p in model.named_parameters():
    p.register_hook(lambda grad, name=name: norms.setdefault(name, []).append(grad.norm().item()))
handle = model.classifier.weight.register_hook(lambda grad: grad.clamp(-0.01, 0.01))

optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
images, labels = torch.randn(16, 3, 32, 32, device=device), torch.randint(0, 4, (16,), device=device)
for step in range(4):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
print("clamped", model.classifier.weight.grad.abs().max().item() <= 0.0101)
handle.remove()

model.eval()
optimizer.zero_grad()
logits = model(images[:1])
logits[0, logits.argmax(dim=1)].sum().backward()
print("free", model.classifier.weight.grad.abs().max().item() > 0.0101)
weights = model.gradients.mean(dim=[2, 3], keepdim=True)
cam = F.relu((weights * model.activations).sum(dim=1, keepdim=True))
cam = F.interpolate(cam, size=(32, 32), mode="bilinear", align_corners=False)
print(cam.shape, len(norms), all(len(seen) == 5 for seen in norms.values()))
