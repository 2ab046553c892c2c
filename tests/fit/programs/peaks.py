"""Prints the peak of each case: what kernels, streams and threads take."""

import gc
import threading

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

HALF, NARROW, DOUBLE = torch.float16, torch.bfloat16, torch.float64


def settle():
    """Autograd's thread keeps what it found last until it has more to do: what is
    freed then would be at a moment that the machine's load decides."""
    torch.zeros((), device="cuda", requires_grad=True).backward()


def attention(
    dtype=torch.float32, size=64, mask=None, key_heads=8, value_size=None, dropout=0.0,
    causal=False, way=None, dims=4, keys=256, grad=True,
):
    def made(heads, length, width):
        one = torch.randn(4, length, heads, width, device="cuda", dtype=dtype)
        one = one.transpose(1, 2)
        one = one.flatten(0, 1) if dims == 3 else one
        return one.detach().requires_grad_(grad)

    q, k = made(8, 256, size), made(key_heads, keys, size)
    v = made(key_heads, keys, value_size or size)
    if mask is not None:
        whole = torch.ones(4, 8, 256, keys, dtype=torch.bool, device="cuda")
        mask = whole if mask is bool else whole.to(dtype).requires_grad_()
    ways = [way] if way else [*SDPBackend.__members__.values()][1:4]
    with sdpa_kernel(ways):
        out = F.scaled_dot_product_attention(
            q, k, v, mask, dropout, causal, enable_gqa=key_heads != 8
        )
    if grad:
        out.sum().backward()


def in_parts():
    x = torch.randn(8, 4, 256, 256, device="cuda", requires_grad=True)
    scores = x.masked_fill(torch.ones(256, 256, device="cuda").tril() == 0, -1e9)
    scores.softmax(-1).square().mean().backward()


def scaled():
    model = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(2):
        with torch.autocast("cuda", dtype=HALF):
            loss = model(torch.randn(64, 512, device="cuda")).square().mean()
        scaler.scale(loss).backward()
        settle()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


@torch.inference_mode()
def inferred():
    layer = nn.Linear(512, 2048).cuda()
    attended = nn.MultiheadAttention(512, 8).cuda()
    x = torch.randn(64, 4, 512, device="cuda")
    layer(attended(x, x, x, need_weights=False)[0]).softmax(-1)


@torch.inference_mode()
def encoded(dtype=torch.float32, mask=None, **options):
    layer = nn.TransformerEncoderLayer(512, 8, batch_first=True, **options)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    encoder = encoder.cuda().to(dtype).eval()
    if mask is not None:
        mask = torch.zeros(16, 256, dtype=torch.bool, device="cuda")
    x = torch.randn(16, 256, 512, device="cuda", dtype=dtype)
    encoder(x, src_key_padding_mask=mask)


@torch.inference_mode()
def attended(dtype=torch.float32, **options):
    layer = nn.MultiheadAttention(512, 8, batch_first=True).cuda().to(dtype).eval()
    x = torch.randn(16, 256, 512, device="cuda", dtype=dtype)
    layer(x, x, x, **options)


def each_example():
    layer = nn.Linear(256, 512).cuda()

    def loss(weights, x):
        return torch.func.functional_call(layer, weights, (x,)).square().sum()

    weights = {name: one.detach() for name, one in layer.named_parameters()}
    x = torch.randn(64, 256, device="cuda")
    torch.func.vmap(torch.func.grad(loss), (None, 0))(weights, x)


def threaded():
    """cuBLAS keeps memory for each thread."""
    layer = nn.Linear(512, 512).cuda()

    def train():
        for _ in range(2):
            layer(torch.randn(64, 512, device="cuda")).sum().backward()
            settle()

    thread = threading.Thread(target=train)
    thread.start()
    thread.join()


MATH = SDPBackend.MATH
CASES = {
    "float32": {},
    "float32, a mask": {"mask": bool},
    "float16": {"dtype": HALF},
    "float16, a mask": {"dtype": HALF, "mask": bool},
    "a mask with a gradient": {"dtype": HALF, "mask": float},
    "float64": {"dtype": DOUBLE},
    "float64, a mask": {"dtype": DOUBLE, "mask": bool},
    "a head of 36, a mask": {"dtype": HALF, "size": 36, "mask": bool},
    "a head of 37": {"size": 37},
    "a head of 304": {"dtype": HALF, "size": 304},
    "wider values": {"dtype": HALF, "value_size": 128},
    "groups": {"dtype": HALF, "key_heads": 2},
    "groups, a mask": {"dtype": HALF, "key_heads": 2, "mask": bool},
    "groups, float32, dropout": {"key_heads": 2, "dropout": 0.1},
    "three dimensions": {"dtype": HALF, "dims": 3},
    "mathematics": {"dtype": NARROW, "way": MATH},
    "mathematics, dropout, a mask": {"mask": bool, "way": MATH, "dropout": 0.1},
    "mathematics, causal": {"dtype": NARROW, "way": MATH, "causal": True},
    "cuDNN": {"dtype": HALF, "way": SDPBackend.CUDNN_ATTENTION},
    "causal, fewer keys": {"dtype": NARROW, "keys": 77, "causal": True},
}
RUNS = {name: lambda given=given: attention(**given) for name, given in CASES.items()}
for one in (in_parts, scaled, inferred, each_example, threaded):
    RUNS[one.__name__] = one

FAST = {
    "an encoder": lambda: encoded(),
    "an encoder, float16, norms first": lambda: encoded(HALF, norm_first=True),
    "an encoder with GELU": lambda: encoded(activation="gelu"),
    "an encoder, padded": lambda: encoded(mask=bool),
    "no weights": lambda: attended(need_weights=False),
    "weights": lambda: attended(),
    "weights of heads": lambda: attended(HALF, average_attn_weights=False),
}
RUNS |= FAST

for name, run in RUNS.items():
    gc.collect()
    settle()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    run()
    print(f"peak {name}: {torch.cuda.max_memory_allocated() - before}")
