"""A recurrent network that learns a sine, and one that reads words."""
#%%
import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")

#%% the data
t = torch.linspace(0, 20, 200)
series = torch.sin(t)
windows = torch.stack([series[i : i + 20] for i in range(170)]).unsqueeze(-1)
following = torch.stack([series[i + 20] for i in range(170)]).unsqueeze(-1)
print(windows.shape, following.shape)


#%% the model
class LSTMRegressor(nn.Module):
    def __init__(self, input_size=1, hidden_size=16, num_layers=2):
        super().__init__()
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.lstm = nn.LSTM(
            input_size, hidden_size, num_layers, batch_first=True, dropout=0.1
        )
        self.fc = nn.Linear(hidden_size, 1)

    def forward(self, x):
        h0 = torch.zeros(self.num_layers, x.size(0), self.hidden_size).to(x.device)
        c0 = torch.zeros(self.num_layers, x.size(0), self.hidden_size).to(x.device)
        out, (hn, cn) = self.lstm(x, (h0, c0))
        return self.fc(out[:, -1, :])


model = LSTMRegressor().to(device)
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
losses = []
for epoch in range(15):
    permutation = torch.randperm(windows.size(0))
    for i in range(0, windows.size(0), 85):
        indices = permutation[i : i + 85]
        x, y = windows[indices].to(device), following[indices].to(device)
        optimizer.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
    losses.append(loss.item())
print(f"first {losses[0]:.3f}, last {losses[-1]:.3f}")
assert losses[-1] < losses[0]


#%% words: a bidirectional GRU over padded sentences
class Classifier(nn.Module):
    def __init__(self, vocab, embed_dim=12, hidden=10, classes=2):
        super().__init__()
        self.embedding = nn.Embedding(vocab, embed_dim, padding_idx=0)
        self.gru = nn.GRU(embed_dim, hidden, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, classes)

    def forward(self, tokens):
        embedded = self.embedding(tokens)
        output, hidden = self.gru(embedded)
        hidden = torch.cat((hidden[-2], hidden[-1]), dim=1)
        return self.fc(hidden)


sentences = [torch.tensor([1, 2, 3]), torch.tensor([4, 5]), torch.tensor([6])]
padded = nn.utils.rnn.pad_sequence(sentences, padding_value=0)
assert padded.shape == (3, 3)
classifier = Classifier(8).to(device)
labels = torch.tensor([0, 1, 1], device=device)
optimizer = torch.optim.RMSprop(classifier.parameters(), lr=0.01)
for _ in range(3):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(classifier(padded.to(device)), labels)
    loss.backward()
    optimizer.step()
assert classifier.embedding.weight.grad[0].abs().sum().item() == 0
print(f"classifier: {loss.item():.3f}")

#%% step by step
cell = nn.LSTMCell(4, 6).to(device)
hx = torch.zeros(2, 6, device=device)
cx = torch.zeros(2, 6, device=device)
outputs = []
for step in torch.randn(5, 2, 4, device=device):
    hx, cx = cell(step, (hx, cx))
    outputs.append(hx)
outputs = torch.stack(outputs, dim=0)
outputs.pow(2).mean().backward()
assert cell.weight_ih.grad is not None

#%% a prediction, for a plot
model.eval()
with torch.inference_mode():
    predicted = model(windows[:10].to(device)).squeeze(1).cpu()
print([round(value, 1) for value in predicted.tolist()], predicted.dtype)
