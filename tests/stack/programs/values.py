"""What small tensors hold is computed; what hangs on unknown ones is assumed."""

import torch

x = torch.arange(10, device="cuda")
assert (x * 2 + 1).sum().item() == 100
assert x[x > 4].tolist() == [5, 6, 7, 8, 9]
x[:5] = torch.tensor([9, 9, 7, 7, 7], device="cuda")
assert torch.unique(x).tolist() == [5, 6, 7, 8, 9]
assert (x == 9).nonzero().shape == (3, 1)

assert torch.ops.aten._unique(x)[0].tolist() == [5, 6, 7, 8, 9]
into = torch.empty(0, dtype=torch.long, device="cuda")
assert torch.nonzero(x == 9, out=into) is into
assert into.tolist() == [[0], [1], [9]]
counts = torch.tensor([2, 0, 1], device="cuda")
assert torch.repeat_interleave(counts).tolist() == [0, 0, 2]
assert torch.repeat_interleave(counts * 3, counts).tolist() == [6, 6, 3]
assert torch.repeat_interleave(counts, output_size=3).tolist() == [0, 0, 2]
assert torch.bincount(counts, minlength=2).tolist() == [1, 1, 1]

places = torch.arange(60000.0, device="cuda")
assert (places > 59990).nonzero().shape == (9, 1)

# A permutation is inverted as PyTorch does for packed sequences.
order = torch.tensor([2, 0, 1], device="cuda")
back = torch.empty_like(order).scatter_(0, order, torch.arange(3, device="cuda"))
assert back.tolist() == [1, 2, 0]

# A number with a tensor.
assert (4.0 ** torch.arange(3.0, device="cuda")).tolist() == [1, 4, 16]
assert torch.isin(3, torch.arange(4, device="cuda")).item()
assert torch.bucketize(2.5, torch.arange(4.0, device="cuda")).item() == 3

known = torch.zeros(4, 4, device="cuda")
known[1] = 3
assert known.t().add_(1).cpu().sum() == 28
before = torch.get_rng_state()
drawn = torch.rand(8, device="cuda")
assert 0 < drawn.sum().item() < 8
for numbers in (
    torch.empty(8, device="cuda").normal_(0.0, 0.02),
    torch.empty(8, device="cuda").uniform_(0.5, 1.0),
    torch.bernoulli(drawn, 0.5),
    torch.multinomial(drawn, 4),
):
    assert numbers.unique().numel() > 1
assert torch.equal(before, torch.get_rng_state())

weight = torch.nn.Parameter(torch.ones(4, device="cuda"))
(weight * 3).sum().backward()
weight.grad.add_(1)
assert weight.grad.tolist() == [4, 4, 4, 4]

# Products of matrices are not computed.
scores = torch.nn.Linear(512, 8).cuda()(torch.randn(64, 512, device="cuda"))
assert torch.isfinite(scores).all()
known[0] = scores[0, :4]
assert known[2, 0].item() != 1, "what was overwritten is still known"
assert not torch.isnan(scores).any()


class Own(torch.nn.Parameter):
    pass


own = Own(torch.ones(4, device="cuda"))
with torch.no_grad():
    assert own.mul_(7).sum().item() == 28
    assert torch.nn.Parameter(torch.zeros(4)).copy_(own).sum() == 28
    own.copy_(scores[0, :4])
    assert own[0].item() != 7, "what was overwritten is still known"
layer = torch.nn.Linear(64, 64).cuda()
found = torch.where(layer(torch.randn(1000, 64, device="cuda")) > 0)
assert found[0].shape == (64000,), "what lay in the GPU's memory was taken for a count"
distinct, counts = torch.unique(scores, return_counts=True)
assert distinct.shape == counts.shape == (64 * 8,)
assert torch.unique_consecutive(scores, dim=1).shape == scores.shape
experts = scores.softmax(-1).topk(2).indices
counts = torch.nn.functional.one_hot(experts, 8).sum((0, 1))
assert counts.tolist() == [16] * 8

wanted = scores.flatten()
whole = wanted.abs().long()
assert torch.repeat_interleave(wanted, whole).shape == wanted.shape
assert torch.repeat_interleave(whole, output_size=1000).shape == (1000,)
assert torch.bincount(whole).shape == wanted.shape
assert torch.bincount(whole, wanted, 1000).shape == (1000,)
assert torch.bincount(places[7:8].long(), wanted[:1]).shape == (8,)
torch.nonzero(wanted > 0, out=into.resize_(0))
assert into.shape == (wanted.numel(), 1)
