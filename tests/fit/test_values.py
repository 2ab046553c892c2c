"""Values of a GPU that computes nothing: what is known, assumed, made up; and what
this engine cannot run."""

import subprocess
import unittest

from fit_case import PYTHON, Case

ALL = ("--steps", "all", "--advise", "never")
HAS_TORCHVISION = """
import importlib.util
raise SystemExit(importlib.util.find_spec("torchvision") is None)
"""


class Values(Case):
    def told_of(self, text, status=0):
        return self.told(*ALL, self.script(text), status=status)

    def test_a_scaler_finds_no_infinity_and_skips_no_step(self):
        told = self.told_of(
            """
            import torch
            layer = torch.nn.Linear(512, 512).cuda()
            optimizer = torch.optim.Adam(layer.parameters())
            scaler = torch.amp.GradScaler("cuda")
            with torch.autocast("cuda", dtype=torch.float16):
                loss = layer(torch.randn(8, 512, device="cuda")).sum()
            assert torch.isfinite(loss) and not torch.isnan(loss).any()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(
                layer.parameters(), 1.0, error_if_nonfinite=True)
            scaler.step(optimizer)
            assert optimizer.state
            scaler.update()
            assert scaler.get_scale() == 65536
            """
        )
        self.assertGreater(dict(told["kinds"])["optimizer state"], 2 << 20)
        self.assertEqual(
            [one[0] for one in told["assumed"]], ["no infinity, no NaN is found"]
        )
        self.assertEqual(told["made_up"], [])

    def test_small_values_are_computed(self):
        told = self.told_of(
            """
            import torch
            x = torch.arange(6, device="cuda").reshape(2, 3) * 2
            x += 1
            x[0].zero_()
            assert x.sum().item() == 27
            assert x[x > 0].tolist() == [7, 9, 11]
            order = torch.tensor([2, 0, 1], device="cuda")
            back = torch.empty_like(order)
            back.scatter_(0, order, torch.arange(3, device="cuda"))
            assert back.tolist() == [1, 2, 0]
            with torch.inference_mode():
                assert (x.argmax(1) == torch.tensor([0, 2], device="cuda")).all().item()
            """
        )
        self.assertEqual((told["made_up"], told["assumed"]), ([], []))

    def test_the_host_s_random_numbers_stay_as_they_are(self):
        told = self.told_of(
            """
            import torch
            before = torch.get_rng_state()
            drawn = torch.rand(8, device="cuda")
            for numbers in (
                torch.empty(8, device="cuda").normal_(0.0, 0.02),
                torch.empty(8, device="cuda").uniform_(0.5, 1.0),
                torch.bernoulli(drawn, 0.5),
                torch.multinomial(drawn, 4),
            ):
                assert numbers.unique().numel() > 1
            assert torch.equal(before, torch.get_rng_state())
            """
        )
        self.assertEqual((told["made_up"], told["assumed"]), ([], []))

    def test_a_copy_of_the_unknown_is_unknown(self):
        told = self.told_of(
            """
            import torch
            x = torch.zeros(4, device="cuda")
            x.copy_(torch.randn(1 << 20, device="cuda")[:4])
            assert x.sum().item() == 1
            """
        )
        self.assertEqual(len(told["made_up"]), 1)

    def test_of_an_unknown_mask_all_counts_and_the_bound_is_told(self):
        told = self.told_of(
            """
            import torch
            x = torch.randn(1 << 20, device="cuda")
            assert x[x > 0].shape == x.shape
            assert torch.unique(x).shape == x.shape
            rows = torch.randn(1 << 17, 8, device="cuda")
            for found, at, counts in (
                torch.unique(rows, dim=0, return_inverse=True, return_counts=True),
                torch.unique_consecutive(rows, True, True, dim=0),
            ):
                assert found.shape == rows.shape
                assert at.shape == counts.shape == (1 << 17,)
            assert torch.ops.aten._unique(x)[0].shape == x.shape
            found = torch.empty(0, dtype=torch.long, device="cuda")
            before = torch.cuda.memory_allocated()
            torch.nonzero(x > 0, out=found)
            assert torch.cuda.memory_allocated() - before == 8 << 20
            """
        )
        self.assertEqual(told["bound"], "at most")

    def test_what_may_be_more_or_less_is_no_bound(self):
        told = self.told_of(
            """
            import torch
            x = torch.randn(1 << 20, device="cuda")
            whole = x.abs().long()
            assert torch.repeat_interleave(x, whole).shape == x.shape
            assert torch.bincount(whole).shape == x.shape
            assert torch.repeat_interleave(whole, output_size=9).shape == (9,)
            """
        )
        self.assertEqual((told["bound"], len(told["assumed"])), (None, 2))

    def test_what_is_found_goes_where_it_is_told(self):
        told = self.told_of(
            """
            import torch
            x = torch.arange(6, device="cuda")
            for found in (x.new_empty(0), x.new_zeros(8)[:4]):
                assert torch.masked_select(x, x > 1, out=found) is found
                assert found.tolist() == [2, 3, 4, 5]
            assert torch.ops.aten._unique(x // 2)[0].tolist() == [0, 1, 2]
            """
        )
        self.assertEqual((told["made_up"], told["assumed"]), ([], []))

    def test_experts_are_chosen_in_turn(self):
        told = self.told_of(
            """
            import torch
            x = torch.randn(1 << 20, 8, device="cuda").softmax(-1)
            chosen = x[:64].topk(2).indices
            assert torch.bincount(chosen.flatten()).tolist() == [16] * 8
            """
        )
        self.assertEqual(told["bound"], "at least")


class Tensors(Case):
    def runs(self, text):
        self.told(*ALL, self.script(text))

    def test_a_moving_average_is_kept(self):
        self.runs(
            """
            import torch
            from torch.optim import swa_utils
            layer = torch.nn.Linear(8, 8).cuda()
            average = swa_utils.get_ema_multi_avg_fn(0.99)
            kept = swa_utils.AveragedModel(layer, multi_avg_fn=average)
            for _ in range(2):
                kept.update_parameters(layer)
            assert kept.n_averaged.item() == 2
            """
        )

    def test_a_parameter_of_another_class_stays_one(self):
        self.runs(
            """
            import torch
            class Packed(torch.nn.Parameter):
                def __new__(cls, data, note="none"):
                    self = torch.Tensor._make_subclass(cls, data, False)
                    self.note = note
                    return self
            layer = torch.nn.Linear(8, 8)
            layer.weight = Packed(torch.zeros(8, 8), "mine")
            layer.cuda()
            for weight in (layer.weight, Packed(torch.zeros(8, device="cuda"), "mine")):
                assert isinstance(weight, Packed) and weight.note == "mine"
                assert isinstance(weight, torch.nn.Parameter) and weight.is_cuda
            layer.cpu()
            assert type(layer.weight) is Packed and layer.weight.note == "mine"
            """
        )

    def test_values_of_a_parameter_of_another_class_are_followed(self):
        told = self.told(
            *ALL,
            self.script(
                """
                import torch
                class Own(torch.nn.Parameter):
                    pass
                layer = torch.nn.Linear(1, 4)
                layer.weight = own = Own(torch.ones(4, 1))
                layer.cuda()
                with torch.no_grad():
                    assert own.mul_(7).sum().item() == 28
                    assert torch.nn.Parameter(torch.zeros(4, 1)).copy_(own).sum() == 28
                    own.copy_(torch.randn(1 << 20, device="cuda")[:4, None])
                    assert own[0].item() == 1
                """
            ),
        )
        self.assertEqual(len(told["made_up"]), 1)

    def test_what_the_engine_itself_makes_has_values(self):
        told = self.told(
            *ALL,
            self.script(
                """
                import torch
                from torch.nn import functional
                x = torch.arange(4.0, device="cuda", requires_grad=True)
                loss = functional.mse_loss(x, x.detach() + 2)
                assert loss.item() == 4
                (x * 3 + x.exp() * 0 + x * 4).sum().backward()
                assert x.grad.tolist() == [7] * 4
                """
            ),
        )
        self.assertEqual(told["made_up"], [])

    def test_a_large_host_tensor_that_is_small_on_the_gpu_is_read(self):
        self.runs(
            """
            import torch
            drawn = torch.rand(1 << 17)
            assert drawn.to("cuda", torch.int32).eq(0).all().item()
            counts = torch.zeros(1 << 17, dtype=torch.int32, device="cuda")
            for into in (counts, counts.view(torch.float32)):
                drawn = torch.rand(1 << 17).mul_(0.5).add_(1)
                assert into.copy_(drawn).long().eq(1).all().item()
            """
        )

    def test_threads_use_the_gpu_at_once(self):
        self.runs(
            """
            import sys, torch
            from concurrent.futures import ThreadPoolExecutor
            sys.setswitchinterval(1e-6)
            def load(number):
                return sum(torch.randn(n, 64).to("cuda").mul(2).numel()
                           for n in range(1, 40))
            with ThreadPoolExecutor(8) as pool:
                assert len(set(pool.map(load, range(32)))) == 1
            assert torch.cuda.memory_allocated() == 0
            """
        )

    def test_a_module_goes_to_meta(self):
        self.runs(
            """
            import torch
            layer = torch.nn.Linear(8, 8).cuda().to("meta")
            assert layer.weight.device.type == "meta"
            """
        )

    def test_boxes_are_suppressed(self):
        if subprocess.run([PYTHON, "-c", HAS_TORCHVISION], check=False).returncode:
            self.skipTest("no torchvision")
        self.runs(
            """
            import torch, torchvision
            boxes = torch.tensor([[0, 0, 9, 9], [0, 0, 9, 8], [20, 20, 30, 30.0]])
            scores = torch.tensor([0.5, 0.9, 0.1])
            kept = torchvision.ops.nms(boxes.cuda(), scores.cuda(), 0.5)
            assert kept.tolist() == [1, 2]
            boxes = torch.randn(1 << 16, 4, device="cuda")
            kept = torchvision.ops.nms(boxes, boxes[:, 0], 0.5)
            assert len(kept) == len(boxes)
            """
        )


class Unsupported(Case):
    """No verdict, in a line that names what it is and the other engine."""

    def refused(self, text):
        run = self.run_it(*ALL, self.script(text))
        self.assertEqual(run.returncode, 2, run.stdout)
        first, line = run.stdout.splitlines()[:2]
        self.assertIn("no verdict", first)
        self.assertIn("--engine stand-in", line)
        return line

    def test_an_operator_without_a_fake_even_if_the_program_goes_on(self):
        line = self.refused(
            """
            import torch
            @torch.library.custom_op("mine::twice", mutates_args=())
            def twice(x: torch.Tensor) -> torch.Tensor:
                return torch.from_numpy(2 * x.numpy())
            try:
                twice(torch.zeros(8, device="cuda"))
            except RuntimeError:
                pass
            """
        )
        self.assertIn("mine::twice", line)

    def test_one_that_is_made_of_others_runs(self):
        told = self.told(
            self.script(
                """
                import torch
                @torch.library.custom_op("mine::twice", mutates_args=())
                def twice(x: torch.Tensor) -> torch.Tensor:
                    return x.exp() * 2
                twice(torch.zeros(1 << 20, device="cuda"))
                """
            )
        )
        self.assertEqual(told["peak_requested_bytes"], 12 << 20)

    def test_what_ends_one_that_is_made_of_others_is_told(self):
        script = self.script(
            """
            import torch
            @torch.library.custom_op("mine::first", mutates_args=())
            def first(x: torch.Tensor) -> float:
                return x.exp().sum().item()
            first(torch.zeros(1 << 22, device="cuda"))
            """
        )
        for words, error in (
            (("--device", "sim:24MiB", "--advise", "never"), "OutOfMemoryError: "),
            (("--on-item", "error"), "HostValueError: "),
        ):
            run = self.run_it(*words, script)
            self.assertIn(error, run.stderr)
            self.assertNotIn("has no fake", run.stdout + run.stderr)

    def test_flex_attention(self):
        line = self.refused(
            """
            import torch
            from torch.nn.attention.flex_attention import flex_attention
            flex_attention(*torch.zeros(3, 1, 1, 128, 16, device="cuda").unbind())
            """
        )
        self.assertIn("flex_attention", line)

    def test_a_graph(self):
        self.assertIn("CUDA graph", self.refused("import torch; torch.cuda.CUDAGraph()"))

    def test_a_second_gpu(self):
        for line in ("torch.zeros(8, device='cuda:1')", "torch.cuda.set_device(1)"):
            self.assertIn("cuda:1", self.refused(f"import torch\n{line}\n"))


if __name__ == "__main__":
    unittest.main()
