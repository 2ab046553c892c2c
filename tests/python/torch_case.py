"""What the tests of larder.torch share: programs run with a double of PyTorch,
each in a process of its own, for an allocator is chosen once."""

import os
import sys
import textwrap

import lab_case
from lab_case import HERE, PACKAGE_DIR, RunCase, main  # noqa: F401

DOUBLE_DIR = os.path.join(HERE, "torch_double")


def _c10():
    folder = os.environ.get("LARDER_LIBRARY_DIR", "")
    path = os.path.join(folder, "tests", "torch", "libc10_stand_in_1.so")
    return path if os.path.exists(path) else ""


C10 = _c10()


def has_libstdcxx():
    import ctypes

    try:
        ctypes.CDLL("libstdc++.so.6")
    except OSError:
        return False
    return True


if not has_libstdcxx():
    print("no libstdc++.so.6 here: skipped")
    sys.exit(77)


class TorchCase(RunCase):
    spec = "sim:256MiB,count=2"

    def run_python(self, *arguments, **environment):
        return self.python(
            *arguments,
            **{
                "PYTHONPATH": PACKAGE_DIR + os.pathsep + DOUBLE_DIR,
                "TORCH_DOUBLE_C10": C10,
                "LARDER_TORCH_DEVICE": self.spec,
                "LARDER_CONF": "",
                "PYTORCH_CUDA_ALLOC_CONF": "",
                **environment,
            },
        )

    def program(self, text, status=0, enable="", **environment):
        """What a program prints after enable(ARGUMENTS)."""
        start = f"import larder.torch\nlarder.torch.enable({enable})\n"
        run = self.run_python(
            "-c",
            "import torch, sys\n" + start + textwrap.dedent(text),
            **environment,
        )
        self.assertEqual(run.returncode, status, run.stderr)
        return run.stdout if status == 0 else run.stderr

    def refused(self, text, words, **environment):
        """A program that ends with an exception with these words."""
        run = self.run_python("-c", textwrap.dedent(text), **environment)
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertIn(words, run.stderr)
