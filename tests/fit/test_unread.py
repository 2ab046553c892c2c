"""Values of the host that are put off: they are what they always were, and those that
nobody reads take neither time nor memory."""

import json
import os
import subprocess
import unittest

from fit_case import HERE, PYTHON, Case


def alone(*words):
    """What PyTorch writes without Larder."""
    run = subprocess.run([PYTHON, *words], capture_output=True, text=True, check=True)
    return run.stdout


class Unread(Case):
    def test_what_is_read_is_what_it_always_was(self):
        path = os.path.join(HERE, "programs", "unread_values.py")
        run = self.run_it("--steps", "all", path)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(
            json.loads(run.stdout.splitlines()[0]), json.loads(alone(path, "host"))
        )

    def test_a_model_that_is_moved_takes_no_memory_of_the_host(self):
        """4 GiB of weights, in a process that may have 1 beside what it had."""
        told = self.told(
            self.script(
                """
                import resource, torch

                def most():
                    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10

                before = most()
                model = torch.nn.Sequential(
                    *[torch.nn.Linear(16384, 16384) for _ in range(4)]
                )
                table = torch.nn.Embedding(1 << 16, 1024)
                torch.nn.init.trunc_normal_(table.weight, std=0.02)
                model.cuda(), table.cuda()
                taken = most() - before
                assert taken < 1 << 30, taken
                """
            )
        )
        self.assertGreater(told["peak_requested_bytes"], 4 << 30)

    def test_values_are_those_without_for_a_real_computation_too(self):
        script = self.script(
            """
            import torch
            torch.manual_seed(0)
            weight = torch.nn.Linear(512, 512).cuda().weight
            print(weight.sum().item())
            """
        )
        run = self.run_it("--real-cpu", script)
        expected = alone(
            "-c",
            "import torch; torch.manual_seed(0)\n"
            "print(torch.nn.Linear(512, 512).weight.sum().item())",
        )
        self.assertEqual(run.stdout.splitlines()[0], expected.strip())


if __name__ == "__main__":
    unittest.main()
