"""Parts of torch that programs ask for now and then: their numbers."""

import math

import lab_case
from lab_case import LabCase
from larder.lab.torch_stand_in import installing

installing.install()

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch.distributions import (  # noqa: E402
    Bernoulli,
    Beta,
    Categorical,
    Normal,
    Uniform,
    kl_divergence,
)
from torch.nn.utils.rnn import (  # noqa: E402
    pack_padded_sequence,
    pack_sequence,
    pad_packed_sequence,
)
from torch.optim.swa_utils import (  # noqa: E402
    SWALR,
    AveragedModel,
    get_ema_avg_fn,
    update_bn,
)
from torch.utils.checkpoint import checkpoint  # noqa: E402


class Huge(LabCase):
    def test_huge_counts_are_refused_at_once(self):
        x = torch.zeros(4, 6)
        layer = nn.TransformerEncoderLayer(8, 2)
        for count in (2**63, 2**62, 2**40):
            for call in (
                lambda n: torch.repeat_interleave(x, n),
                lambda n: x.repeat_interleave(n, 0),
                lambda n: x.repeat_interleave(torch.tensor([n, 1, 1, 1]), 0)
                if n < 2**63
                else x.repeat_interleave(n, 1),
                lambda n: nn.LSTM(4, 4, n),
                lambda n: nn.GRU(4, 4, n),
                lambda n: nn.TransformerEncoder(layer, n),
                lambda n: torch.zeros(n),
                lambda n: torch.eye(n),
                lambda n: F.pad(x, (n, n)),
            ):
                with self.assertRaises(
                    (RuntimeError, ValueError, OverflowError, AttributeError)
                ):
                    call(count)
            if count < 2**62:
                self.assertEqual(len(x.chunk(count)), 4)


class Parts(LabCase):
    def test_windows_along_a_dimension(self):
        x = torch.arange(5.0, requires_grad=True)
        windows = x.unfold(0, 3, 1)
        self.close(windows, [0, 1, 2, 1, 2, 3, 2, 3, 4])
        windows.sum().backward()
        self.close(x.grad, [1, 2, 3, 2, 1])
        self.assertEqual(torch.ones(2, 6, 4).unfold(1, 2, 2).shape, (2, 3, 4, 2))

    def test_values_that_are_there(self):
        x = torch.tensor([3, 1, 3, 2])
        found, inverse, counts = x.unique(
            return_inverse=True, return_counts=True
        )
        self.close(found, [1, 2, 3])
        self.close(inverse, [2, 0, 2, 1])
        self.close(counts, [1, 1, 2])
        self.close(
            torch.histc(torch.tensor([1.0, 2, 1]), bins=4, min=0, max=3),
            [0, 2, 1, 0],
        )

    def test_the_largest_that_is_scattered(self):
        x = torch.zeros(3, requires_grad=True)
        src = torch.tensor([5.0, 7.0, -1.0], requires_grad=True)
        index = torch.tensor([0, 0, 1])
        out = x.scatter_reduce(0, index, src, reduce="amax")
        self.close(out, [7, 0, 0])
        out.sum().backward()
        self.close(src.grad, [0, 1, 0])
        self.close(x.grad, [0, 1, 1])
        low = torch.zeros(3).scatter_reduce(0, index, src, reduce="amin")
        self.close(low, [0, -1, 0])

    def test_a_diagonal_is_filled(self):
        self.close(torch.zeros(2, 2).fill_diagonal_(4), [4, 0, 0, 4])

    def test_numpy_s_names_of_arguments(self):
        x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        self.close(torch.cumprod(x, axis=0), [1, 2, 3, 8])
        self.assertEqual(x.sum(axis=1, keepdims=True).shape, (2, 1))
        self.close(x.mean(axis=1), [1.5, 3.5])

    def test_a_target_may_want_a_gradient(self):
        for loss, expected in (
            (F.l1_loss, [-0.5, 0.5]),
            (F.smooth_l1_loss, [-0.5, 0.5]),
            (F.huber_loss, [-0.5, 0.5]),
            (F.mse_loss, [-2.0, 3.0]),
        ):
            target = torch.tensor([1.0, 5.0], requires_grad=True)
            loss(torch.tensor([3.0, 2.0]), target).backward()
            self.close(target.grad, expected)

    def test_losses_by_margins(self):
        scores = torch.tensor([[0.1, 0.2, 0.4, 0.8]])
        found = F.multi_margin_loss(scores, torch.tensor([3]))
        # (1 - 0.7 + 1 - 0.6 + 1 - 0.4) / 4
        self.close(found, [0.325])
        one, two = torch.tensor([1.0]), torch.tensor([3.0])
        ranked = nn.MarginRankingLoss(margin=0.5)(one, two, torch.ones(1))
        self.close(ranked, [2.5])
        self.close(F.soft_margin_loss(one, one), [math.log(1 + math.exp(-1))])
        self.close(
            F.gaussian_nll_loss(one, two, two), [0.5 * (math.log(3) + 4 / 3)]
        )
        self.close(nn.PoissonNLLLoss()(one, two), [math.e - 3])

    def test_activations_with_slopes(self):
        x = torch.tensor([[-2.0, 2.0]], requires_grad=True)
        prelu = nn.PReLU(2, init=0.5)
        prelu(x).sum().backward()
        self.close(x.grad, [0.5, 1])
        self.close(prelu.weight.grad, [-2, 0])
        self.close(nn.Softsign()(torch.tensor([1.0, -3.0])), [0.5, -0.75])

    def test_first_values(self):
        w = torch.empty(8, 4)
        nn.init.orthogonal_(w)
        self.close(w.t() @ w, torch.eye(4).reshape(-1).tolist(), 1e-3)
        nn.init.trunc_normal_(w, std=1.0, a=-0.5, b=0.5)
        self.assertLessEqual(w.abs().max().item(), 0.5)
        self.assertGreater(w.unique().numel(), 16)
        self.assertEqual(nn.init.calculate_gain("relu"), math.sqrt(2))

    def test_a_series_has_one_size(self):
        x = torch.ones(1, 1, 6)
        self.close(F.avg_pool1d(x, (2,)), [1, 1, 1])
        for wrong in (
            lambda: F.adaptive_avg_pool1d(x, (2, 3)),
            lambda: F.max_pool1d(x, (2, 3)),
            lambda: F.conv1d(x, torch.ones(1, 1, 2), stride=()),
        ):
            with self.assertRaisesRegex(ValueError, "for one side"):
                wrong()

    def test_functions_have_their_names(self):
        for made in (F.max_pool1d, F.avg_pool1d):
            self.assertIs(getattr(F, made.__name__), made)
        self.assertIn("avg_pool1d", nn.AvgPool1d.__doc__)
        for made in (torch.cuda.memory_allocated, torch.cuda.max_memory_reserved):
            self.assertIs(getattr(torch.cuda, made.__name__), made)

    def test_a_cosine_has_torch_s_rates_exactly(self):
        optimizer = torch.optim.SGD([torch.ones(1)], lr=0.1)
        cosine = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 50)
        for epoch in range(100):
            turn = math.cos(math.pi * (epoch % 50) / 50)
            self.assertEqual(cosine.get_last_lr(), [0.1 * (1 + turn) / 2])
            cosine.step()

    def test_a_schedule_of_one_cycle_ends_as_torch_s(self):
        optimizer = torch.optim.SGD([torch.ones(1)], lr=1)
        cycle = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, max_lr=1, total_steps=4
        )
        for _ in range(4):
            cycle.step()
        with self.assertRaisesRegex(ValueError, "step 5"):
            cycle.step()


class DefaultDevice(LabCase):
    def test_where_what_names_no_device_is_made(self):
        with torch.device("cuda"):
            layer = nn.Linear(2, 3)
            there = torch.tensor([1.0])
            self.assertEqual(torch.ones(1, device="cpu").device.type, "cpu")
        here = torch.zeros(1)
        self.assertTrue(layer.weight.is_cuda and there.is_cuda)
        self.assertFalse(here.is_cuda)
        # A tensor of 8 KiB, and nothing for its first values.
        torch.set_default_device("cuda")
        try:
            self.session.reset_peak()
            before = self.figure("allocated_peak")
            nn.Linear(64, 32, bias=False)
            grown = self.figure("allocated_peak") - before
            self.assertEqual(str(torch.get_default_device()), "cuda:0")
        finally:
            torch.set_default_device(None)
        self.assertEqual(grown, 8192)
        self.assertFalse(torch.ones(1).is_cuda)


class Distributions(LabCase):
    def test_normal(self):
        loc = torch.tensor([0.0, 1.0], requires_grad=True)
        normal = Normal(loc, 2.0)
        at = torch.tensor([0.0, 3.0])
        peak = -math.log(2 * math.sqrt(2 * math.pi))
        self.close(normal.log_prob(at), [peak, peak - 0.5])
        self.close(normal.entropy(), [0.5 - peak] * 2)
        self.assertEqual(normal.sample((3,)).shape, (3, 2))
        self.assertFalse(normal.sample().requires_grad)
        normal.rsample().sum().backward()
        self.close(loc.grad, [1, 1])
        wide = Normal(torch.zeros(1), 1.0)
        self.close(kl_divergence(Normal(torch.ones(1), 1.0), wide), [0.5])

    def test_categorical(self):
        logits = torch.tensor([[0.0, math.log(3.0)]], requires_grad=True)
        one = Categorical(logits=logits)
        self.close(one.probs, [0.25, 0.75])
        self.close(one.log_prob(torch.tensor([1])), [math.log(0.75)])
        self.assertEqual(one.sample().shape, (1,))
        self.assertEqual(one.sample((5,)).shape, (5, 1))
        both = -0.25 * math.log(0.25) - 0.75 * math.log(0.75)
        self.close(one.entropy(), [both])
        one.log_prob(torch.tensor([0])).sum().backward()
        self.close(logits.grad, [0.75, -0.75])
        self.assertEqual(Categorical(torch.tensor([0.0, 1.0])).sample().item(), 1)
        with self.assertRaises(ValueError):
            Categorical()

    def test_others(self):
        self.close(Uniform(1.0, 3.0).log_prob(torch.tensor(2.0)), [-math.log(2)])
        self.close(
            Bernoulli(torch.tensor(0.25)).log_prob(torch.tensor(1.0)),
            [math.log(0.25)],
        )
        torch.manual_seed(1)
        first = Beta(0.2, 0.2).sample((4,)).tolist()
        torch.manual_seed(1)
        self.assertEqual(Beta(0.2, 0.2).sample((4,)).tolist(), first)
        self.assertTrue(all(0 <= value <= 1 for value in first))


class Averages(LabCase):
    def test_a_model_s_mean(self):
        model = nn.Linear(1, 1, bias=False)
        swa = AveragedModel(model)
        ema = AveragedModel(model, avg_fn=get_ema_avg_fn(0.75))
        for value in (1.0, 2.0, 6.0):
            model.weight.data.fill_(value)
            swa.update_parameters(model)
            ema.update_parameters(model)
        self.close(swa.module.weight, [3.0])
        self.close(ema.module.weight, [0.75 * 1.25 + 0.25 * 6])
        self.assertIn("module.weight", swa.state_dict())

    def test_running_means_anew(self):
        model = nn.Sequential(nn.BatchNorm1d(1))
        batches = [torch.full((4, 1), 2.0), torch.full((4, 1), 4.0)]
        update_bn(batches, model)
        self.close(model[0].running_mean, [3.0])
        self.assertEqual(model[0].momentum, 0.1)

    def test_a_rate_for_averages(self):
        optimizer = torch.optim.SGD([torch.ones(1)], lr=1.0)
        rates = SWALR(optimizer, 0.5, anneal_epochs=2, anneal_strategy="linear")
        for expected in (0.75, 0.5, 0.5):
            rates.step()
            self.assertAlmostEqual(rates.get_last_lr()[0], expected)

    def test_a_valley_by_lbfgs(self):
        x = torch.tensor([-1.0, 2.0], requires_grad=True)
        optimizer = torch.optim.LBFGS([x], lr=0.5, max_iter=60)

        def closure():
            optimizer.zero_grad()
            loss = (x[0] - 1) ** 2 + 5 * (x[1] + x[0]) ** 2
            loss.backward()
            return loss

        first = optimizer.step(closure)
        self.assertAlmostEqual(first.item(), 9.0, places=4)
        self.close(x, [1.0, -1.0], 1e-2)


class Packed(LabCase):
    def lengths_match(self, make, state_parts):
        """Each row's results are those of the row alone."""
        torch.manual_seed(0)
        layer = make(3, 5, num_layers=2, bidirectional=True)
        rows = [torch.randn(n, 3) for n in (4, 2, 3)]
        packed = pack_sequence(rows, enforce_sorted=False)
        out, last = layer(packed)
        padded, lengths = pad_packed_sequence(out)
        self.assertEqual(lengths.tolist(), [4, 2, 3])
        last = last if isinstance(last, tuple) else (last,)
        total = padded.sum() + last[0].sum()
        total.backward()
        together = [p.grad.clone() for p in layer.parameters()]
        layer.zero_grad()
        for i, row in enumerate(rows):
            alone, state = layer(row.unsqueeze(1))
            state = state if isinstance(state, tuple) else (state,)
            self.close(padded[: len(row), i], alone.reshape(-1).tolist())
            for mine, whole in zip(state[:state_parts], last):
                self.close(whole[:, i], mine.reshape(-1).tolist())
            (alone.sum() + state[0].sum()).backward()
        self.close(padded[2:, 1], [0] * 20)
        for found, parameter in zip(together, layer.parameters()):
            self.close(found, parameter.grad.reshape(-1).tolist(), 1e-4)

    def test_lstm(self):
        self.lengths_match(nn.LSTM, 2)

    def test_gru(self):
        self.lengths_match(nn.GRU, 1)

    def test_what_is_packed(self):
        x = torch.arange(6.0).reshape(3, 2, 1)
        packed = pack_padded_sequence(x, torch.tensor([3, 1]))
        self.close(packed.data, [0, 1, 2, 4])
        self.close(packed.batch_sizes, [2, 1, 1])
        whole, _ = pad_packed_sequence(packed, batch_first=True, total_length=4)
        self.assertEqual(whole.shape, (2, 4, 1))
        with self.assertRaisesRegex(RuntimeError, "enforce_sorted"):
            pack_padded_sequence(x, [1, 3])
        with self.assertRaisesRegex(ValueError, "lengths"):
            pack_padded_sequence(x, [4, 1])


class Checkpoints(LabCase):
    def test_frozen_inputs_of_a_part_that_learns(self):
        layer = nn.Linear(2, 2)
        x = torch.ones(1, 2)
        for others in ((), (torch.ones(1, 2),)):
            layer.zero_grad()
            run = layer if not others else lambda a, b: layer(a + b) - layer(b)
            checkpoint(run, x, *others, use_reentrant=False).sum().backward()
            self.assertIsNotNone(layer.weight.grad)
        with self.assertWarnsRegex(UserWarning, "None of the inputs"):
            out = checkpoint(layer, x, use_reentrant=True)
        self.assertFalse(out.requires_grad)

    def test_nothing_inside_learns(self):
        layer = nn.Linear(2, 2).requires_grad_(False)
        out = checkpoint(layer, torch.ones(1, 2), use_reentrant=False)
        self.assertFalse(out.requires_grad)

    def test_several_results(self):
        x = torch.tensor([2.0], requires_grad=True)
        y = torch.tensor([3.0], requires_grad=True)
        product, total = checkpoint(
            lambda a, b: (a * b, a + b), x, y, use_reentrant=False
        )
        (product * 10 + total).sum().backward()
        self.close(x.grad, [31])
        self.close(y.grad, [21])


if __name__ == "__main__":
    lab_case.main()
