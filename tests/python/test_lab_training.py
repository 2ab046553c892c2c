"""Models train, and their memory is what PyTorch's would be."""

import copy
import math

import lab_case
from lab_case import MIB, LabCase
from larder.lab.torch_stand_in import installing

installing.install()

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402


def mlp():
    return nn.Sequential(
        nn.Linear(8, 32),
        nn.ReLU(),
        nn.Linear(32, 32),
        nn.Tanh(),
        nn.Linear(32, 3),
    )


class Modules(LabCase):
    def test_parameters_have_names_and_move_in_place(self):
        model = mlp()
        names = [name for name, _ in model.named_parameters()]
        self.assertEqual(names[:2], ["0.weight", "0.bias"])
        weight = model[0].weight
        self.assertIs(model.to("cuda"), model)
        self.assertIs(model[0].weight, weight)
        self.assertTrue(weight.is_cuda)
        self.assertTrue(weight.requires_grad and weight.is_leaf)
        self.assertIsInstance(weight, nn.Parameter)
        self.assertEqual(self.figure("host_bytes"), 0)
        bytes_now = self.allocated()
        model.to("cuda")
        self.assertEqual(self.allocated(), bytes_now)
        del model, weight

    def test_first_values_are_bounded_as_torchs(self):
        layers = (nn.Linear(64, 400), 64), (nn.Conv2d(4, 64, 3), 36)
        for layer, fan_in in layers:
            bound = 1 / math.sqrt(fan_in)
            for tensor in (layer.weight, layer.bias):
                values = tensor.reshape(-1).tolist()
                self.assertLessEqual(max(map(abs, values)), bound)
                self.assertGreater(max(map(abs, values)), 0.9 * bound)

    def test_repr(self):
        self.assertEqual(
            repr(nn.Sequential(nn.Linear(2, 3), nn.ReLU())),
            "Sequential(\n"
            "  (0): Linear(in_features=2, out_features=3, bias=True)\n"
            "  (1): ReLU()\n"
            ")",
        )

    def test_a_module_of_ones_own(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
                self.scale = nn.Parameter(torch.ones(1))
                self.register_buffer("shift", torch.ones(1))
                self.note = "plain"

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x * self.scale + self.shift

        net = Net().to("cuda")
        self.assertEqual(len(list(net.parameters())), 5)
        self.assertTrue(net.shift.is_cuda)
        self.assertEqual(net(torch.zeros(2, 4, device="cuda")).shape, (2, 4))
        self.assertFalse(net.eval().layers[0].training)
        state = net.state_dict()
        self.assertEqual(list(state)[0], "scale")
        other = Net()
        other.load_state_dict(state)
        self.assertEqual(
            other.layers[1].weight.tolist(), net.layers[1].weight.tolist()
        )
        with self.assertRaises(AttributeError):
            net.nothing_such
        with self.assertRaises(TypeError):
            net.scale = "text"

        class Early(nn.Module):
            def __init__(self):
                self.layer = nn.Linear(1, 1)

        with self.assertRaisesRegex(AttributeError, "super"):
            Early()
        del net, state

    def test_a_copy_is_its_own(self):
        model = mlp()
        twin = copy.deepcopy(model)
        with torch.no_grad():
            twin[0].weight.zero_()
        self.assertNotEqual(model[0].weight[0, 0].item(), 0)
        self.assertTrue(twin[0].weight.requires_grad)

    def test_layers(self):
        image = torch.randn(2, 3, 8, 8)
        net = nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
        )
        self.assertEqual(net(image).shape, (2, 64))
        words = nn.Embedding(10, 6)(torch.randint(10, (2, 5)))
        self.assertEqual(words.shape, (2, 5, 6))
        normed = nn.LayerNorm(6)(words)
        self.assertAlmostEqual(normed[0, 0].mean().item(), 0, delta=1e-5)
        rows = nn.Softmax(dim=-1)(normed).sum(-1)
        self.close(rows, [1] * 10)
        drop = nn.Dropout(0.5)
        kept = drop(torch.ones(1000)).tolist()
        self.assertEqual(set(kept), {0.0, 2.0})
        x = torch.ones(4)
        self.assertIs(drop.eval()(x), x)
        self.close(nn.GELU()(torch.tensor([1.0])), [0.841345])
        self.close(nn.Sigmoid()(torch.zeros(1)), [0.5])
        out = nn.functional.scaled_dot_product_attention(
            *[torch.randn(2, 2, 5, 4) for _ in range(3)], is_causal=True
        )
        self.assertEqual(out.shape, (2, 2, 5, 4))

    def test_layers_keep_and_check_their_options(self):
        pool = nn.AvgPool2d(2, padding=1)
        self.assertEqual((pool.kernel_size, pool.padding), (2, 1))
        self.assertEqual(repr(nn.AdaptiveAvgPool2d(1)), "AdaptiveAvgPool2d(output_size=1)")
        self.assertEqual(repr(nn.L1Loss()), "L1Loss()")
        for layer in (nn.PixelShuffle, nn.AvgPool1d, nn.Threshold):
            with self.assertRaisesRegex(TypeError, f"{layer.__name__} needs"):
                layer()

    def test_losses(self):
        logits = torch.zeros(4, 5)
        loss = nn.CrossEntropyLoss()(logits, torch.tensor([0, 1, 2, 3]))
        self.assertAlmostEqual(loss.item(), math.log(5), delta=1e-6)
        loss = nn.MSELoss()(torch.tensor([1.0, 3.0]), torch.zeros(2))
        self.assertAlmostEqual(loss.item(), 5, delta=1e-6)


class Training(LabCase):
    def train(self, make_optimizer, keep_losses=False):
        """Reserved and allocated bytes after each step, and the losses."""
        torch.manual_seed(3)
        x = torch.randn(256, 8)
        data = TensorDataset(x, x[:, :3].argmax(1))
        loader = DataLoader(data, batch_size=64, shuffle=True)
        model = mlp().to("cuda")
        optimizer = make_optimizer(model.parameters())
        criterion = nn.CrossEntropyLoss()
        figures, losses, kept = [], [], []
        for _ in range(8):
            for inputs, labels in loader:
                inputs, labels = inputs.to("cuda"), labels.to("cuda")
                optimizer.zero_grad()
                loss = criterion(model(inputs), labels)
                losses.append(loss.item())
                if keep_losses:
                    kept.append(loss)
                loss.backward()
                optimizer.step()
                reserved = torch.cuda.memory_reserved()
                figures.append((reserved, torch.cuda.memory_allocated()))
        return figures, losses

    def test_memory_is_constant_and_the_loss_falls(self):
        for make in (
            lambda p: torch.optim.SGD(p, lr=0.5, momentum=0.9),
            lambda p: torch.optim.Adam(p, lr=0.02),
            lambda p: torch.optim.AdamW(p, lr=0.02),
        ):
            figures, losses = self.train(make)
            self.assertEqual(len(set(figures[2:])), 1)
            first, last = sum(losses[:4]), sum(losses[-4:])
            self.assertLess(last, 0.95 * first)
            self.assertEqual(self.allocated(), 0)

    def test_keeping_losses_keeps_512_bytes_each(self):
        figures, _ = self.train(
            lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), keep_losses=True
        )
        allocated = [figure[1] for figure in figures]
        growth = {b - a for a, b in zip(allocated[2:], allocated[3:])}
        self.assertEqual(growth, {512})
        self.assertEqual(self.allocated(), 0)

    def test_a_step_of_each_optimizer(self):
        for make, after in (
            (lambda p: torch.optim.SGD(p, lr=0.1), 0.8),
            (lambda p: torch.optim.SGD(p, lr=0.1, weight_decay=1), 0.7),
            (lambda p: torch.optim.Adam(p, lr=0.1), 0.9),
            (lambda p: torch.optim.AdamW(p, lr=0.1), 0.899),
            (lambda p: torch.optim.AdamW(p, lr=0.1, weight_decay=0), 0.9),
            (lambda p: torch.optim.Adam(p, lr=0.1, amsgrad=True), 0.9),
            (lambda p: torch.optim.SGD(p, 0.1, 0.9, nesterov=True), 0.62),
            (lambda p: torch.optim.RMSprop(p, lr=0.1), 0.0),
            (lambda p: torch.optim.Adagrad(p, lr=0.1), 0.9),
            (lambda p: torch.optim.Adadelta(p, lr=100.0), 0.683772),
        ):
            weight = nn.Parameter(torch.ones(1))
            optimizer = make([weight])
            (weight * weight).sum().backward()
            optimizer.step()
            self.assertAlmostEqual(weight.item(), after, delta=1e-5)
            optimizer.zero_grad()
            self.assertIsNone(weight.grad)

    def test_the_learning_rate_may_change(self):
        weight = nn.Parameter(torch.ones(1))
        optimizer = torch.optim.SGD([weight], lr=0.1)
        weight.sum().backward()
        optimizer.step()
        optimizer.param_groups[0]["lr"] = 0.0
        optimizer.step()
        self.assertAlmostEqual(weight.item(), 0.9, delta=1e-6)
        optimizer.param_groups[0].update(lr=0.1, momentum=0.5)
        optimizer.step()
        optimizer.step()
        self.assertAlmostEqual(weight.item(), 0.9 - 0.1 - 0.15, delta=1e-6)

    def test_zeroed_gradients_keep_their_memory(self):
        weight = nn.Parameter(torch.ones(MIB, device="cuda"))
        optimizer = torch.optim.SGD([weight], lr=0.1)
        weight.mean().backward()
        optimizer.zero_grad(set_to_none=False)
        self.assertEqual(self.allocated(), 8 * MIB)
        self.assertEqual(weight.grad[0].item(), 0)
        optimizer.zero_grad()
        self.assertEqual(self.allocated(), 4 * MIB)
        del weight, optimizer

    def test_a_model_may_move_between_steps(self):
        model = nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model.to("cuda")
        model(torch.ones(1, 2, device="cuda")).sum().backward()
        optimizer.step()
        bias = model.bias.tolist()
        model.to("cpu")
        optimizer.step()
        self.close(model.bias, [one - 0.1 for one in bias])
        del model, optimizer

    def test_dropout_of_images_drops_channels(self):
        torch.manual_seed(0)
        x = torch.ones(4, 8, 5, 5, device="cuda", requires_grad=True)
        before = self.allocated()
        y = nn.Dropout2d(0.5)(x)
        # The result, and a number for each channel that backward reads.
        self.assertEqual(self.allocated() - before, 3584 + 512)
        sums = set(y.sum((2, 3)).flatten().tolist())
        self.assertEqual(sums, {0.0, 50.0})
        y.sum().backward()
        self.assertEqual(x.grad.tolist(), y.detach().tolist())
        sample = nn.functional.dropout1d(torch.ones(64, 10))
        self.assertEqual(set(sample.sum(1).tolist()), {0.0, 20.0})
        self.assertIs(nn.Dropout2d(0.5).eval()(x), x)
        del x, y, sample

    def test_checkpointing_gives_the_same_gradients(self):
        from torch.utils.checkpoint import checkpoint

        torch.manual_seed(1)
        model = mlp().to("cuda")
        x = torch.randn(4, 8, device="cuda", requires_grad=True)
        grads = []
        for run in (model, lambda t: checkpoint(model, t, use_reentrant=True)):
            model.zero_grad()
            run(x).sum().backward()
            grads.append(model[0].weight.grad.tolist())
        self.assertEqual(grads[0], grads[1])
        del model, x, run


if __name__ == "__main__":
    lab_case.main()
