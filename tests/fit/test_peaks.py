"""Peaks under fake tensors are those of the program by itself, under a PyTorch with
CUDA of the same release."""

import os
import subprocess
import unittest

from fit_case import BUILD, HERE, PYTHON, Case

PROGRAM = os.path.join(HERE, "programs", "peaks.py")


def peaks(text):
    rows = [line[5:].rsplit(": ", 1) for line in text.splitlines() if line[:5] == "peak "]
    return {name: int(size) for name, size in rows}


class Peaks(Case):
    def by_itself(self):
        """On a simulated card.  None: this PyTorch has no CUDA."""
        run = subprocess.run(
            [
                os.path.join(BUILD, "larder"), "exec", "--quiet", "--sim", "h200", "--",
                PYTHON, PROGRAM,
            ],
            capture_output=True, text=True, timeout=600,
        )
        if "not compiled with CUDA" in run.stderr:
            return None
        self.assertEqual(run.returncode, 0, run.stderr)
        return peaks(run.stdout)

    def test_they_are_within_1_percent(self):
        expected = self.by_itself()
        if expected is None:
            self.skipTest("this PyTorch has no CUDA to compare with")
        run = self.run_it(
            "--gpu", "h200", "--steps", "all", f"--json={self.path('told')}", PROGRAM
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        found = peaks(run.stdout)
        self.assertEqual(list(found), list(expected))
        for name, size in expected.items():
            with self.subTest(name):
                self.assertAlmostEqual(found[name] / size, 1, delta=0.01)


if __name__ == "__main__":
    unittest.main()
