"""`larder run` under a real PyTorch."""

import json
import os
import subprocess
import unittest

from fit_case import BUILD, HERE, TINY, Case


class Programs(Case):
    """What students write runs unchanged to its end."""

    def ends(self, name):
        path = os.path.join(HERE, "programs", name + ".py")
        told = self.told("--steps", "all", path)
        self.assertEqual(told["how"], "ended")
        return told

    def test_a_cnn_with_batch_norm(self):
        self.ends("cnn")

    def test_a_transformer(self):
        self.ends("transformer")

    def test_an_lstm(self):
        self.ends("lstm")

    def test_mixed_precision(self):
        self.ends("mixed")

    def test_a_loader_with_workers(self):
        self.assertEqual(self.ends("loader")["steps"], 4)

    def test_the_functions_about_memory(self):
        self.ends("memory")

    def test_accumulation_with_checkpoints(self):
        self.assertEqual(self.ends("accumulate")["steps"], 2)

    def test_saving_and_loading(self):
        self.ends("saving")

    def test_programs_of_the_lab(self):
        for name in (
            "siamese",
            "characters",
            "style_transfer",
            "dcgan",
            "vae",
            "translation",
            "grad_cam",
        ):
            path = os.path.join(HERE, "..", "python", "programs", name + ".py")
            self.assertEqual(self.told("--steps", "2", path)["steps"], 2)


class Cards(Case):
    def test_a_multiprocessor_has_its_threads(self):
        for card, threads in (("t4", 1024), ("rtx5090", 1536), ("h100", 2048)):
            text = f"""
            import torch
            properties = torch.cuda.get_device_properties(0)
            assert properties.max_threads_per_multi_processor == {threads}
            torch.ones(1, device="cuda")
            """
            self.told("--gpu", card, self.script(text))


class Lifetimes(Case):
    def test_numbers_are_drawn_with_a_generator_of_the_program(self):
        self.told(
            self.script(
                """
                import torch
                generator = torch.Generator("cuda").manual_seed(1)
                drawn = torch.randn(8, device="cuda", generator=generator)
                assert torch.bernoulli(drawn, generator=generator).shape == (8,)
                """
            )
        )

    def test_the_device_and_the_stream_are_contexts(self):
        self.told(
            self.script(
                """
                import torch
                data, side = torch.zeros(8, device="cuda"), torch.cuda.Stream()
                with torch.cuda.device_of(data), torch.cuda.device(0), side:
                    assert torch.cuda.current_stream() == side
                assert torch.cuda.current_stream() == torch.cuda.default_stream()
                """
            )
        )

    def test_an_optimizer_made_before_the_move_has_its_parameters(self):
        told = self.told(self.script(TINY))
        kinds = dict(told["kinds"])
        parameters = 2 * (256 * 256 + 256) * 4
        self.assertEqual(kinds["parameters"], parameters)
        self.assertGreaterEqual(kinds["optimizer state"], 2 * parameters)

    def test_an_optimizer_that_is_dropped_is_freed(self):
        self.told(
            self.script(
                """
                import torch
                def train():
                    layer = torch.nn.Linear(1024, 1024).cuda()
                    optimizer = torch.optim.Adam(layer.parameters())
                    layer(torch.zeros(8, 1024, device="cuda")).sum().backward()
                    before = torch.cuda.memory_allocated()
                    optimizer.step()
                    assert torch.cuda.memory_allocated() > before
                train()
                kept = torch.cuda.memory_allocated()
                train()
                assert torch.cuda.memory_allocated() == kept < 20 << 20, kept
                """
            )
        )

    def test_tied_weights_are_one_allocation(self):
        told = self.told(
            self.script(
                """
                import torch
                a = torch.nn.Linear(1024, 1024, bias=False)
                b = torch.nn.Linear(1024, 1024, bias=False)
                b.weight = a.weight
                model = torch.nn.Sequential(a, b).to("cuda")
                assert a.weight is b.weight
                assert torch.cuda.memory_allocated() == 4 << 20
                """
            )
        )
        self.assertEqual(told["peak_requested_bytes"], 4 << 20)

    def test_a_second_gradient_is_added_in_place(self):
        """Two uses of a leaf: the sum takes no memory of its own."""
        told = self.told(
            self.script(
                """
                import torch
                x = torch.zeros(1 << 20, device="cuda", requires_grad=True)
                (x.exp().sum() + x.sin().sum()).backward()
                assert torch.cuda.memory_allocated() == 8 << 20
                """
            )
        )
        self.assertLessEqual(told["peak_requested_bytes"], (20 << 20) + 4096)

    def test_a_second_gradient_is_added_in_place_inside_the_graph_too(self):
        """x, y, what exp() gave, two gradients, and no sum of their own."""
        told = self.told(
            self.script(
                """
                import torch
                x = torch.zeros(1 << 20, device="cuda", requires_grad=True)
                y = x * 2
                grown = y.exp()
                (grown.sum() + y.sin().sum()).backward()
                assert torch.cuda.memory_allocated() == 16 << 20
                """
            )
        )
        self.assertLessEqual(told["peak_requested_bytes"], (20 << 20) + 8192)

    def test_a_recurrent_layer_s_results_lie_with_steps_first(self):
        self.told(
            self.script(
                """
                import torch
                layer = torch.nn.LSTM(8, 16, batch_first=True).cuda()
                output, _ = layer(torch.zeros(4, 5, 8, device="cuda"))
                assert output.shape == (4, 5, 16)
                assert output.transpose(0, 1).is_contiguous()
                """
            )
        )

    def test_a_recurrent_layer_s_last_state_alone_may_have_a_gradient(self):
        self.told(
            self.script(
                """
                import torch
                layer = torch.nn.LSTM(8, 16, batch_first=True).cuda()
                _, (state, _) = layer(torch.zeros(4, 5, 8, device="cuda"))
                state.sum().backward()
                assert layer.weight_hh_l0.grad.shape == (64, 16)
                """
            )
        )

    def test_a_recurrent_layer_s_narrow_weights_go_with_their_step(self):
        self.told(
            "--steps", "all",
            self.script(
                """
                import torch
                layer = torch.nn.LSTM(64, 64).cuda()
                optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
                after = []
                for step in range(4):
                    with torch.autocast("cuda", dtype=torch.bfloat16):
                        output, _ = layer(torch.zeros(4, 2, 64, device="cuda"))
                    assert output.dtype == torch.float16
                    output.float().sum().backward()
                    optimizer.step()
                    optimizer.zero_grad()
                    del output, _
                    after.append(torch.cuda.memory_allocated())
                assert len(set(after)) == 1, after
                """
            ),
        )

    def test_formulas_write_into_what_they_made(self):
        """x and its gradient, and no second one."""
        told = self.told(
            self.script(
                """
                import torch
                x = torch.zeros(1 << 20, device="cuda", requires_grad=True)
                x[torch.zeros(8, dtype=torch.long, device="cuda")].sum().backward()
                assert torch.cuda.memory_allocated() <= (8 << 20) + 4096
                """
            )
        )
        self.assertLessEqual(told["peak_requested_bytes"], (8 << 20) + 65536)

    def test_a_bias_is_added_in_place_where_the_product_is_one_of_its_own(self):
        told = self.told(
            self.script(
                """
                import torch
                layer = torch.nn.Linear(64, 16384).cuda()
                data = torch.zeros(16, 16, 64, device="cuda").transpose(0, 1)
                layer(data)
                """
            )
        )
        # The product of 16 MiB, the weight of 4, cuBLAS's 8.1.
        self.assertLess(told["peak_requested_bytes"], 32 << 20)

    def test_what_is_resized_takes_the_memory_of_its_size(self):
        """Its content is copied to the new one."""
        told = self.told(
            self.script(
                """
                import torch
                x = torch.empty(0, device="cuda").resize_(1 << 20)
                sums = torch.empty(0, device="cuda")
                torch.add(x, x, out=sums)
                assert torch.cuda.memory_allocated() == 8 << 20
                x.resize_(1 << 21)
                assert torch.cuda.memory_allocated() == 12 << 20
                """
            )
        )
        self.assertEqual(told["peak_requested_bytes"], 16 << 20)

    def test_a_mean_loss_keeps_what_it_was_written_to(self):
        self.told(
            self.script(
                """
                import torch
                data = torch.zeros(1 << 20, device="cuda")
                loss = torch.nn.functional.mse_loss(data, data)
                assert loss.shape == ()
                assert torch.cuda.memory_allocated() == 8 << 20
                """
            )
        )

    def test_it_stops_when_steps_repeat(self):
        told = self.told(self.script(TINY))
        self.assertEqual(told["how"], "steady")
        self.assertLess(told["steps"], 6)
        told = self.told("--steps", "7", self.script(TINY))
        self.assertEqual(told["steps"], 7)


class Verdicts(Case):
    def test_what_does_not_fit_is_said_with_the_line(self):
        script = self.script(TINY)
        run = self.run_it("--device", "sim:4MiB", "--advise", "never", script)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("OutOfMemoryError", run.stderr)
        self.assertIn("script.py", run.stderr)
        self.assertIn("does not fit", run.stdout)

    def test_the_largest_width_is_found_and_is_the_largest(self):
        script = self.script(TINY)
        run = self.run_it(
            "--json", "--device", "sim:64MiB", "--max", "width=64..2048", script
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        best = json.loads(run.stdout)["largest"]
        good = ["--device", "sim:64MiB", "--advise", "never", script, "--width"]
        self.assertEqual(self.run_it(*good, str(best)).returncode, 0)
        self.assertEqual(self.run_it(*good, str(best + 1)).returncode, 1)

    def test_the_largest_number_of_the_script_itself_is_found(self):
        script = self.script(
            """
            import torch
            rows = 8
            torch.zeros(rows << 20, dtype=torch.uint8, device="cuda")
            """
        )
        told = self.told("--device", "sim:64MiB", "--max", "rows=1..512", script)
        self.assertEqual(told["largest"], 64)

    def test_the_peak_is_that_of_the_run_however_often_it_is_reset(self):
        script = self.script("""
            import torch
            large = torch.empty(1 << 28, device="cuda")
            del large
            torch.cuda.reset_peak_memory_stats()
            small = torch.empty(1 << 20, device="cuda")
            assert torch.cuda.max_memory_allocated() == 4 << 20
        """)
        told = self.told(script)
        self.assertEqual(told["how"], "ended")
        self.assertEqual(told["peak_allocated_bytes"], 1 << 30)
        self.assertEqual(told["peak_reserved_bytes"], 1 << 30)

    def test_a_failing_program_is_told_apart(self):
        run = self.run_it(self.script("raise ValueError('mine')"))
        self.assertEqual(run.returncode, 2)
        self.assertIn("ValueError: mine", run.stderr)
        self.assertEqual(
            run.stdout.splitlines()[0], "no verdict: failed after 0 steps"
        )

    def test_what_keeps_its_results_grows(self):
        told = self.told(
            self.script(
                TINY.replace("    for step", "    kept = []\n    for step").replace(
                    "optimizer.zero_grad()",
                    "kept.append(torch.zeros(1 << 22, device='cuda'))",
                )
            )
        )
        self.assertEqual(told["scope"]["grows_bytes_per_step"], 16 << 20)

    def test_bad_usage_is_2(self):
        for words in (
            ["nothing.py"],
            ["--gpu", "rtx9999", self.script("")],
            ["--device", "24GiB", self.script("")],
            ["--max", "width", self.script("")],
            ["--steps", "0", self.script("")],
            ["--conf", "nonsense:1", self.script("")],
        ):
            run = self.run_it(*words)
            self.assertEqual(run.returncode, 2, (words, run.stderr))
            self.assertTrue(run.stderr.strip())

    def test_made_up_values_can_be_refused(self):
        script = self.script(
            "import torch\nprint(torch.ones(1 << 20, device='cuda').sum().item())\n"
        )
        self.assertEqual(self.run_it(script).returncode, 0)
        run = self.run_it("--on-item", "error", script)
        self.assertEqual(run.returncode, 2)
        self.assertIn("script.py:2", run.stderr)


class Files(Case):
    def test_a_snapshot_names_the_program_s_lines(self):
        snapshot = self.path("s.json")
        self.told("--snapshot", snapshot, self.script(TINY))
        with open(snapshot, encoding="utf-8") as file:
            events = json.load(file)["device_traces"][0]
        innermost = {
            event["frames"][0]["filename"]
            for event in events
            if event["action"] == "alloc" and event["frames"]
        }
        self.assertIn(self.path("script.py"), innermost)
        self.assertFalse([name for name in innermost if "larder/fit" in name])

    def test_a_page_and_a_trace_are_written(self):
        page, trace = self.path("p.html"), self.path("t.trace")
        self.told("--view", page, "--trace", trace, self.script(TINY))
        with open(page, encoding="utf-8") as file:
            self.assertIn("<html", file.read(4096).lower())
        replay = subprocess.run(
            [os.path.join(BUILD, "larder"), "replay", "--json", trace],
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertGreater(json.loads(replay.stdout)["ops"], 50)
        self.assertEqual(sorted(os.listdir(self.folder)), ["p.html", "script.py", "t.trace"])


if __name__ == "__main__":
    unittest.main()
