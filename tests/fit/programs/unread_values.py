"""Large tensors of the host, filled and then read in the ways there are: prints what
is found there, which has to be the same with a GPU and without ("host")."""

import copy
import io
import json
import sys

import torch
from torch import nn

torch.manual_seed(0)
found = {}


def filled():
    return torch.empty(300, 300).normal_()


found["item"] = filled()[7, 7].item()
found["operator"] = filled().sum().item()
found["list"] = torch.randn(70000).tolist()[-1]
found["part of a list"] = filled()[5:6].tolist()[0][:3]
found["text"] = repr(torch.rand(70001, dtype=torch.float64))
found["copy"] = copy.deepcopy(filled())[2, 2].item()
found["capsule"] = torch.from_dlpack(filled())[3, 3].item()
found["half"] = torch.empty(300, 300, dtype=torch.bfloat16).normal_()[3, 3].item()
found["cleared"] = torch.empty(300, 300).zero_()[1, 1].item()

file = io.BytesIO()
torch.save(filled(), file)
file.seek(0)
found["saved"] = torch.load(file)[1, 1].item()

memory = torch.empty(300, 300)
view = memory.untyped_storage()
memory.fill_(2)
found["storage"] = list(view[:8])

cut = torch.empty(400, 400)
nn.init.trunc_normal_(cut, std=0.02)
found["in steps"] = [cut[399, 399].item(), cut.abs().max().item()]

twice = filled()
twice.uniform_(2, 3)
found["twice"] = twice[5, 5].item()

words = nn.Embedding(1000, 100, padding_idx=3)
found["a row"] = [words.weight[3].abs().sum().item(), words.weight[4, 4].item()]

layer = nn.Linear(512, 512)
found["weights"] = [float(p.sum()) for p in layer.parameters()]
encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 4), 2)
found["encoder"] = [float(p.sum()) for p in encoder.parameters()]

source, part = filled(), filled()[2:3]
if sys.argv[1:] != ["host"]:
    moved, part = source.cuda(), part.cuda()
found["a part, moved"] = part[0, 3].item()
source[5, 5] = 3
found["after a move"] = [source[5, 5].item(), source[5, 6].item()]

found["generator"] = int(torch.get_rng_state().long().sum())
found["what comes next"] = torch.rand(3).tolist()
try:
    found["array"] = float(filled().numpy()[5, 5])
except RuntimeError:
    pass  # no NumPy here
print(json.dumps(found))
