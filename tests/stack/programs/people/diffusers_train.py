"""A UNet of diffusers learns to take noise away.
Needs: diffusers."""

import torch
from diffusers import DDPMScheduler, UNet2DModel

model = UNet2DModel(
    sample_size=32, in_channels=3, out_channels=3, layers_per_block=1,
    block_out_channels=(64, 128), norm_num_groups=16,
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
).cuda()
scheduler = DDPMScheduler(num_train_timesteps=1000)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for _ in range(3):
    images = torch.rand(8, 3, 32, 32).cuda() * 2 - 1
    noise = torch.randn_like(images)
    times = torch.randint(0, 1000, (8,), device="cuda").long()
    noisy = scheduler.add_noise(images, noise, times)
    guessed = model(noisy, times, return_dict=False)[0]
    loss = torch.nn.functional.mse_loss(guessed, noise)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
