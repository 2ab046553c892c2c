"""What the tests of the Python front share.

    python3 tests/python/test_lab_NAME.py LIBRARY_DIR

Each runs against the library in that folder, or where the package finds it.
"""

import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE_DIR = os.path.join(os.path.dirname(os.path.dirname(HERE)), "python")

sys.dont_write_bytecode = True
sys.path.insert(0, PACKAGE_DIR)
if len(sys.argv) > 1 and os.path.isdir(sys.argv[1]):
    # Programs are started in other folders too.
    os.environ["LARDER_LIBRARY_DIR"] = os.path.abspath(sys.argv.pop(1))

KIB = 1 << 10
MIB = 1 << 20


class LabCase(unittest.TestCase):
    """Each test has a session of its own: lab.session()."""

    device = "sim:256MiB,backing=memory"

    def setUp(self):
        from larder import lab

        self.session = lab.use(lab.Session(self.device, "pytorch", conf=""))

    def tearDown(self):
        # Not closed where a failed test's tensors live on in its traceback.
        if self.allocated() == 0 and self.figure("tensors") == 0:
            self.session.close()

    def figure(self, name):
        return self.session.memory()[name]

    def allocated(self):
        return self.figure("allocated_bytes")

    def close(self, tensor, expected, tolerance=1e-5):
        """The tensor's elements, in a row, are these."""
        found = tensor.reshape(-1).tolist()
        self.assertEqual(len(found), len(expected))
        for one, other in zip(found, expected):
            self.assertAlmostEqual(one, other, delta=tolerance)


class RunCase(unittest.TestCase):
    """Runs listings as a user does."""

    device = "sim:256MiB,backing=memory"

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)

    def path(self, name):
        return os.path.join(self._folder.name, name)

    def write(self, text, name="listing.py"):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def python(self, *arguments, **environment):
        return subprocess.run(
            [sys.executable, *arguments],
            env={
                **os.environ,
                "PYTHONPATH": PACKAGE_DIR,
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONIOENCODING": "utf-8",
                "PYTHONUNBUFFERED": "",
                **environment,
            },
            capture_output=True,
            encoding="utf-8",
            timeout=60,
        )

    def run_listing(self, text, *options, arguments=()):
        return self.python(
            "-m",
            "larder.lab.run",
            "--device",
            self.device,
            *options,
            self.write(text),
            *arguments,
        )


def main():
    unittest.main()
