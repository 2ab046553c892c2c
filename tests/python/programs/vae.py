import argparse
import torch
import torch.utils.data
from torch import nn, optim
from torch.nn import functional as F

parser = argparse.ArgumentParser(description="VAE example")
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--latent", type=int, default=8)
args = parser.parse_args()
torch.manual_seed(1)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

# Pictures of two kinds: their upper or their lower half is bright.
kinds = torch.randint(0, 2, (192, 1, 1, 1)).float()
rows = (torch.arange(28) < 14).float().view(1, 1, 28, 1)
images = (kinds * rows + (1 - kinds) * (1 - rows)).expand(-1, -1, -1, 28)
images = torch.clamp(images + 0.1 * torch.randn_like(images), 0.0, 1.0)
dataset = torch.utils.data.TensorDataset(images, kinds.flatten().long())
train_set, test_set = torch.utils.data.random_split(dataset, [160, 32])
train_loader = torch.utils.data.DataLoader(train_set, batch_size=args.batch_size, shuffle=True, pin_memory=True)
test_loader = torch.utils.data.DataLoader(test_set, batch_size=args.batch_size)


class VAE(nn.Module):
    def __init__(self, latent):
        super(VAE, self).__init__()
        self.fc1 = nn.Linear(784, 128)
        self.fc21 = nn.Linear(128, latent)
        self.fc22 = nn.Linear(128, latent)
        self.fc3 = nn.Linear(latent, 128)
        self.fc4 = nn.Linear(128, 784)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        return torch.sigmoid(self.fc4(h3))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 784))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 784), reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


model = VAE(args.latent).to(device)
optimizer = optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(1, args.epochs + 1):
    model.train()
    train_loss = 0
    for batch_idx, (data, _) in enumerate(train_loader):
        data = data.to(device, non_blocking=True)
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(data)
        loss = loss_function(recon_batch, data, mu, logvar)
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
    print("====> Epoch: {} Average loss: {:.4f}".format(epoch, train_loss / len(train_loader.dataset)))
    model.eval()
    test_loss = 0
    with torch.no_grad():
        for i, (data, _) in enumerate(test_loader):
            data = data.to(device)
            recon_batch, mu, logvar = model(data)
            test_loss += loss_function(recon_batch, data, mu, logvar).item()
            if i == 0:
                n = min(data.size(0), 8)
                comparison = torch.cat([data[:n], recon_batch.view(-1, 1, 28, 28)[:n]])
    print("====> Test set loss: {:.4f}".format(test_loss / len(test_loader.dataset)))

with torch.no_grad():
    sample = model.decode(torch.randn(4, args.latent).to(device)).cpu()
print(comparison.shape, sample.view(4, 1, 28, 28).shape)
print(f"{torch.cuda.max_memory_allocated() / 2**20:.2f} MiB at most")
