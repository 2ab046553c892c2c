"""An LSTM over sequences of several lengths."""
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(500, 64)
        self.lstm = nn.LSTM(64, 128, num_layers=2, batch_first=True, bidirectional=True)
        self.out = nn.Linear(256, 7)

    def forward(self, words, lengths):
        packed = pack_padded_sequence(
            self.embed(words), lengths, batch_first=True, enforce_sorted=False
        )
        states, _ = self.lstm(packed)
        states, _ = pad_packed_sequence(states, batch_first=True)
        return self.out(states)


model = Tagger().cuda()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(3):
    words = torch.randint(0, 500, (4, 12)).cuda()
    lengths = torch.tensor([12, 9, 7, 3])
    scores = model(words, lengths)
    tags = torch.randint(0, 7, scores.shape[:2]).cuda()
    loss = nn.functional.cross_entropy(scores.transpose(1, 2), tags)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
gru = nn.GRU(16, 32).cuda()
out, last = gru(torch.randn(5, 3, 16, device="cuda"))
print(out.shape, last.shape, float(loss))
