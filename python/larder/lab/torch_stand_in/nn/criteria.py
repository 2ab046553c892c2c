"""Losses as modules."""

from larder.lab.failures import not_covered
from larder.lab.torch_stand_in.nn import functional
from larder.lab.torch_stand_in.nn.module import Module, layer
from larder.lab.torch_stand_in.nn.wrapping import Wrapping, classes


# Accepted for old programs, without effect.
_OLD = {"size_average": None, "reduce": None}


class _Loss(Wrapping):
    def _made_from(self, **passed):
        for name in _OLD:
            if passed.pop(name) is not None:
                raise not_covered(f"{type(self).__name__}'s {name}")
        super()._made_from(**passed)

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
globals().update(classes(_Loss, __name__, _TABLE, **_OLD))


class CosineSimilarity(Module):
    __init__ = layer(dim=1, eps=1e-8)

    def forward(self, x1, x2):
        return functional.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    __init__ = layer(passed="p", p=2.0, eps=1e-6, keepdim=False)

    def _made_from(self, p):
        self.norm = p

    def forward(self, x1, x2):
        return functional.pairwise_distance(
            x1, x2, self.norm, self.eps, self.keepdim
        )
