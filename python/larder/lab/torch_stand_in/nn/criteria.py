"""Losses as modules."""

from larder.lab.failures import not_covered
from larder.lab.torch_stand_in.nn import functional
from larder.lab.torch_stand_in.nn.module import Module


class _Loss(Module):
    """A function of input and target, with keyword options."""

    _options = {"reduction": "mean"}

    def __init__(self, *arguments, **named):
        super().__init__()
        options = dict(self._options)
        options.update(zip(options, arguments))
        for name, value in named.items():
            if name in ("size_average", "reduce") and value is None:
                continue
            if name not in options:
                raise not_covered(f"{type(self).__name__}'s {name}")
            options[name] = value
        for name, value in options.items():
            if name in ("weight", "pos_weight"):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def forward(self, *inputs):
        options = {name: getattr(self, name) for name in self._options}
        return self._function(*inputs, **options)


def _loss(name, function, **options):
    return type(
        name,
        (_Loss,),
        {
            "_function": staticmethod(function),
            "_options": options or {"reduction": "mean"},
            "__doc__": f"functional.{function.__name__} as a module.",
            "__module__": __name__,
        },
    )


CrossEntropyLoss = _loss(
    "CrossEntropyLoss",
    functional.cross_entropy,
    weight=None,
    ignore_index=-100,
    reduction="mean",
    label_smoothing=0.0,
)
NLLLoss = _loss(
    "NLLLoss",
    functional.nll_loss,
    weight=None,
    ignore_index=-100,
    reduction="mean",
)
MSELoss = _loss("MSELoss", functional.mse_loss)
L1Loss = _loss("L1Loss", functional.l1_loss)
SmoothL1Loss = _loss(
    "SmoothL1Loss", functional.smooth_l1_loss, reduction="mean", beta=1.0
)
HuberLoss = _loss(
    "HuberLoss", functional.huber_loss, reduction="mean", delta=1.0
)
BCELoss = _loss(
    "BCELoss", functional.binary_cross_entropy, weight=None, reduction="mean"
)
BCEWithLogitsLoss = _loss(
    "BCEWithLogitsLoss",
    functional.binary_cross_entropy_with_logits,
    weight=None,
    reduction="mean",
    pos_weight=None,
)
KLDivLoss = _loss(
    "KLDivLoss", functional.kl_div, reduction="mean", log_target=False
)
CosineEmbeddingLoss = _loss(
    "CosineEmbeddingLoss",
    functional.cosine_embedding_loss,
    margin=0.0,
    reduction="mean",
)
TripletMarginLoss = _loss(
    "TripletMarginLoss",
    functional.triplet_margin_loss,
    margin=1.0,
    p=2.0,
    reduction="mean",
)
MarginRankingLoss = _loss(
    "MarginRankingLoss",
    functional.margin_ranking_loss,
    margin=0.0,
    reduction="mean",
)
MultiMarginLoss = _loss(
    "MultiMarginLoss",
    functional.multi_margin_loss,
    p=1,
    margin=1.0,
    weight=None,
    reduction="mean",
)
SoftMarginLoss = _loss("SoftMarginLoss", functional.soft_margin_loss)
GaussianNLLLoss = _loss(
    "GaussianNLLLoss",
    functional.gaussian_nll_loss,
    full=False,
    eps=1e-6,
    reduction="mean",
)
PoissonNLLLoss = _loss(
    "PoissonNLLLoss",
    functional.poisson_nll_loss,
    log_input=True,
    reduction="mean",
)


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
