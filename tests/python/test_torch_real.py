"""Where some Python here has PyTorch, even without CUDA: what the plug-in throws
is PyTorch's own error to it."""

import os
import shutil
import subprocess
import sys

import torch_case
from torch_case import HERE, TorchCase

SUBJECT = os.path.join(HERE, "torch_real_subject.py")


class Real(TorchCase):
    def test_its_out_of_memory_error_is_raised(self):
        folder = os.environ["LARDER_LIBRARY_DIR"]
        pythons = {sys.executable, shutil.which("python3", path=os.defpath)}
        for python in pythons - {None}:
            run = self.python_of(
                python,
                SUBJECT,
                os.path.join(folder, "liblarder_torch.so"),
                os.path.join(folder, "tests/torch/libtorch_cpu_allocator.so"),
            )
            if run.returncode != 77:
                self.assertEqual(run.returncode, 0, run.stderr)
                return
        self.skipTest("no PyTorch")

    def python_of(self, python, *arguments):
        return subprocess.run(
            [python, "-B", *arguments],
            env={
                **os.environ,
                "LARDER_TORCH_DEVICE": "sim:64MiB",
                "LARDER_CONF": "",
            },
            capture_output=True,
            text=True,
            timeout=100,
        )


if __name__ == "__main__":
    torch_case.main()
