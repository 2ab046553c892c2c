"""PPO: episodes of many environments, advantages, several passes over them.
Goes by: policies that are checked."""

import torch
from torch.distributions import Categorical

nn = torch.nn


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(16, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh())
        self.actor, self.critic = nn.Linear(256, 6), nn.Linear(256, 1)

    def forward(self, x):
        x = self.body(x)
        return Categorical(logits=self.actor(x)), self.critic(x).squeeze(-1)


def step(actions):
    """The environments, which are on the host."""
    return torch.randn(len(actions), 16), torch.rand(len(actions))


agent = Agent().cuda()
optimizer = torch.optim.Adam(agent.parameters(), 3e-4, eps=1e-5)
seen = torch.randn(32, 16).cuda()
for _ in range(3):
    kept = []
    for _ in range(16):
        with torch.no_grad():
            policy, value = agent(seen)
            action = policy.sample()
        after, reward = step(action.cpu().numpy())
        kept.append((seen, action, policy.log_prob(action), value, reward.cuda()))
        seen = after.cuda()
    states, actions, logs, values, rewards = [torch.stack(one) for one in zip(*kept)]
    gains, last = torch.zeros_like(rewards), 0
    for at in reversed(range(15)):
        delta = rewards[at] + 0.99 * values[at + 1] - values[at]
        gains[at] = last = delta + 0.99 * 0.95 * last
    flat = [one.flatten(0, 1) for one in (states, actions, logs, gains, gains + values)]
    for _ in range(2):
        for some in torch.randperm(512).cuda().split(128):
            state, action, log, gain, wanted = [one[some] for one in flat]
            policy, value = agent(state)
            ratio = (policy.log_prob(action) - log).exp()
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            chosen = torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
            loss = (value - wanted).square().mean() / 2 - chosen - 0.01 * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
