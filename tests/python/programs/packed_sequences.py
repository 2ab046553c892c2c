"""Text classification with a packed bidirectional LSTM, then an actor-critic on the side."""
import random
import torch
import torch.nn as nn
import torch.optim as optim
import torch.nn.functional as F
from torch.distributions import Categorical
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader

SEED = 1234
random.seed(SEED)
torch.manual_seed(SEED)
torch.cuda.manual_seed_all(SEED)
torch.backends.cudnn.deterministic = True
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
VOCAB, PAD = 200, 0
samples = [(torch.randint(1, VOCAB, (random.randint(3, 20),)), float(random.random() > 0.5)) for _ in range(64)]


def collate_batch(batch):
    text_list, label_list, lengths = [], [], []
    for text, label in batch:
        label_list.append(label)
        text_list.append(text.clone().detach())
        lengths.append(text.size(0))
    return (pad_sequence(text_list, batch_first=True, padding_value=PAD),
            torch.tensor(label_list, dtype=torch.float32), torch.tensor(lengths, dtype=torch.int64))


class RNN(nn.Module):
    def __init__(self, vocab_size, embedding_dim, hidden_dim, output_dim, n_layers, bidirectional, dropout, pad_idx):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_dim, padding_idx=pad_idx)
        self.rnn = nn.LSTM(embedding_dim, hidden_dim, num_layers=n_layers, bidirectional=bidirectional, dropout=dropout)
        self.fc = nn.Linear(hidden_dim * 2, output_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, text, text_lengths):
        embedded = self.dropout(self.embedding(text))
        packed_embedded = pack_padded_sequence(embedded, text_lengths.to('cpu'), enforce_sorted=False)
        packed_output, (hidden, cell) = self.rnn(packed_embedded)
        output, output_lengths = pad_packed_sequence(packed_output)
        hidden = self.dropout(torch.cat((hidden[-2, :, :], hidden[-1, :, :]), dim=1))
        return self.fc(hidden), output


def binary_accuracy(preds, y):
    rounded_preds = torch.round(torch.sigmoid(preds))
    correct = (rounded_preds == y).float()
    return correct.sum() / len(correct)


loader = DataLoader(samples, batch_size=16, shuffle=True, collate_fn=collate_batch)
model = RNN(VOCAB, 32, 24, 1, 2, True, 0.5, PAD).to(device)
model.embedding.weight.data[PAD] = torch.zeros(32)
for name, param in model.named_parameters():
    if 'weight_hh' in name:
        nn.init.orthogonal_(param)
optimizer = optim.Adam(model.parameters())
criterion = nn.BCEWithLogitsLoss().to(device)
for epoch in range(2):
    epoch_loss = epoch_acc = 0
    model.train()
    for text, label, lengths in loader:
        text, label = text.to(device).t(), label.to(device)
        optimizer.zero_grad()
        predictions, output = model(text, lengths)
        predictions = predictions.squeeze(1)
        loss = criterion(predictions, label)
        acc = binary_accuracy(predictions, label)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.5)
        optimizer.step()
        epoch_loss += loss.item()
        epoch_acc += acc.item()
    print(f'Epoch: {epoch + 1:02} | Train Loss: {epoch_loss / len(loader):.3f} | Train Acc: {epoch_acc / len(loader) * 100:.2f}%')
print(output.shape[-1], (output.abs().sum(-1) == 0).any().item())


class Policy(nn.Module):
    def __init__(self):
        super(Policy, self).__init__()
        self.affine1 = nn.Linear(4, 128)
        self.action_head = nn.Linear(128, 2)
        self.value_head = nn.Linear(128, 1)
        self.saved_actions = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


policy = Policy().to(device)
opt = optim.Adam(policy.parameters(), lr=3e-2)
eps = torch.finfo(torch.float32).eps
for episode in range(3):
    for t in range(10):
        probs, state_value = policy(torch.randn(4, device=device))
        m = Categorical(probs)
        action = m.sample()
        policy.saved_actions.append((m.log_prob(action), state_value, m.entropy()))
        policy.rewards.append(float(action.item()))
    R, returns = 0, []
    for r in policy.rewards[::-1]:
        R = r + 0.99 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    policy_losses, value_losses, entropies = [], [], []
    for (log_prob, value, ent), R in zip(policy.saved_actions, returns):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage)
        value_losses.append(F.smooth_l1_loss(value, torch.tensor([R], device=device)))
        entropies.append(ent)
    opt.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum() - 0.01 * torch.stack(entropies).mean()
    loss.backward()
    opt.step()
    del policy.rewards[:]
    del policy.saved_actions[:]
    print(f'episode {episode} loss {loss.item():.3f}')
