"""Whatever of torch the lab does not cover raises an error that names it."""

import inspect

import lab_case
from lab_case import MIB, LabCase
from larder import lab
from larder.lab.torch_stand_in import installing

installing.install()

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402


class Uncovered(LabCase):
    def names(self, text, function, *arguments, **named):
        with self.assertRaises(Exception) as caught:
            function(*arguments, **named)
        self.assertIn(text, str(caught.exception))
        return caught.exception

    def test_names_of_modules(self):
        for path in (
            "torch.complex64",
            "torch.svd",
            "torch.fft",
            "torch.linalg",
            "torch.nn.LPPool2d",
            "torch.nn.functional.ctc_loss",
            "torch.nn.init.sparse_",
            "torch.nn.utils.weight_norm",
            "torch.nn.utils.rnn.invert_permutation",
            "torch.optim.SparseAdam",
            "torch.optim.lr_scheduler.CyclicLR",
            "torch.amp.grad_scaler",
            "torch.autograd.functional",
            "torch.cuda.CUDAGraph",
            "torch.cuda.memory.MemPool",
            "torch.utils.tensorboard",
            "torch.utils.data.ChainDataset",
            "torch.utils.checkpoint.CheckpointPolicy",
            "torch.backends.openmp",
        ):
            error = self.names(path, eval, path)
            self.assertIsInstance(error, AttributeError)
            self.assertIn("docs/PYTHON.md", str(error))
        self.assertFalse(hasattr(torch, "vmap"))

    def test_modules(self):
        for name in ("torch.distributed", "torch.nn.quantized", "torch.fft"):
            self.names(name + " is not part of the lab", __import__, name)
        with self.assertRaises(ImportError):
            exec("from torch import vmap")
        with self.assertRaises(ImportError):
            __import__("torchvision_is_not_here")

    def test_modules_as_programs_import_them(self):
        import torch.backends.cudnn as cudnn
        import torch.nn.parallel
        import torch.nn.utils.rnn as rnn
        from torch.cuda.amp import autocast
        from torch.optim.lr_scheduler import StepLR

        cudnn.benchmark = True
        self.assertIs(torch.backends.cudnn, cudnn)
        model = torch.nn.DataParallel(nn.Linear(2, 1))
        self.assertEqual(model(torch.ones(1, 2)).shape, (1, 1))
        self.assertIn("module.weight", model.state_dict())
        self.assertTrue(callable(rnn.pad_sequence))
        self.assertTrue(issubclass(autocast, torch.autocast))
        self.assertIs(torch.optim.lr_scheduler.StepLR, StepLR)

    def test_methods(self):
        x = torch.zeros(2, 2)
        for name in ("lu", "stft", "index_reduce"):
            self.names(f"Tensor.{name}", getattr, x, name)
        with self.assertRaises(AttributeError):
            x.anything = 1

    def test_of_many_names_those_that_are_near(self):
        error = self.names("it has zeros", getattr, torch, "zeroes")
        self.assertLess(len(str(error)), 120)
        error = self.names("torch.qqq is not", getattr, torch, "qqq")
        self.assertNotIn("it has", str(error))

    def test_modules_of_modules(self):
        from torch.nn.modules.loss import CrossEntropyLoss
        from torch.nn.modules.module import Module
        from torch.nn.parameter import Parameter

        self.assertIs(Module, nn.Module)
        self.assertIs(Parameter, nn.Parameter)
        self.assertIs(CrossEntropyLoss, nn.CrossEntropyLoss)

    def test_arguments(self):
        self.names("maximize", torch.optim.SGD, [torch.ones(1)], maximize=True)
        self.names(
            "centered", torch.optim.RMSprop, [torch.ones(1)], centered=True
        )
        self.names(
            "padding_mode", nn.Conv2d, 1, 1, 3, padding_mode="reflect"
        )
        self.names("proj_size", nn.LSTM, 4, 4, proj_size=2)
        self.names("mps", torch.device, "mps")
        self.names("cuda:1", torch.zeros, 2, device="cuda:1")
        self.names("approximate", F.gelu, torch.zeros(2), "fast")
        self.names("dtype", torch.zeros, 2, dtype="float32")
        self.names("expected a tensor, not list", torch.relu, [1])
        self.names("share_memory", getattr, nn.Linear(1, 1), "share_memory")
        self.names("max_pool1d() got", F.max_pool1d, torch.ones(1, 1, 4), 2, size=1)
        self.names("bicubic", F.interpolate, torch.ones(1, 1, 2, 2), 4, None,
                   "bicubic")
        x = torch.ones(2, requires_grad=True)
        self.names("create_graph", x.sum().backward, create_graph=True)
        self.names("create_graph", torch.autograd.grad, x, x,
                   create_graph=True)
        for loss in (nn.CrossEntropyLoss, nn.MSELoss):
            self.names("beta", loss, beta=2)
            self.assertEqual(loss(reduction="sum").reduction, "sum")
        with self.assertRaisesRegex(ValueError, "sums"):
            F.l1_loss(x, x, reduction="sums")

    def test_an_option_that_is_not_taken_is_a_type_error(self):
        weights = [torch.zeros(2, requires_grad=True)]
        for make in (
            lambda: nn.Linear(3, 4, biased=False),
            lambda: torch.optim.SGD(weights, lr=0.1, moment=3),
            lambda: nn.Conv2d(3),
            lambda: nn.ReLU(1, 2, 3),
        ):
            with self.assertRaises(TypeError):
                make()

    def test_options_that_follow_a_star_have_names(self):
        data = torch.utils.data.TensorDataset(torch.ones(2))
        for make, name in (
            (lambda: torch.optim.SGD([torch.zeros(2)], 0.1, 0, 0, 0, False, False), "SGD"),
            (lambda: torch.optim.Adam([torch.zeros(2)], 1e-3, (0, 0), 0, 0, False, None), "Adam"),
            (lambda: torch.utils.data.DataLoader(data, *[None] * 13), "DataLoader"),
        ):
            with self.assertRaisesRegex(TypeError, f"{name} takes .* by position"):
                make()
        shown = str(inspect.signature(torch.optim.SGD))
        self.assertIn("nesterov=False, *, maximize=False", shown)

    def test_an_option_given_twice_is_a_type_error(self):
        for make in (
            lambda: nn.Linear(3, 4, in_features=5),
            lambda: torch.optim.SGD([torch.zeros(2)], 0.1, lr=0.2),
        ):
            with self.assertRaisesRegex(TypeError, "twice"):
                make()

    def test_a_stream_may_be_entered_twice(self):
        own, first = torch.cuda.Stream(), torch.cuda.current_stream()
        with torch.cuda.stream(own), torch.cuda.stream(own), own:
            self.assertEqual(torch.cuda.current_stream(), own)
        self.assertEqual(torch.cuda.current_stream(), first)

    def test_a_scaler_keeps_its_options_under_the_names_of_pytorch(self):
        scaler = torch.amp.GradScaler(growth_interval=7, enabled=False)
        self.assertEqual((scaler._growth_interval, scaler._enabled), (7, False))

    def test_operators_with_what_is_no_number(self):
        x = torch.ones(1, device="cuda")
        for text in ("x + 'a'", "x @ 1", "x < 'a'", "x % None", "[] - x"):
            with self.assertRaises(TypeError):
                eval(text, {"x": x})
        self.assertTrue(x != None)  # noqa: E711
        self.assertFalse(x == None)  # noqa: E711

    def test_defaults_may_be_spelled_out(self):
        x = torch.zeros(2, 3, device="cuda")
        classes = torch.tensor([0, 1], device="cuda")
        nn.CrossEntropyLoss(reduction="mean")(x, classes)
        nn.MSELoss(reduction="mean")(x, x)
        F.cross_entropy(x, classes, reduction="mean")
        F.mse_loss(x, x, reduction="mean")
        nn.Dropout(0.5, inplace=False)
        x.cuda(non_blocking=True)

    def test_every_name_that_is_listed_is_there(self):
        for module in (
            torch,
            torch.cuda,
            torch.nn,
            torch.nn.functional,
            torch.nn.utils,
            torch.amp,
            torch.autograd,
            torch.optim,
            torch.optim.lr_scheduler,
            torch.optim.swa_utils,
            torch.distributions,
            torch.nn.utils.rnn,
            torch.utils,
            torch.utils.data,
            torch.utils.checkpoint,
            torch.backends,
            torch.backends.cuda,
            torch.backends.cudnn,
            torch.backends.mps,
        ):
            with self.assertRaises(AttributeError):
                module.there_is_no_such_name
            for name in module.__getattr__.names():
                self.assertTrue(hasattr(module, name), name)


class Cuda(LabCase):
    def test_what_the_allocator_says(self):
        self.assertTrue(torch.cuda.is_available())
        self.assertEqual(torch.cuda.device_count(), 1)
        x = torch.zeros(3 * MIB, device="cuda")
        self.assertEqual(torch.cuda.memory_allocated(), 12 * MIB)
        self.assertEqual(torch.cuda.memory_reserved("cuda:0"), 12 * MIB)
        free, total = torch.cuda.mem_get_info()
        self.assertEqual((free, total), (244 * MIB, 256 * MIB))
        props = torch.cuda.get_device_properties(0)
        self.assertEqual(props.total_memory, 256 * MIB)
        self.assertEqual(torch.cuda.get_device_name(), props.name)
        stats = torch.cuda.memory_stats()
        self.assertEqual(stats["allocated_bytes.all.current"], 12 * MIB)
        self.assertEqual(stats["num_ooms"], 0)
        nested = torch.cuda.memory_stats_as_nested_dict()
        self.assertEqual(
            nested["reserved_bytes"]["large_pool"]["peak"], 12 * MIB
        )
        self.assertIn("memory summary", torch.cuda.memory_summary())
        (segment,) = torch.cuda.memory_snapshot()
        self.assertEqual(segment["total_size"], 12 * MIB)
        del x
        self.assertEqual(torch.cuda.max_memory_allocated(), 12 * MIB)
        torch.cuda.reset_peak_memory_stats()
        self.assertEqual(torch.cuda.max_memory_allocated(), 0)
        torch.cuda.empty_cache()
        self.assertEqual(torch.cuda.memory_reserved(), 0)
        torch.cuda.synchronize()

    def test_a_fraction_limits(self):
        torch.cuda.set_per_process_memory_fraction(0.125)
        with self.assertRaises(torch.cuda.OutOfMemoryError):
            torch.zeros(16 * MIB, device="cuda")
        x = torch.zeros(4 * MIB, device="cuda")
        self.assertEqual(torch.cuda.get_per_process_memory_fraction(), 0.125)
        del x
        with self.assertRaisesRegex(ValueError, "fraction"):
            torch.cuda.set_per_process_memory_fraction(1.5)

    def test_layers_print_as_in_torch(self):
        self.assertEqual(
            repr(nn.MaxPool2d(2)),
            "MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, "
            "ceil_mode=False)",
        )
        self.assertEqual(repr(nn.Dropout(0.1)), "Dropout(p=0.1, inplace=False)")
        self.assertEqual(
            repr(torch.optim.SGD(nn.Linear(1, 1).parameters(), 0.5)),
            "SGD (\nParameter Group 0\n    dampening: 0\n    lr: 0.5\n"
            "    momentum: 0\n    nesterov: False\n    weight_decay: 0\n)",
        )

    def test_devices(self):
        self.assertEqual(torch.device("cuda", 0), torch.device("cuda:0"))
        self.assertNotEqual(torch.device("cuda"), torch.device("cuda:0"))
        self.assertEqual(str(torch.device("cuda:0")), "cuda:0")
        self.assertEqual(torch.device("cpu").type, "cpu")
        x = torch.zeros(1, device=torch.device("cuda"))
        self.assertEqual(x.device, torch.device("cuda:0"))
        self.assertEqual(x.cpu().device, torch.device("cpu"))
        self.assertTrue(torch.zeros(1).cuda().is_cuda)
        self.assertIs(torch.Tensor, lab.Tensor)
        del x

    def test_data_sets(self):
        data = TensorDataset(torch.arange(10), torch.arange(20).view(10, 2))
        batches = list(DataLoader(data, batch_size=4))
        self.assertEqual([len(b[0]) for b in batches], [4, 4, 2])
        self.assertEqual(batches[1][1].tolist()[0], [8, 9])
        loader = DataLoader(data, 4, shuffle=True, drop_last=True)
        self.assertEqual(len(loader), 2)
        seen = [i for batch, _ in loader for i in batch.tolist()]
        self.assertEqual(len(set(seen)), 8)
        parts = torch.utils.data.random_split(data, [7, 3])
        self.assertEqual([len(part) for part in parts], [7, 3])
        found = [int(part[i][0]) for part in parts for i in range(len(part))]
        self.assertEqual(sorted(found), list(range(10)))
        plain = [{"x": 1.5, "y": (2, "a")}] * 2
        (batch,) = DataLoader(plain, batch_size=2)
        self.assertEqual(batch["x"].tolist(), [1.5, 1.5])
        self.assertEqual(batch["y"][1], ["a", "a"])


if __name__ == "__main__":
    lab_case.main()
