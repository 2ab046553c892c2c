"""Deep Q-learning, which reads the best action from the GPU."""

import random

import torch

nn = torch.nn
model, target = [nn.Sequential(nn.Linear(8, 128), nn.ReLU(), nn.Linear(128, 4)).cuda() for _ in "ab"]
optimizer = torch.optim.Adam(model.parameters())
memory, state = [], torch.randn(8)
for step in range(60):
    with torch.no_grad():
        action = model(state.cuda()).argmax().item()
    after = torch.randn(8)
    memory.append((state, action, random.random(), after))
    state = after
    if step < 32:
        continue
    some = random.sample(memory, 32)
    states = torch.stack([one[0] for one in some]).cuda()
    actions = torch.tensor([one[1] for one in some], device="cuda")
    rewards = torch.tensor([one[2] for one in some], device="cuda")
    with torch.no_grad():
        best = target(torch.stack([one[3] for one in some]).cuda()).max(1).values
    values = model(states).gather(1, actions[:, None]).squeeze(1)
    nn.functional.smooth_l1_loss(values, rewards + 0.9 * best).backward()
    optimizer.step()
    optimizer.zero_grad()
target.load_state_dict(model.state_dict())
