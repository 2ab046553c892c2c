"""Losses as modules."""

from larder.lab.torch_stand_in.nn import functional
from larder.lab.torch_stand_in.nn.module import Module
from larder.lab.torch_stand_in.nn.wrapping import Wrapping, classes


class _Loss(Wrapping):
    def __init__(self, *arguments, **named):
        for name in ("size_average", "reduce"):  # of old, and without effect
            if named.get(name, 0) is None:
                del named[name]
        super().__init__(*arguments, **named)

    def extra_repr(self):
        return ""


_TABLE = """
    CrossEntropyLoss cross_entropy  NLLLoss nll_loss    MSELoss mse_loss
    L1Loss l1_loss      SmoothL1Loss smooth_l1_loss     HuberLoss huber_loss
    BCELoss binary_cross_entropy
    BCEWithLogitsLoss binary_cross_entropy_with_logits  KLDivLoss kl_div
    CosineEmbeddingLoss cosine_embedding_loss
    TripletMarginLoss triplet_margin_loss
    MarginRankingLoss margin_ranking_loss
    MultiMarginLoss multi_margin_loss   SoftMarginLoss soft_margin_loss
    GaussianNLLLoss gaussian_nll_loss   PoissonNLLLoss poisson_nll_loss
"""
globals().update(classes(_Loss, __name__, _TABLE))


class CosineSimilarity(Module):
    def __init__(self, dim=1, eps=1e-8):
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1, x2):
        return functional.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    def __init__(self, p=2.0, eps=1e-6, keepdim=False):
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1, x2):
        return functional.pairwise_distance(
            x1, x2, self.norm, self.eps, self.keepdim
        )
