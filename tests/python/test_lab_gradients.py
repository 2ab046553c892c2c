"""Operations that Python defines: their values, and their gradients against
differences."""

import math

import lab_case
from lab_case import KIB, MIB, LabCase
from larder import lab
from larder.lab.torch_stand_in import installing

installing.install()

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402


def positive(*sizes):
    return torch.rand(*sizes) + 0.5


def away(*sizes):
    """Nowhere near where a slope jumps."""
    x = torch.randn(*sizes)
    return torch.where(x > 0, x + 0.3, x - 0.3)


MASK = [[True, False, True], [False, False, True]]
INDEX = [[0, 1, 1], [1, 0, 1]]

# name: (inputs, function)
CASES = {
    "abs": ([away(2, 3)], torch.abs),
    "sin": ([away(3)], torch.sin),
    "cos": ([away(3)], torch.cos),
    "tan": ([torch.rand(3)], torch.tan),
    "asin": ([torch.rand(3) * 0.8], torch.asin),
    "acos": ([torch.rand(3) * 0.8], torch.acos),
    "atan": ([away(3)], torch.atan),
    "sinh": ([away(3)], torch.sinh),
    "cosh": ([away(3)], torch.cosh),
    "erf": ([away(3)], torch.erf),
    "exp2": ([away(3)], torch.exp2),
    "expm1": ([away(3)], torch.expm1),
    "log1p": ([positive(3)], torch.log1p),
    "log2": ([positive(3)], torch.log2),
    "log10": ([positive(3)], torch.log10),
    "rsqrt": ([positive(3)], torch.rsqrt),
    "reciprocal": ([positive(3)], torch.reciprocal),
    "silu": ([away(4)], F.silu),
    "mish": ([away(4)], F.mish),
    "softplus": ([away(4)], lambda x: F.softplus(x, 2.0)),
    "leaky_relu": ([away(4)], lambda x: F.leaky_relu(x, 0.2)),
    "elu": ([away(4)], F.elu),
    "selu": ([away(4)], F.selu),
    "hardtanh": ([away(4) * 0.5], F.hardtanh),
    "relu6": ([away(4)], F.relu6),
    "hardswish": ([away(4)], F.hardswish),
    "hardsigmoid": ([away(4)], F.hardsigmoid),
    "logsigmoid": ([away(4)], F.logsigmoid),
    "gelu_tanh": ([away(4)], lambda x: F.gelu(x, "tanh")),
    "glu": ([away(2, 4)], F.glu),
    "clamp": ([away(4)], lambda x: x.clamp(-0.5, 0.9)),
    "remainder": ([positive(3)], lambda x: x % 2),
    "pow": ([positive(3), away(3)], torch.pow),
    "number_to_the_power": ([away(3)], lambda x: 2**x),
    "maximum": ([away(3), away(3)], torch.maximum),
    "minimum": ([away(3), away(3)], torch.minimum),
    "add_alpha": ([away(3), away(3)], lambda a, b: torch.add(a, b, alpha=3)),
    "sub_alpha": ([away(3), away(3)], lambda a, b: torch.sub(a, b, alpha=3)),
    "where": (
        [away(2, 3), away(2, 3)],
        lambda a, b: torch.where(torch.tensor(MASK), a, b),
    ),
    "masked_fill": (
        [away(2, 3)],
        lambda a: a.masked_fill(torch.tensor(MASK), 7.0),
    ),
    "sum_of_two": ([away(2, 3, 2)], lambda x: x.sum((0, 2))),
    "mean_of_two": ([away(2, 3, 2)], lambda x: x.mean((0, -1), keepdim=True)),
    "max_along": ([away(3, 4)], lambda x: x.max(1).values),
    "min_along": ([away(3, 4)], lambda x: x.min(0, keepdim=True)[0]),
    "max": ([away(3, 4)], torch.max),
    "amin": ([away(3, 4)], lambda x: x.amin((0, 1))),
    "prod": ([positive(2, 3)], lambda x: x.prod(1)),
    "var": ([away(2, 5)], lambda x: x.var(1)),
    "std": ([away(2, 5)], lambda x: x.std(dim=0, unbiased=False)),
    "norm": ([away(2, 5)], lambda x: x.norm(dim=1)),
    "norm_1": ([away(2, 5)], lambda x: x.norm(1)),
    "logsumexp": ([away(2, 5)], lambda x: x.logsumexp(1)),
    "cumsum": ([away(2, 4)], lambda x: x.cumsum(1)),
    "cumprod": ([positive(2, 4)], lambda x: x.cumprod(0)),
    "sort": ([away(2, 4)], lambda x: x.sort(1, descending=True)[0]),
    "topk": ([away(2, 4)], lambda x: x.topk(2)[0]),
    "median": ([away(5)], torch.median),
    "gather": (
        [away(2, 3)],
        lambda x: x.gather(0, torch.tensor(INDEX)),
    ),
    "scatter": (
        [away(2, 3), away(2, 3)],
        lambda a, b: a.scatter(1, torch.tensor([[0, 1, 2], [2, 1, 0]]), b),
    ),
    "scatter_add": (
        [away(2, 3), away(2, 3)],
        lambda a, b: a.scatter_add(0, torch.tensor(INDEX), b),
    ),
    "index_select": (
        [away(3, 4)],
        lambda x: x.index_select(1, torch.tensor([3, 0, 3])),
    ),
    "index_add": (
        [away(3, 2), away(2, 2)],
        lambda a, b: a.index_add(0, torch.tensor([2, 0]), b),
    ),
    "index_two": (
        [away(3, 4)],
        lambda x: x[torch.tensor([0, 2]), torch.tensor([1, -1])],
    ),
    "index_mask": ([away(2, 3)], lambda x: x[torch.tensor(MASK)]),
    "tril": ([away(3, 3)], torch.tril),
    "triu": ([away(2, 3, 3)], lambda x: x.triu(1)),
    "flip": ([away(2, 3)], lambda x: x.flip(0, 1)),
    "roll": ([away(2, 3)], lambda x: x.roll(1, 1)),
    "repeat": ([away(2, 3)], lambda x: x.repeat(2, 1, 2)),
    "repeat_interleave": ([away(3)], lambda x: x.repeat_interleave(2)),
    "einsum": (
        [away(2, 3, 4), away(2, 5, 4)],
        lambda a, b: torch.einsum("bij,bkj->bik", a, b),
    ),
    "einsum_dots": (
        [away(2, 3), away(3, 4)],
        lambda a, b: torch.einsum("...i,ij->...j", a, b),
    ),
    "outer": ([away(2), away(3)], torch.outer),
    "addmm": ([away(3), away(2, 4), away(4, 3)], torch.addmm),
    "cdist": ([away(2, 3), away(4, 3)], torch.cdist),
    "cosine_similarity": ([away(2, 3), away(2, 3)], F.cosine_similarity),
    "normalize": ([away(2, 3)], F.normalize),
    "attention_masked": (
        [away(1, 2, 3, 4), away(1, 2, 3, 4), away(1, 2, 3, 4)],
        lambda q, k, v: F.scaled_dot_product_attention(
            q, k, v, torch.ones(3, 3).tril().bool()
        ),
    ),
    "attention_of_groups": (
        [away(1, 4, 3, 2), away(1, 2, 3, 2), away(1, 2, 3, 2)],
        lambda q, k, v: F.scaled_dot_product_attention(
            q, k, v, is_causal=True, enable_gqa=True
        ),
    ),
    "conv2d_groups": (
        [away(2, 4, 5, 5), away(6, 2, 3, 3), away(6)],
        lambda x, w, b: F.conv2d(x, w, b, (2, 1), (1, 0), 1, 2),
    ),
    "conv2d_dilation": (
        [away(1, 2, 6, 6), away(3, 2, 3, 3)],
        lambda x, w: F.conv2d(x, w, None, 1, "same", 2),
    ),
    "conv1d": (
        [away(2, 3, 7), away(4, 3, 3), away(4)],
        lambda x, w, b: F.conv1d(x, w, b, 2, 1),
    ),
    "conv_transpose2d": (
        [away(2, 4, 3, 3), away(4, 3, 3, 3), away(6)],
        lambda x, w, b: F.conv_transpose2d(x, w, b, 2, 1, 1, 2),
    ),
    "conv_transpose1d": (
        [away(2, 4, 3), away(4, 2, 4), away(2)],
        lambda x, w, b: F.conv_transpose1d(x, w, b, 2, 1),
    ),
    "max_pool2d": (
        [away(1, 2, 5, 5)],
        lambda x: F.max_pool2d(x, 3, 2, 1),
    ),
    "avg_pool2d": (
        [away(1, 2, 5, 5)],
        lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    ),
    "adaptive_avg_pool2d": (
        [away(1, 2, 5, 7)],
        lambda x: F.adaptive_avg_pool2d(x, (2, 3)),
    ),
    "interpolate_nearest": (
        [away(1, 2, 3, 3)],
        lambda x: F.interpolate(x, scale_factor=2),
    ),
    "interpolate_bilinear": (
        [away(1, 2, 3, 3)],
        lambda x: F.interpolate(x, (5, 4), mode="bilinear"),
    ),
    "interpolate_corners": (
        [away(1, 1, 3)],
        lambda x: F.interpolate(x, 5, mode="linear", align_corners=True),
    ),
    "pad": ([away(1, 2, 3)], lambda x: F.pad(x, (1, 2, 0, 1), value=2.0)),
    "pad_less": ([away(2, 5)], lambda x: F.pad(x, (-1, -2))),
    "pad_reflect": (
        [away(1, 1, 3, 3)],
        lambda x: F.pad(x, (1, 1, 2, 0), mode="reflect"),
    ),
    "batch_norm": (
        [away(4, 3, 2), positive(3), away(3)],
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
    ),
    "group_norm": (
        [away(2, 4, 3), positive(4), away(4)],
        lambda x, w, b: F.group_norm(x, 2, w, b),
    ),
    "instance_norm": ([away(2, 2, 4)], F.instance_norm),
    "layer_norm_of_two": (
        [away(2, 3, 2), positive(3, 2), away(3, 2)],
        lambda x, w, b: F.layer_norm(x, (3, 2), w, b),
    ),
    "rms_norm": (
        [away(2, 4), positive(4)],
        lambda x, w: F.rms_norm(x, (4,), w),
    ),
    "embedding_padded": (
        [away(4, 3)],
        lambda w: F.embedding(torch.tensor([3, 1, 3]), w, padding_idx=0),
    ),
    "l1": ([away(3)], lambda x: F.l1_loss(x, torch.zeros(3))),
    "smooth_l1": (
        [away(4)],
        lambda x: F.smooth_l1_loss(x, torch.zeros(4), beta=0.7),
    ),
    "huber": (
        [away(4)],
        lambda x: F.huber_loss(x, torch.zeros(4), reduction="sum", delta=0.7),
    ),
    "mse_sum": (
        [away(4)],
        lambda x: F.mse_loss(x, torch.ones(4), reduction="sum"),
    ),
    "bce": (
        [torch.rand(4) * 0.8 + 0.1],
        lambda x: F.binary_cross_entropy(x, torch.tensor([0.0, 1, 1, 0])),
    ),
    "bce_with_logits": (
        [away(4)],
        lambda x: F.binary_cross_entropy_with_logits(
            x, torch.tensor([0.0, 1, 1, 0]), pos_weight=torch.tensor(2.0)
        ),
    ),
    "kl_div": (
        [away(2, 3)],
        lambda x: F.kl_div(
            F.log_softmax(x, 1),
            torch.tensor([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]]),
            reduction="batchmean",
        ),
    ),
    "nll_ignored": (
        [away(3, 4)],
        lambda x: F.nll_loss(x, torch.tensor([1, -100, 0])),
    ),
    "cross_entropy_weights": (
        [away(3, 4)],
        lambda x: F.cross_entropy(
            x, torch.tensor([1, 3, 0]), torch.tensor([1.0, 2, 3, 4])
        ),
    ),
    "cross_entropy_smooth": (
        [away(3, 4)],
        lambda x: F.cross_entropy(
            x, torch.tensor([1, 3, 0]), label_smoothing=0.1
        ),
    ),
    "cross_entropy_images": (
        [away(2, 3, 2, 2)],
        lambda x: F.cross_entropy(
            x, torch.tensor([[[0, 1], [2, 0]], [[1, 1], [0, 2]]])
        ),
    ),
    "cross_entropy_shares": (
        [away(2, 3)],
        lambda x: F.cross_entropy(
            x, torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
        ),
    ),
    "triplet": (
        [away(2, 3), away(2, 3), away(2, 3)],
        lambda a, b, c: F.triplet_margin_loss(a, b, c, margin=5.0),
    ),
}
# Their inputs were made in a session that no test sees.
CASES = {
    name: ([(one.tolist(), tuple(one.shape)) for one in inputs], function)
    for name, (inputs, function) in CASES.items()
}


def tensors(inputs):
    return [
        torch.tensor(values).reshape(shape).requires_grad_()
        for values, shape in inputs
    ]


class Gradients(LabCase):
    def weighed(self, out):
        """One number, to which every element counts differently."""
        flat = out.reshape(-1)
        weights = torch.arange(1, flat.numel() + 1).float().cos() + 1.5
        return (flat * weights).sum()

    def difference(self, name, i, at, step=1e-2):
        """How the sum changes with element `at` of input i."""
        inputs, function = CASES[name]
        sums = []
        for sign in (1, -1):
            given = tensors(inputs)
            with torch.no_grad():
                given[i].reshape(-1)[at] += sign * step
                sums.append(self.weighed(function(*given)).item())
        return (sums[0] - sums[1]) / (2 * step)

    def check(self, name):
        inputs, function = CASES[name]
        given = tensors(inputs)
        self.weighed(function(*given)).backward()
        for i, one in enumerate(given):
            grads = one.grad.reshape(-1).tolist()
            for at in range(0, len(grads), max(1, len(grads) // 7)):
                expected = self.difference(name, i, at)
                self.assertAlmostEqual(
                    grads[at],
                    expected,
                    delta=0.02 * abs(expected) + 0.02,
                    msg=f"{name}: input {i}, element {at}",
                )

    def test_against_differences(self):
        for name in CASES:
            with self.subTest(name):
                self.check(name)

    def test_on_the_device_too_and_all_is_let_go(self):
        for name, (inputs, function) in CASES.items():
            if "index" in name or "embedding" in name or "scatter" in name:
                continue
            if "gather" in name or "mask" in name or "where" in name:
                continue
            given = [one.detach().cuda() for one in tensors(inputs)]
            for one in given:
                one.requires_grad_()
            try:
                out = function(*given)
            except ValueError as error:
                # A target that stayed on the host.
                self.assertIn("same device", str(error), name)
                continue
            out.sum().backward()
            del out, given, one
            self.assertEqual(self.allocated(), 0, name)

    # ---- recurrent layers ----

    def rnn_check(self, module, x, *states):
        given = [x, *states, *module.parameters()]
        for one in given:
            one.requires_grad_()

        def total():
            out, last = module(x, *self.arranged(module, states))
            lasts = last if isinstance(last, tuple) else (last,)
            return self.weighed(out) + sum(self.weighed(one) for one in lasts)

        total().backward()
        for one in given:
            grads = one.grad.reshape(-1).tolist()
            for at in range(0, len(grads), max(1, len(grads) // 5)):
                sums = []
                for step in (0.01, -0.02):
                    with torch.no_grad():
                        one.reshape(-1)[at] += step
                        sums.append(total().item())
                with torch.no_grad():
                    one.reshape(-1)[at] += 0.01
                expected = (sums[0] - sums[1]) / 0.02
                self.assertAlmostEqual(
                    grads[at], expected, delta=0.02 * abs(expected) + 0.03
                )

    def arranged(self, module, states):
        if isinstance(module, nn.LSTM):
            return (tuple(states),)
        return states

    def test_recurrent_layers(self):
        torch.manual_seed(3)
        h = torch.randn(4, 2, 3)
        self.rnn_check(
            nn.LSTM(2, 3, 2, bidirectional=True),
            torch.randn(4, 2, 2),
            h,
            torch.randn(4, 2, 3),
        )
        self.rnn_check(
            nn.GRU(2, 3, 2, batch_first=True),
            torch.randn(2, 4, 2),
            torch.randn(2, 2, 3),
        )
        self.rnn_check(
            nn.RNN(2, 3, bias=False, nonlinearity="relu"),
            torch.randn(4, 2, 2),
            torch.randn(1, 2, 3),
        )

    def test_an_lstm_is_its_formula(self):
        cell = nn.LSTMCell(1, 1)
        with torch.no_grad():
            for one in cell.parameters():
                one.fill_(0.5)
        x = torch.tensor([[2.0]])
        h, c = cell(x, (torch.tensor([[1.0]]), torch.tensor([[3.0]])))
        gate = 0.5 * 2 + 0.5 * 1 + 1.0
        open_ = 1 / (1 + math.exp(-gate))
        inner = open_ * 3 + open_ * math.tanh(gate)
        self.assertAlmostEqual(c.item(), inner, delta=1e-5)
        self.assertAlmostEqual(h.item(), open_ * math.tanh(inner), delta=1e-5)

    # ---- what is kept ----

    def test_functions_of_ones_own_save_and_let_go(self):
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, factor):
                ctx.save_for_backward(x)
                ctx.factor = factor
                return x * factor

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                self.assertEqual(x.shape, grad.shape)
                return grad * ctx.factor, None

        x = torch.ones(KIB, device="cuda", requires_grad=True)
        y = Twice.apply(x * 1, 3.0)
        self.assertEqual(y.grad_fn.name(), "TwiceBackward")
        self.assertEqual(self.allocated(), 3 * 4 * KIB)
        y.sum().backward()
        self.close(x.grad[:2], [3.0, 3.0])
        # x, its gradient and y: what was saved is gone.
        self.assertEqual(self.allocated(), 3 * 4 * KIB)
        with self.assertRaisesRegex(ValueError, "second time"):
            y.sum().backward()
        del x, y

    def test_errors_inside_come_out_as_they_are(self):
        class Wrong(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                raise LookupError("not today")

        x = torch.ones(2, requires_grad=True)
        with self.assertRaisesRegex(LookupError, "not today"):
            Wrong.apply(x).sum().backward()

    def test_what_was_written_over_is_noticed(self):
        x = torch.ones(2, requires_grad=True)
        y = x * 1
        z = F.silu(y)
        with torch.no_grad():
            y.zero_()
        with self.assertRaisesRegex(ValueError, "modified in place"):
            z.sum().backward()

    def test_in_place_keeps_a_copy_for_the_way_back(self):
        x = torch.tensor([1.0, -2.0], requires_grad=True)
        F.silu(x * 1, inplace=True).sum().backward()
        plain = torch.tensor([1.0, -2.0], requires_grad=True)
        F.silu(plain).sum().backward()
        self.close(x.grad, plain.grad.tolist())
        with self.assertRaisesRegex(RuntimeError, "leaf"):
            F.silu(x, inplace=True)

    def test_grad_leaves_no_gradients(self):
        x = torch.ones(3, requires_grad=True)
        w = torch.ones(3, requires_grad=True)
        (found,) = torch.autograd.grad((x * w * 2).sum(), x)
        self.assertEqual(found.tolist(), [2.0] * 3)
        self.assertIsNone(x.grad)
        self.assertIsNone(w.grad)
        with self.assertRaisesRegex(RuntimeError, "allow_unused"):
            torch.autograd.grad(x.sum(), (x, w))


class Types(LabCase):
    def test_they_take_their_own_memory(self):
        for dtype, bytes_each in (
            (torch.float16, 2),
            (torch.bfloat16, 2),
            (torch.float64, 8),
            (torch.int32, 4),
            (torch.int16, 2),
            (torch.int8, 1),
            (torch.uint8, 1),
        ):
            x = torch.ones(KIB, dtype=dtype, device="cuda")
            self.assertEqual(self.allocated(), bytes_each * KIB)
            self.assertEqual(x.dtype, dtype)
            self.assertEqual(x[:2].tolist(), [1, 1])
            self.assertEqual((x + x).dtype, dtype)
            del x

    def test_values_are_what_the_type_can_hold(self):
        x = torch.tensor([1 / 3, 70000.0, 1e-8, -1.5])
        self.assertEqual(
            x.half().tolist(), [0.333251953125, math.inf, 0.0, -1.5]
        )
        self.assertEqual(
            x[:2].bfloat16().tolist(), [0.333984375, 70144.0]
        )
        self.assertEqual(
            torch.tensor([300, -1]).to(torch.uint8).tolist(), [44, 255]
        )
        self.assertEqual(
            torch.tensor([200]).to(torch.int8).tolist(), [-56]
        )

    def test_gradients_are_what_the_type_can_hold(self):
        target = torch.tensor([1, 0, 2])
        cases = {
            "matmul": ([(3, 4), (4, 5)], torch.matmul),
            "linear": ([(3, 4), (5, 4), (5,)], F.linear),
            "conv2d": ([(2, 3, 5, 5), (4, 3, 3, 3), (4,)], F.conv2d),
            "softmax": ([(3, 5)], lambda x: F.softmax(x, 1)),
            "log_softmax": ([(3, 5)], lambda x: F.log_softmax(x, 1)),
            "layer_norm": (
                [(3, 5), (5,), (5,)],
                lambda x, w, b: F.layer_norm(x, (5,), w, b),
            ),
            "embedding": ([(3, 5)], lambda w: F.embedding(target, w)),
            "cross_entropy": ([(3, 5)], lambda x: F.cross_entropy(x, target)),
            "attention": (
                [(2, 3, 4)] * 3, F.scaled_dot_product_attention
            ),
            "sum_of_broadcast": ([(3, 5), (5,)], torch.mul),
        }
        for dtype in (torch.float16, torch.bfloat16):
            for name, (sizes, function) in cases.items():
                given = [
                    torch.randn(*each).to(dtype).requires_grad_()
                    for each in sizes
                ]
                out = function(*given)
                out.backward(torch.randn(*out.shape).to(dtype))
                for at, one in enumerate(given):
                    with self.subTest(name, dtype=dtype, at=at):
                        exact = one.grad.float()
                        self.assertEqual(
                            exact.tolist(), exact.to(dtype).float().tolist()
                        )

    def test_they_meet_as_in_torch(self):
        half = torch.ones(2, dtype=torch.float16)
        for other, expected in (
            (torch.ones(2, dtype=torch.bfloat16), torch.float32),
            (torch.ones(2), torch.float32),
            (torch.ones(()), torch.float16),
            (torch.ones(2, dtype=torch.int64), torch.float16),
            (2.5, torch.float16),
            (torch.ones(2, dtype=torch.float64), torch.float64),
        ):
            self.assertEqual((half * other).dtype, expected)
        small = torch.ones(2, dtype=torch.uint8)
        self.assertEqual((small + small.char()).dtype, torch.int16)
        self.assertEqual((small + 0.5).dtype, torch.float32)
        self.assertEqual(small.sum().dtype, torch.int64)
        self.assertEqual((half < 2).dtype, torch.bool)

    def test_joining_brings_them_to_one_and_keeps_them_alive(self):
        x = torch.ones(MIB, device="cuda")
        half = torch.full((MIB,), 2.0, dtype=torch.float16, device="cuda")
        for join in (torch.cat, torch.stack):
            # Made on the way, and nobody's but the call's.
            both = join(one * 1 for one in (half, x, half))
            self.assertEqual(both.dtype, torch.float32)
            self.assertEqual(
                both.reshape(-1)[:: MIB // 2].tolist(), [2, 2, 1, 1, 2, 2]
            )
            del both
        both = torch.cat((x.long(), x * 3))
        self.assertEqual(both.dtype, torch.float32)
        self.assertEqual(both[:: MIB // 2].tolist(), [1, 1, 3, 3])
        del x, half, both

    def test_gradients_are_of_their_tensors_type(self):
        x = torch.ones(3, device="cuda", requires_grad=True)
        (x.half() * 2).float().sum().backward()
        self.assertEqual(x.grad.dtype, torch.float32)
        y = torch.ones(3, dtype=torch.float16, requires_grad=True)
        (y * torch.ones(3)).sum().backward()
        self.assertEqual(y.grad.dtype, torch.float16)
        del x

    def test_autocast_converts_a_weight_once(self):
        layer = nn.Linear(64, 64).cuda()
        x = torch.randn(8, 64, device="cuda")
        with torch.autocast("cuda"):
            first = layer(x)
            before = self.allocated()
            second = layer(x)
            grown = self.allocated() - before
        # Its result and the converted input that backward keeps.
        self.assertEqual(grown, 2 * 8 * 64 * 2)
        self.assertEqual(second.dtype, torch.float16)
        with torch.autocast("cuda", enabled=False):
            self.assertEqual(layer(x).dtype, torch.float32)
        del layer, x, first, second


class Hooks(LabCase):
    def test_it_sees_and_replaces_gradients(self):
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        seen = []
        y.register_hook(lambda grad: seen.append(grad.tolist()))
        x.register_hook(lambda grad: grad * 10)
        (y * 3).sum().backward()
        self.assertEqual(seen, [[3.0] * 3])
        self.assertEqual(x.grad.tolist(), [60.0] * 3)
        self.assertEqual(torch.autograd.grad((x * 2).sum(), x)[0].tolist(),
                         [20.0] * 3)

    def test_a_removed_one_is_not_called(self):
        x = torch.ones(3, requires_grad=True)
        calls = []
        once = x.register_hook(lambda grad: (calls.append(1), once.remove())[0])
        never = x.register_hook(lambda grad: calls.append(2))
        never.remove()
        never.remove()
        with x.register_hook(lambda grad: calls.append(3)):
            x.sum().backward()
        x.sum().backward()
        self.assertEqual(calls, [1, 3])

    def test_gradients_live_as_without_hooks(self):
        x = torch.ones(MIB, device="cuda", requires_grad=True)
        peaks = []
        for hooked in (False, True):
            x.grad = None
            y = x * 2
            if hooked:
                y.register_hook(lambda grad: None)
                x.register_hook(lambda grad: None)
            torch.cuda.reset_peak_memory_stats()
            y.sum().backward()
            peaks.append(torch.cuda.max_memory_allocated())
            del y
        self.assertEqual(peaks[0], peaks[1])
        del x

    def test_what_it_raises_comes_out_of_backward(self):
        x = torch.ones(3, requires_grad=True)
        x.register_hook(lambda grad: grad[:2])
        with self.assertRaisesRegex(RuntimeError, r"sizes \[2\] from one of"):
            x.sum().backward()

        def fails(grad):
            raise KeyError("inside")

        y = torch.ones(3, requires_grad=True)
        y.register_hook(fails)
        with self.assertRaisesRegex(KeyError, "inside"):
            y.sum().backward()
        with self.assertRaisesRegex(RuntimeError, "require a gradient"):
            torch.ones(3).register_hook(fails)

    def test_a_parameters_hook_stays_when_it_moves(self):
        layer = nn.Linear(2, 1)
        calls = []
        layer.weight.register_hook(lambda grad: calls.append(grad.is_cuda))
        layer.cuda()
        layer(torch.ones(1, 2, device="cuda")).sum().backward()
        self.assertEqual(calls, [True])
        del layer


def windows(x, kernel, stride, padding, dilation, n, c):
    """The elements of each window of a plane, None outside of it, by rows of
    windows."""
    plane = x[n][c].tolist()
    high, wide = len(plane), len(plane[0])

    def at(row, column):
        inside = 0 <= row < high and 0 <= column < wide
        return plane[row][column] if inside else None

    def begins(side, length):
        reach = dilation * (kernel[side] - 1)
        return range(-padding, length + padding - reach, stride)

    return [
        [
            [
                at(top + i * dilation, left + j * dilation)
                for i in range(kernel[0])
                for j in range(kernel[1])
            ]
            for left in begins(1, wide)
        ]
        for top in begins(0, high)
    ]


class Windows(LabCase):
    """Convolution and pooling by their definitions."""

    CASES = (
        ((3, 2), 1, 0, 1, 1),
        ((2, 3), 2, 1, 1, 2),
        ((3, 3), 2, 3, 2, 4),
        ((2, 2), 3, 2, 3, 1),
    )

    def near(self, tensor, wanted):
        for have, want in zip(tensor.flatten().tolist(), wanted, strict=True):
            self.assertTrue(
                math.isclose(have, want, rel_tol=1e-4, abs_tol=1e-4),
                f"{have} for {want}",
            )

    def convolved(self, x, w, b, groups, **options):
        inner = w.shape[1]
        for n in range(x.shape[0]):
            for o in range(w.shape[0]):
                first = o // (w.shape[0] // groups) * inner
                planes = [
                    windows(x, w.shape[2:], n=n, c=first + c, **options)
                    for c in range(inner)
                ]
                weights = [w[o][c].flatten().tolist() for c in range(inner)]
                for rows in zip(*planes):
                    for each in zip(*rows):
                        yield b[o].item() + sum(
                            weight * (value or 0.0)
                            for part, window in zip(weights, each)
                            for weight, value in zip(part, window)
                        )

    def test_convolutions_sum_their_windows(self):
        for kernel, stride, padding, dilation, groups in self.CASES:
            options = {
                "stride": stride, "padding": padding, "dilation": dilation
            }
            x, w = torch.randn(2, 4, 7, 8), torch.randn(8, 4 // groups, *kernel)
            b = torch.randn(8)
            with self.subTest(**options, kernel=kernel, groups=groups):
                self.near(
                    F.conv2d(x, w, b, groups=groups, **options),
                    self.convolved(x, w, b, groups, **options),
                )

    def test_a_transposed_convolution_is_the_adjoint(self):
        for kernel, stride, padding, dilation, groups in self.CASES:
            options = {
                "stride": stride,
                "padding": padding,
                "dilation": dilation,
                "groups": groups,
            }
            w = torch.randn(8, 4 // groups, *kernel)
            x = torch.randn(1, 4, 7, 8)
            y = F.conv2d(x, w, **options)
            z = torch.randn(*y.shape)
            left = [
                (side + 2 * padding - dilation * (k - 1) - 1) % stride
                for side, k in zip((7, 8), kernel)
            ]
            back = F.conv_transpose2d(z, w, output_padding=left, **options)
            with self.subTest(**options, kernel=kernel):
                self.near((y * z).sum(), [(x * back).sum().item()])

    def test_a_maximum_is_of_its_window_and_nan_is_the_largest(self):
        for kernel, stride, padding, dilation, _ in self.CASES:
            x = torch.randn(1, 2, 7, 8)
            x[0, 1, 3, 4] = math.nan
            padding = min(padding, 1)
            out = F.max_pool2d(x, kernel, stride, padding, dilation)
            for c in range(2):
                rows = windows(x, kernel, stride, padding, dilation, 0, c)
                with self.subTest(kernel=kernel, dilation=dilation, c=c):
                    for have, window in zip(
                        out[0][c].flatten().tolist(), sum(rows, [])
                    ):
                        values = [one for one in window if one is not None]
                        if any(map(math.isnan, values)):
                            self.assertTrue(math.isnan(have))
                        else:
                            self.assertEqual(have, max(values))


if __name__ == "__main__":
    lab_case.main()
