"""larder_run.py BUILD - `larder run` with this Python's PyTorch, built for CUDA,
on the simulated driver: a program for each claim."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD, PYTHON = sys.argv[1], sys.executable
LARDER = os.path.join(BUILD, "larder")


def program(name):
    return os.path.join(HERE, "programs", name + ".py")


def needs(package):
    lacking = importlib.util.find_spec(package) is None
    return unittest.skipIf(lacking, f"no {package}")


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_it(self, *words):
        return subprocess.run(
            [LARDER, *words], env={**os.environ, "LARDER_PYTHON": PYTHON},
            capture_output=True, text=True, timeout=600,
        )

    def told(self, *words, status=0):
        path = os.path.join(self.folder, "report.json")
        run = self.run_it("run", f"--json={path}", *words)
        self.assertEqual(run.returncode, status, run.stderr)
        with open(path, encoding="utf-8") as file:
            told = json.load(file)
        self.assertEqual(told["engine"], "stand-in")
        return told

    def plain(self, *words):
        """The peaks that the program itself prints, without `larder run`."""
        run = self.run_it("exec", "--quiet", "--", PYTHON, *words)
        self.assertEqual(run.returncode, 0, run.stderr)
        return [int(word) for word in run.stdout.split()]


class Verdicts(Case):
    def test_the_peaks_are_those_of_the_plain_program(self):
        told = self.told("--steps", "all", program("mlp"), "--steps", "5")
        self.assertEqual(
            [told["peak_allocated_bytes"], told["peak_reserved_bytes"]],
            self.plain(program("mlp"), "--steps", "5"),
        )
        self.assertTrue(told["scope"]["ended"])

    @needs("triton")
    def test_a_compiled_model_stays_one_graph(self):
        self.plain(program("compiled"))  # a cold cache tries kernels out
        told = self.told("--steps", "all", program("compiled"))
        self.assertEqual(
            [told["peak_allocated_bytes"], told["peak_reserved_bytes"]],
            self.plain(program("compiled")),
        )

    def test_both_engines_ask_for_the_same(self):
        words = (program("mlp"), "--width", "2048")
        told = self.told(*words)
        path = os.path.join(self.folder, "fake.json")
        run = self.run_it("run", "--engine", "fake", f"--json={path}", *words)
        self.assertEqual(run.returncode, 0, run.stderr)
        with open(path, encoding="utf-8") as file:
            fake = json.load(file)
        self.assertEqual(told["peak_requested_bytes"], fake["peak_requested_bytes"])

    def test_steps_parameters_and_state_are_found(self):
        told = self.told(program("mlp"))
        bytes_of = 2 * (1024 * 1024 + 1024) * 4
        self.assertLess(told["scope"]["steps"], 6)
        self.assertEqual(told["by_category"]["parameters"], bytes_of)
        self.assertGreaterEqual(told["by_category"]["optimizer state"], 2 * bytes_of)
        self.assertIn("workspaces", told["by_category"])

    def test_the_largest_width_is_the_largest(self):
        small = ("--device", "sim:128MiB")
        best = self.told(*small, "--max", "width=64..4096", program("mlp"))["largest"]
        self.assertGreater(best, 64)
        words = (*small, "--advise", "never", program("mlp"), "--width")
        self.told(*words, str(best))
        self.told(*words, str(best + 1), status=1)

    def test_advice_is_what_the_run_with_it_needs(self):
        told = self.told("--advise", "always", program("mlp"))
        title = "SGD without momentum instead of Adam"
        advised = [one for one in told["advice"] if one["title"] == title]
        self.assertEqual(
            advised[0]["saves"], told["min_capacity_bytes"] - advised[0]["need"]
        )
        self.assertGreater(advised[0]["saves"], 0)

    def test_peaks_that_are_set_back_are_counted(self):
        told = self.told("--advise", "never", program("resets"))
        self.assertEqual(told["peak_allocated_bytes"], 1 << 26)


class Processes(Case):
    def test_a_launcher_s_ranks_are_followed(self):
        launcher = os.path.join(os.path.dirname(PYTHON), "torchrun")
        told = self.told(
            "--gpu", "rtx4090", launcher, "--nproc-per-node", "2", program("ddp"),
        )
        self.assertEqual(len(told["processes"]), 2)
        self.assertEqual(told["world_size"], 2)
        self.assertGreater(told["scope"]["steps"], 1)

    def test_the_first_of_several_runs_alone(self):
        told = self.told("--world-size", "4", program("ddp"))
        self.assertEqual(told["world_size"], 4)
        self.assertEqual(told["verdict"], "fits")


class Values(Case):
    def test_a_scaler_steps(self):
        told = self.told("--steps", "all", program("amp"))
        self.assertIn("optimizer state", told["by_category"])
        self.assertIsNone(told["bound"])

    def test_small_tensors_hold_what_they_would(self):
        told = self.told(program("values"))
        assumed = {what: place for what, place, _ in told["assumed"]}
        self.assertIn("experts are chosen in turn", assumed)
        self.assertIn("all elements of an unknown mask count", assumed)
        self.assertIn("repeat_interleave repeats each element once", assumed)
        counted = "numbers counted by bincount are smaller than their count"
        self.assertIn(counted, assumed)
        self.assertEqual(told["bound"], "about")

    @needs("triton")
    def test_what_a_compiled_function_writes_is_forgotten(self):
        self.told(program("compiled_values"))

    @needs("transformers")
    def test_generation_ends_at_its_length(self):
        self.assertEqual(self.told(program("generate"))["bound"], "at most")


def main():
    if importlib.util.find_spec("torch") is None:
        print("no PyTorch in this Python: LARDER_STACK_PYTHON names another")
        sys.exit(77)
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    done = unittest.TextTestRunner(verbosity=2).run(suite)
    count = done.testsRun - len(done.skipped)
    bad = len(done.failures) + len(done.errors)
    sys.stderr.flush()
    print(f"{count - bad} of {count}, {len(done.skipped)} skipped")
    sys.exit(bad != 0)


if __name__ == "__main__":
    main()
