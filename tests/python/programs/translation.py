import random
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim

SOS_token, EOS_token, MAX_LENGTH = 0, 1, 8
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
random.seed(3)
torch.manual_seed(3)


class Lang:
    def __init__(self, name):
        self.name, self.word2index = name, {}
        self.index2word, self.n_words = {0: "SOS", 1: "EOS"}, 2

    def addSentence(self, sentence):
        for word in sentence.split(" "):
            if word not in self.word2index:
                self.word2index[word] = self.n_words
                self.index2word[self.n_words] = word
                self.n_words += 1


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size, dropout_p=0.1):
        super().__init__()
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, input):
        return self.gru(self.dropout(self.embedding(input)))


class BahdanauAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.Wa = nn.Linear(hidden_size, hidden_size)
        self.Ua = nn.Linear(hidden_size, hidden_size)
        self.Va = nn.Linear(hidden_size, 1)

    def forward(self, query, keys):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys)))
        scores = scores.squeeze(2).unsqueeze(1)
        weights = F.softmax(scores, dim=-1)
        return torch.bmm(weights, keys), weights


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size, dropout_p=0.1):
        super().__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.attention = BahdanauAttention(hidden_size)
        self.gru = nn.GRU(2 * hidden_size, hidden_size, batch_first=True)
        self.out = nn.Linear(hidden_size, output_size)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, encoder_outputs, encoder_hidden, target_tensor=None):
        batch_size = encoder_outputs.size(0)
        decoder_input = torch.empty(batch_size, 1, dtype=torch.long, device=device).fill_(SOS_token)
        decoder_hidden, outputs, attentions = encoder_hidden, [], []
        for i in range(MAX_LENGTH):
            embedded = self.dropout(self.embedding(decoder_input))
            context, attn_weights = self.attention(decoder_hidden.permute(1, 0, 2), encoder_outputs)
            output, decoder_hidden = self.gru(torch.cat((embedded, context), dim=2), decoder_hidden)
            outputs.append(self.out(output))
            attentions.append(attn_weights)
            if target_tensor is not None:
                decoder_input = target_tensor[:, i].unsqueeze(1)
            else:
                _, topi = outputs[-1].topk(1)
                decoder_input = topi.squeeze(-1).detach()
        decoder_outputs = F.log_softmax(torch.cat(outputs, dim=1), dim=-1)
        return decoder_outputs, decoder_hidden, torch.cat(attentions, dim=1)


words = {"je": "i", "tu": "you", "il": "he", "vois": "see", "aime": "like", "chat": "cat", "chien": "dog", "le": "the"}
pairs = [(f"{s} {v} le {o}", f"{words[s]} {words[v]} the {words[o]}")
         for s in ("je", "tu", "il") for v in ("vois", "aime") for o in ("chat", "chien")]
input_lang, output_lang = Lang("fra"), Lang("eng")
for fra, eng in pairs:
    input_lang.addSentence(fra)
    output_lang.addSentence(eng)


def tensor_from(lang, sentence):
    indexes = [lang.word2index[word] for word in sentence.split(" ")] + [EOS_token]
    padded = indexes + [EOS_token] * (MAX_LENGTH - len(indexes))
    return torch.tensor(padded, dtype=torch.long, device=device)


random.shuffle(pairs)
inputs = torch.stack([tensor_from(input_lang, p[0]) for p in pairs])
targets = torch.stack([tensor_from(output_lang, p[1]) for p in pairs])
encoder = EncoderRNN(input_lang.n_words, 32).to(device)
decoder = AttnDecoderRNN(32, output_lang.n_words).to(device)
encoder_optimizer = optim.Adam(encoder.parameters(), lr=0.01)
decoder_optimizer = optim.Adam(decoder.parameters(), lr=0.01)
criterion = nn.NLLLoss()
for epoch in range(1, 16):
    total_loss = 0
    for input_tensor, target_tensor in zip(inputs.split(6), targets.split(6)):
        encoder_optimizer.zero_grad()
        decoder_optimizer.zero_grad()
        encoder_outputs, encoder_hidden = encoder(input_tensor)
        decoder_outputs, _, _ = decoder(encoder_outputs, encoder_hidden, target_tensor)
        loss = criterion(decoder_outputs.view(-1, decoder_outputs.size(-1)), target_tensor.view(-1))
        loss.backward()
        encoder_optimizer.step()
        decoder_optimizer.step()
        total_loss += loss.item()
    if epoch % 5 == 0:
        print(f"epoch {epoch} {total_loss / 2:.4f}")

encoder.eval()
decoder.eval()
with torch.no_grad():
    encoder_outputs, encoder_hidden = encoder(inputs[:1])
    decoder_outputs, _, attentions = decoder(encoder_outputs, encoder_hidden)
    decoded = [output_lang.index2word.get(i) for i in decoder_outputs.topk(1)[1].squeeze().tolist()]
    print(">", pairs[0][0], "=", pairs[0][1], "<", " ".join(w for w in decoded if w != "EOS"))
print(attentions.shape, torch.cuda.memory_allocated() > 0)
