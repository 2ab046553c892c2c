"""Graph networks by hand: GCN with a dense adjacency, GAT-like attention by scatter."""
import math
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parameter import Parameter
from torch.nn.modules.module import Module

torch.manual_seed(42)
device = torch.device('cuda')
N, E, FEATS, CLASSES = 300, 1500, 64, 7
src = torch.randint(0, N, (E,))
dst = torch.randint(0, N, (E,))
edge_index = torch.stack([src, dst], dim=0)
edge_index = torch.cat([edge_index, edge_index.flip(0)], dim=1).to(device)
x = torch.randn(N, FEATS).to(device)
y = torch.randint(0, CLASSES, (N,)).to(device)
idx = torch.randperm(N)
idx_train, idx_val, idx_test = idx[:140], idx[140:200], idx[200:]


def normalize_adj(edge_index, n):
    adj = torch.zeros(n, n, device=edge_index.device)
    adj[edge_index[0], edge_index[1]] = 1.0
    adj = adj + torch.eye(n, device=adj.device)
    deg = adj.sum(1)
    d_inv_sqrt = deg.pow(-0.5)
    d_inv_sqrt[torch.isinf(d_inv_sqrt)] = 0.
    d_mat = torch.diag(d_inv_sqrt)
    return d_mat @ adj @ d_mat


class GraphConvolution(Module):
    def __init__(self, in_features, out_features, bias=True):
        super(GraphConvolution, self).__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(torch.FloatTensor(in_features, out_features))
        if bias:
            self.bias = Parameter(torch.FloatTensor(out_features))
        else:
            self.register_parameter('bias', None)
        self.reset_parameters()

    def reset_parameters(self):
        stdv = 1. / math.sqrt(self.weight.size(1))
        self.weight.data.uniform_(-stdv, stdv)
        if self.bias is not None:
            self.bias.data.uniform_(-stdv, stdv)

    def forward(self, input, adj):
        support = torch.mm(input, self.weight)
        output = torch.mm(adj, support)
        if self.bias is not None:
            return output + self.bias
        else:
            return output

    def __repr__(self):
        return self.__class__.__name__ + ' (' + str(self.in_features) + ' -> ' + str(self.out_features) + ')'


class GCN(nn.Module):
    def __init__(self, nfeat, nhid, nclass, dropout):
        super(GCN, self).__init__()
        self.gc1 = GraphConvolution(nfeat, nhid)
        self.gc2 = GraphConvolution(nhid, nclass)
        self.dropout = dropout

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, self.dropout, training=self.training)
        x = self.gc2(x, adj)
        return F.log_softmax(x, dim=1)


def scatter_softmax(scores, index, n):
    mx = torch.full((n, scores.size(1)), float('-inf'), device=scores.device)
    mx = mx.scatter_reduce(0, index.unsqueeze(-1).expand_as(scores), scores, reduce='amax')
    ex = (scores - mx[index]).exp()
    den = torch.zeros(n, scores.size(1), device=scores.device).index_add_(0, index, ex)
    return ex / (den[index] + 1e-16)


class GATLayer(nn.Module):
    def __init__(self, in_dim, out_dim, heads=4):
        super().__init__()
        self.heads, self.out_dim = heads, out_dim
        self.lin = nn.Linear(in_dim, heads * out_dim, bias=False)
        self.att_src = nn.Parameter(torch.empty(1, heads, out_dim))
        self.att_dst = nn.Parameter(torch.empty(1, heads, out_dim))
        nn.init.xavier_uniform_(self.att_src, gain=nn.init.calculate_gain('relu'))
        nn.init.xavier_uniform_(self.att_dst)

    def forward(self, x, edge_index):
        n = x.size(0)
        h = self.lin(x).view(n, self.heads, self.out_dim)
        s, d = edge_index
        alpha = (h * self.att_src).sum(-1)[s] + (h * self.att_dst).sum(-1)[d]
        alpha = scatter_softmax(F.leaky_relu(alpha, 0.2), d, n)
        out = torch.zeros_like(h)
        out = out.scatter_add(0, d.view(-1, 1, 1).expand(-1, self.heads, self.out_dim), h[s] * alpha.unsqueeze(-1))
        return out.flatten(1)


class GAT(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = GATLayer(FEATS, 8), GATLayer(32, CLASSES, heads=1)

    def forward(self, x, edge_index):
        return F.log_softmax(self.l2(F.elu(self.l1(x, edge_index)), edge_index), dim=-1)


def accuracy(output, labels):
    preds = output.max(1)[1].type_as(labels)
    correct = preds.eq(labels).double()
    correct = correct.sum()
    return correct / len(labels)


adj = normalize_adj(edge_index, N)
for model, second in ((GCN(FEATS, 16, CLASSES, 0.5), adj), (GAT(), edge_index)):
    model.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for epoch in range(5):
        t = time.time()
        model.train()
        optimizer.zero_grad()
        output = model(x, second)
        loss_train = F.nll_loss(output[idx_train], y[idx_train])
        loss_train.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            output = model(x, second)
        acc_val = accuracy(output[idx_val], y[idx_val])
        print('Epoch: {:04d}'.format(epoch + 1), 'loss_train: {:.4f}'.format(loss_train.item()),
              'acc_val: {:.4f}'.format(acc_val.item()))
print(model)
deg = torch.bincount(edge_index[1], minlength=N).float()
print(deg.mean().item() == 10.0, deg.argsort(descending=True)[:5].shape, deg.topk(3).values.tolist() != [])
