"""vit.py PRECISION BATCH PARTS OPTIMIZER - ViT-L/16 learns ten classes, four steps
and a validation.  PRECISION is fp32, mixed (float16 under autocast) or bf16."""

import sys

import torch
from torchvision.models import vit_l_16

precision, batch, parts, name = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
dtype = torch.bfloat16 if precision == "bf16" else torch.float32
model = vit_l_16()
model.heads.head = torch.nn.Linear(1024, 10)
model.to("cuda").to(dtype)
make = torch.optim.Adam if name == "adam" else torch.optim.SGD
optimizer = make(model.parameters(), lr=5e-5)
scaler = torch.amp.GradScaler("cuda", enabled=precision == "mixed")


def run(images):
    with torch.autocast("cuda", torch.float16, enabled=precision == "mixed"):
        return model(images.to(dtype)).float()


def examples():
    return torch.randn(batch, 3, 224, 224).to("cuda"), torch.zeros(batch).long().to("cuda")


for index in range(3 * parts + 1):
    model.train()
    images, classes = examples()
    logits = run(images)
    loss = torch.nn.functional.cross_entropy(logits, classes) / parts
    if parts == 1:
        optimizer.zero_grad()
    scaler.scale(loss).backward()
    if index % parts == 0:
        scaler.step(optimizer)
        scaler.update()
        if parts > 1:
            optimizer.zero_grad()
model.eval()
with torch.no_grad():
    for _ in range(3):
        images, classes = examples()
        out = run(images)
print("reserved", torch.cuda.max_memory_reserved())
