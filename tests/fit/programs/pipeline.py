"""The first stage of a pipeline: its part of the model, four parts of each batch."""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

WIDTH, ROWS, PARTS = 512, 64, 4

dist.init_process_group("nccl")
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
model = nn.Sequential(
    *[
        nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.ReLU(), nn.Linear(4 * WIDTH, WIDTH)
        )
        for _ in range(2)
    ]
).cuda()
data = torch.randn(ROWS, WIDTH, device="cuda")
part = data[: ROWS // PARTS]
stage = PipelineStage(
    model,
    rank,
    size,
    torch.device("cuda", 0),
    input_args=part,
    output_args=torch.empty_like(part, requires_grad=True),
)
kinds = {"gpipe": ScheduleGPipe, "1f1b": Schedule1F1B}
schedule = kinds[sys.argv[1]](
    stage, n_microbatches=PARTS, loss_fn=nn.functional.mse_loss
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    schedule.step(data)
    assert model[0][0].weight.grad.shape == (4 * WIDTH, WIDTH)
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
