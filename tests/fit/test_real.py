"""`larder run --real-cpu`: values and sizes as a GPU would give them."""

import os
import unittest

from fit_case import HERE, Case


class Real(Case):
    def test_sizes_and_losses_are_those_of_the_host(self):
        path = os.path.join(HERE, "programs", "real_values.py")
        run = self.run_it("--real-cpu", "--steps", "all", path)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("to its end", run.stdout)
        self.assertEqual(run.stderr, "")

    def test_memory_is_counted_as_without(self):
        path = os.path.join(HERE, "programs", "transformer.py")
        told = [
            self.told("--steps", "2", *how, path) for how in ((), ("--real-cpu",))
        ]
        for what in ("requests", "peak_requested_bytes", "peak_reserved_bytes"):
            self.assertEqual(told[0][what], told[1][what])

    def test_what_the_host_cannot_compute_is_named(self):
        script = self.script(
            """
            import torch
            torch.nn.GRUCell(4, 4).cuda()(torch.zeros(2, 4, device="cuda"))
            """
        )
        run = self.run_it("--real-cpu", script)
        self.assertIn("_thnn_fused_gru_cell is not computed on the host", run.stderr)


if __name__ == "__main__":
    unittest.main()
