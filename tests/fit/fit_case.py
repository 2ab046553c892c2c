"""What tests of `larder run` share."""

import json
import os
import subprocess
import tempfile
import textwrap
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
# The command, and the Python that has PyTorch.
BUILD = os.path.abspath(os.environ["LARDER_FIT_BUILD"])
PYTHON = os.environ["LARDER_FIT_PYTHON"]

TINY = """
    import sys, torch
    width = int(sys.argv[sys.argv.index("--width") + 1]) if len(sys.argv) > 1 else 256
    model = torch.nn.Sequential(
        torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, width))
    optimizer = torch.optim.Adam(model.parameters())
    model.cuda()
    for step in range(50):
        model(torch.randn(8, width, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
"""


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def script(self, text):
        path = self.path("script.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))
        return path

    def run_it(self, *words):
        return subprocess.run(
            [os.path.join(BUILD, "larder"), "run", "--engine", "fake", *words],
            env={
                **os.environ,
                "LARDER_PYTHON": PYTHON,
                "LARDER_PYTHON_DIR": os.path.join(SOURCE, "python"),
            },
            capture_output=True,
            text=True,
            timeout=600,
        )

    def told(self, *words, status=0):
        run = self.run_it("--json", *words)
        self.assertEqual(run.returncode, status, run.stderr)
        return json.loads(run.stdout.splitlines()[-1])
