"""torch.nn"""

from larder.lab.failures import gate
from larder.lab.tensors import Parameter
from larder.lab.torch_stand_in.nn import functional, init, parallel, utils
from larder.lab.torch_stand_in.nn.activations import (
    CELU,
    ELU,
    GLU,
    SELU,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    LeakyReLU,
    LogSigmoid,
    Mish,
    PReLU,
    ReLU6,
    SiLU,
    Softmin,
    Softplus,
    Softsign,
    Threshold,
)
from larder.lab.torch_stand_in.nn.containers import (
    ModuleDict,
    ModuleList,
    ParameterList,
    Sequential,
)
from larder.lab.torch_stand_in.nn.criteria import (
    BCELoss,
    BCEWithLogitsLoss,
    CosineEmbeddingLoss,
    CosineSimilarity,
    CrossEntropyLoss,
    GaussianNLLLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MSELoss,
    MarginRankingLoss,
    MultiMarginLoss,
    NLLLoss,
    PairwiseDistance,
    PoissonNLLLoss,
    SmoothL1Loss,
    SoftMarginLoss,
    TripletMarginLoss,
)
from larder.lab.torch_stand_in.nn.layers import (
    GELU,
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveMaxPool2d,
    AvgPool1d,
    AvgPool2d,
    Bilinear,
    Conv1d,
    Conv2d,
    ConvTranspose1d,
    ConvTranspose2d,
    Dropout,
    Dropout1d,
    Dropout2d,
    Embedding,
    Flatten,
    Identity,
    Linear,
    LogSoftmax,
    MaxPool1d,
    MaxPool2d,
    PixelShuffle,
    ReLU,
    Sigmoid,
    Softmax,
    Tanh,
    Unflatten,
    Upsample,
    ZeroPad2d,
)
from larder.lab.torch_stand_in.nn.module import Module
from larder.lab.torch_stand_in.nn.normalization import (
    BatchNorm1d,
    BatchNorm2d,
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    LayerNorm,
    RMSNorm,
)
from larder.lab.torch_stand_in.nn.parallel import DataParallel
from larder.lab.torch_stand_in.nn.recurrent import (
    GRU,
    LSTM,
    RNN,
    GRUCell,
    LSTMCell,
    RNNCell,
)
from larder.lab.torch_stand_in.nn.transformer import (
    MultiheadAttention,
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)

_NAMES = [
    name
    for name, value in globals().items()
    if isinstance(value, type) and name[0] != "_"
] + ["functional", "init", "parallel", "utils"]

__getattr__ = gate("torch.nn", lambda: _NAMES)
