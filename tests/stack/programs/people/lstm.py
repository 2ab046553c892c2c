"""Texts of different lengths, packed, through an LSTM."""

import torch
from torch.nn.utils import rnn

words = torch.nn.Embedding(1000, 64).cuda()
reader = torch.nn.LSTM(64, 128, 2, batch_first=True, bidirectional=True).cuda()
optimizer = torch.optim.Adam([*words.parameters(), *reader.parameters()])
for _ in range(3):
    texts = [torch.randint(1000, (length,)) for length in (31, 20, 9, 4)]
    batch = rnn.pad_sequence(texts, batch_first=True).cuda()
    packed = rnn.pack_padded_sequence(words(batch), [31, 20, 9, 4], batch_first=True)
    _, (last, _) = reader(packed)
    last.square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
