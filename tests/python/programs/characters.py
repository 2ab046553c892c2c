import torch
import torch.nn as nn

text = "to be or not to be that is the question whether tis nobler in the mind to suffer " * 40
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
itos = {i: c for c, i in stoi.items()}
data = torch.tensor([stoi[c] for c in text], dtype=torch.long)

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(1337)
seq_len, batch_size, hidden = 16, 8, 32


def get_batch():
    ix = torch.randint(len(data) - seq_len - 1, (batch_size,))
    x = torch.stack([data[i:i + seq_len] for i in ix])
    y = torch.stack([data[i + 1:i + seq_len + 1] for i in ix])
    return x.to(device), y.to(device)


class CharRNN(nn.Module):
    def __init__(self, vocab, hidden, layers=2):
        super().__init__()
        self.hidden, self.layers = hidden, layers
        self.embed = nn.Embedding(vocab, hidden)
        self.rnn = nn.GRU(hidden, hidden, layers, batch_first=True, dropout=0.2)
        self.norm = nn.LayerNorm(hidden)
        self.head = nn.Linear(hidden, vocab)

    def forward(self, x, h=None):
        out, h = self.rnn(self.embed(x), h)
        return self.head(self.norm(out)), h

    def init_hidden(self, batch):
        weight = next(self.parameters())
        return weight.new_zeros(self.layers, batch, self.hidden)


model = CharRNN(len(chars), hidden).to(device)
print(sum(p.numel() for p in model.parameters() if p.requires_grad), "parameters")
optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
loss_fn = nn.CrossEntropyLoss()
h = model.init_hidden(batch_size)
for step in range(20):
    x, y = get_batch()
    h = h.detach()
    logits, h = model(x, h)
    loss = loss_fn(logits.reshape(-1, len(chars)), y.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(model.parameters(), 0.5)
    optimizer.step()
    if step % 5 == 0:
        print(step, loss.item())


@torch.no_grad()
def sample(prompt, length=8, temperature=0.8):
    model.eval()
    h = None
    x = torch.tensor([[stoi[c] for c in prompt]], device=device)
    out = list(prompt)
    for _ in range(length):
        logits, h = model(x, h)
        probs = torch.softmax(logits[:, -1] / temperature, dim=-1)
        x = torch.multinomial(probs, num_samples=1)
        out.append(itos[x.item()])
    return "".join(out)


print(sample("to be "))
print(torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated())
