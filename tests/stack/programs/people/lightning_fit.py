"""A module of Lightning is trained in mixed precision, and validated.
Needs: lightning."""

import lightning
import torch
from torch.utils.data import DataLoader, TensorDataset

nn = torch.nn


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(64 * 196, 10),
        )

    def training_step(self, batch, at):
        images, labels = batch
        loss = nn.functional.cross_entropy(self.net(images), labels)
        self.log("loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, at):
        images, labels = batch
        right = (self.net(images).argmax(1) == labels).float().mean()
        self.log("right", right)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 1e-3)


def batches(count, size):
    images, labels = torch.randn(count, 1, 28, 28), torch.randint(10, (count,))
    return DataLoader(TensorDataset(images, labels), batch_size=size)


trainer = lightning.Trainer(
    max_epochs=2, accelerator="gpu", devices=1, precision="16-mixed", logger=False,
    enable_checkpointing=False, gradient_clip_val=1.0, enable_progress_bar=False,
)
trainer.fit(Classifier(), batches(128, 32), batches(128, 64))
