"""Programs of Python on simulated GPUs: python3 test_exec.py BUILD TORCH CUPY

TORCH and CUPY are Pythons that have PyTorch with CUDA, and CuPy; "": none."""

import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
BUILD, TORCH, CUPY = "build", "", ""


class Case(unittest.TestCase):
    def told(self, python, program, sim="8GiB", **variables):
        """What the program printed, and the report of the GPU it used."""
        run = subprocess.run(
            [
                os.path.join(BUILD, "larder"),
                *("exec", "--json", "--sim", sim, "--", python, "-W", "ignore"),
                os.path.join(HERE, "programs", program),
            ],
            env={
                **os.environ,
                "PYTHONPATH": os.path.join(SOURCE, "python"),
                **variables,
            },
            capture_output=True,
            text=True,
            timeout=600,
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        reports = [line for line in run.stderr.splitlines() if line[:1] == "{"]
        return run.stdout, json.loads(reports[-1])


class PyTorch(Case):
    def setUp(self):
        if not TORCH:
            self.skipTest("there is no PyTorch with CUDA")

    def test_a_transformer_trains(self):
        printed, report = self.told(TORCH, "transformer.py")
        self.assertIn("ran out", printed)
        peak = int(printed.split("peak ")[1])
        # Parameters, gradients and two states each of 4 million values.
        self.assertGreater(peak, 4 * 4 * 3_700_000)
        self.assertGreaterEqual(report["peak_bytes"], peak)
        self.assertGreater(report["launches"], 10 * 100)
        self.assertEqual(report["broken_rules"], 0)

    def test_the_same_without_memory_behind_it(self):
        with_memory = self.told(TORCH, "transformer.py")[0]
        without = self.told(TORCH, "transformer.py", "8GiB,backing=none")[0]
        self.assertEqual(without, with_memory)

    def test_convolutions_are_tried_and_fed_by_workers(self):
        printed, report = self.told(TORCH, "classifier.py")
        # A batch's first result, twice: as it is and normalized.
        self.assertGreater(int(printed.split()[1]), 2 * 8 * 16 * 30 * 30 * 4)
        self.assertEqual(report["broken_rules"], 0)

    def test_larder_run_knows_what_reductions_take(self):
        printed, _ = self.told(TORCH, "reductions.py", "80GiB,backing=none")
        self.assertRegex(printed.strip(), r"\A\d{3} cases\Z")

    def test_larder_run_knows_what_attention_takes(self):
        for capability in ("8.0", "8.6", "9.0"):
            printed, _ = self.told(
                TORCH,
                "attention.py",
                "80GiB,backing=none",
                LARDER_FAKECUDA_CAPABILITY=capability,
            )
            self.assertRegex(printed.strip(), r"\A\d{3} cases\Z", capability)

    def test_larder_run_knows_what_sorting_takes(self):
        printed, _ = self.told(TORCH, "sorting.py", "80GiB,backing=none")
        self.assertRegex(printed.strip(), r"\A\d+ cases\Z")


class CuPy(Case):
    def setUp(self):
        if not CUPY:
            self.skipTest("there is no CuPy")

    def test_arrays_and_libraries(self):
        printed, report = self.told(CUPY, "arrays.py")
        # data, its product and what came in between.
        self.assertGreaterEqual(int(printed.split()[1]), 8 << 20)
        self.assertGreater(report["launches"], 10)
        self.assertEqual(report["broken_rules"], 0)


if __name__ == "__main__":
    BUILD, TORCH, CUPY = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1], verbosity=2)
