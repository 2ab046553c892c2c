"""Workers load and augment; batches are pinned and copied as the GPU works.
Needs: torchvision."""

import torch
import torchvision
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import v2


class Pictures(Dataset):
    change = v2.Compose([v2.RandomHorizontalFlip(), v2.RandomCrop(56),
                         v2.ToDtype(torch.float32, scale=True)])

    def __len__(self):
        return 96

    def __getitem__(self, at):
        return self.change(torch.randint(256, (3, 64, 64), dtype=torch.uint8)), at % 10


if __name__ == "__main__":
    loader = DataLoader(Pictures(), batch_size=16, shuffle=True, num_workers=2,
                        pin_memory=True, persistent_workers=True, drop_last=True)
    model = torchvision.models.squeezenet1_1(num_classes=10).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.01, nesterov=True, momentum=0.9)
    for _ in range(2):
        for images, labels in loader:
            images = images.cuda(non_blocking=True)
            labels = labels.cuda(non_blocking=True)
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
