import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
content_img = torch.rand(1, 3, 64, 64, device=device)
style_img = torch.rand(1, 3, 64, 64, device=device)
input_img = content_img.clone()


class ContentLoss(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target = target.detach()

    def forward(self, input):
        self.loss = F.mse_loss(input, self.target)
        return input


def gram_matrix(input):
    a, b, c, d = input.size()
    features = input.view(a * b, c * d)
    return torch.mm(features, features.t()).div(a * b * c * d)


class StyleLoss(nn.Module):
    def __init__(self, target_feature):
        super().__init__()
        self.target = gram_matrix(target_feature).detach()

    def forward(self, input):
        self.loss = F.mse_loss(gram_matrix(input), self.target)
        return input


class Normalization(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.mean = mean.clone().detach().view(-1, 1, 1)
        self.std = std.clone().detach().view(-1, 1, 1)

    def forward(self, img):
        return (img - self.mean) / self.std


cnn = nn.Sequential(
    nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(inplace=True),
    nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2),
    nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(inplace=True),
).to(device).eval()

mean = torch.tensor([0.485, 0.456, 0.406], device=device)
std = torch.tensor([0.229, 0.224, 0.225], device=device)
model = nn.Sequential(Normalization(mean, std).to(device))
content_losses, style_losses = [], []
i = 0
for layer in cnn.children():
    if isinstance(layer, nn.Conv2d):
        i += 1
        name = f"conv_{i}"
    elif isinstance(layer, nn.ReLU):
        name = f"relu_{i}"
        layer = nn.ReLU(inplace=False)
    elif isinstance(layer, nn.MaxPool2d):
        name = f"pool_{i}"
    else:
        raise RuntimeError(f"Unrecognized layer: {layer.__class__.__name__}")
    model.add_module(name, layer)
    if name == "conv_2":
        loss = ContentLoss(model(content_img).detach())
        model.add_module(f"content_loss_{i}", loss)
        content_losses.append(loss)
    if name.startswith("conv"):
        loss = StyleLoss(model(style_img).detach())
        model.add_module(f"style_loss_{i}", loss)
        style_losses.append(loss)

input_img.requires_grad_(True)
model.eval()
model.requires_grad_(False)
optimizer = optim.Adam([input_img], lr=0.02)
for run in range(5):
    with torch.no_grad():
        input_img.clamp_(0, 1)
    optimizer.zero_grad()
    model(input_img)
    style_score = sum(sl.loss for sl in style_losses) * 1e6
    content_score = sum(cl.loss for cl in content_losses)
    (style_score + content_score).backward()
    optimizer.step()
    print(f"run {run}: style {style_score.item():.3f} content {content_score.item():.3f}")
with torch.no_grad():
    input_img.clamp_(0, 1)
print(input_img.shape, torch.cuda.max_memory_allocated())
