"""@pytest.mark.limit_gpu_memory, on a double of PyTorch: where there is a GPU,
on a simulated one, and where neither can be."""

import os
import sys

try:
    import pytest
except ImportError:
    print("no pytest here (python3-pytest): skipped")
    sys.exit(77)

from lab_case import HERE, PACKAGE_DIR, RunCase, main

# Where pytest is, if Python was told.
_PYTEST = os.environ.get("PYTHONPATH", "").split(os.pathsep)

OOM = os.path.join(os.path.dirname(HERE), "data", "snapshots", "v2.8.pickle")

# A GPU is there if the driver is, or a test says so.
TORCH = """
import ctypes, os, pickle, types
version = types.SimpleNamespace(cuda=os.environ.get("TEST_CUDA", "12.8"))

class OutOfMemoryError(RuntimeError):
    pass

class memory:
    def _record_memory_history(enabled="all", **options):
        cuda.log.append(enabled)

    def _snapshot():
        with open(os.environ["TEST_SNAPSHOT"], "rb") as file:
            return pickle.load(file)

class cuda:
    memory = memory
    log = []
    peak = now = 0
    _lazy_call = lambda function: function()
    device_count = lambda: 1
    max_memory_allocated = lambda device: cuda.peak

    def is_available():
        try:
            ctypes.CDLL("libcuda.so.1")
        except OSError:
            return "TEST_GPU" in os.environ
        return True

    def reset_peak_memory_stats(device):
        cuda.peak = cuda.now

def use(mebibytes):
    cuda.peak = max(cuda.peak, cuda.now + (mebibytes << 20))
"""

TESTS = """
import pytest, torch
limit = pytest.mark.limit_gpu_memory

@limit("100 MiB")
def test_within():
    torch.use(90)
    assert torch.cuda.is_available()

@limit("50 MiB")
def test_over():
    torch.use(60)

@limit("50 MiB")
def test_after_a_large_one():
    torch.use(10)

@limit("50 MiB")
def test_wrong_value():
    torch.use(7)
    assert 1 == 2

@limit("50 MiB")
def test_over_and_wrong():
    torch.use(60)
    assert 1 == 2

@limit("50 MiB")
def test_out_of_memory():
    raise torch.OutOfMemoryError("CUDA out of memory.")

@pytest.fixture
def hungry():
    raise torch.OutOfMemoryError("CUDA out of memory.")

@limit("50 MiB")
def test_out_of_memory_before(hungry):
    pass

@pytest.fixture
def model():
    torch.use(70)

@limit("50 MiB")
def test_fixtures_count(model):
    pass

def test_unmarked():
    torch.use(1000)
"""


class Plugin(RunCase):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("torch"))
        self.write(TORCH, "torch/__init__.py")

    def outcomes(self, text=TESTS, *options, **environment):
        """What became of each test, and all that pytest printed."""
        self.write(text, "test_it.py")
        run = self.python(
            "-c",
            f"import os, pytest, sys; os.chdir({self.path('')!r})\n"
            "sys.exit(pytest.main(sys.argv[1:]))",
            "-p",
            "larder.pytest_plugin",
            *["-p", "no:cacheprovider", "-rA", "--color=no", *options],
            **{
                "PYTHONPATH": os.pathsep.join(
                    [PACKAGE_DIR, self.path(""), *_PYTEST]
                ),
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
                "TEST_SNAPSHOT": OOM,
                "LARDER_LIBRARY_DIR": os.environ.get("LARDER_LIBRARY_DIR", ""),
                **environment,
            },
        )
        found = {}
        for line in run.stdout.splitlines():
            word, _, rest = line.partition(" ")
            if word in ("PASSED", "FAILED", "ERROR"):
                found[rest.split("::")[1].split(" ")[0]] = word.lower()
        return found, run

    def test_on_a_gpu(self):
        found, run = self.outcomes(TEST_GPU="1")
        self.assertEqual(
            found,
            {
                "test_within": "passed",
                "test_over": "failed",
                "test_after_a_large_one": "passed",
                "test_wrong_value": "failed",
                "test_over_and_wrong": "failed",
                "test_out_of_memory": "failed",
                "test_out_of_memory_before": "error",
                "test_fixtures_count": "failed",
                "test_unmarked": "passed",
            },
            run.stdout,
        )
        self.assertIn(
            "60.00 MiB of a GPU's memory were in use, over the limit of 50.00 MiB",
            run.stdout,
        )
        self.assertIn("36.00 MiB in 3  /home/user/train/attention.py:565", run.stdout)
        self.assertEqual(run.returncode, 1)

    def test_on_a_simulated_gpu(self):
        found, run = self.outcomes()
        self.assertEqual(
            found,
            {
                "test_within": "passed",
                "test_over": "failed",
                "test_after_a_large_one": "passed",
                "test_over_and_wrong": "failed",
                "test_out_of_memory": "failed",
                "test_out_of_memory_before": "error",
                "test_fixtures_count": "failed",
                "test_unmarked": "passed",
            },
            run.stdout + run.stderr,
        )
        # Neither passed nor failed: the memory is known as far as it went.
        said = " ".join(run.stdout.split())
        self.assertIn("1 skipped", said)
        self.assertIn("it ended with assert 1 == 2, after using at most 7.00 MiB", said)
        self.assertIn("attention.py:565", said)
        self.assertIn("at most 90.00 MiB of a simulated GPU's memory", said)

    def test_without_cuda_it_is_skipped(self):
        found, run = self.outcomes(TEST_CUDA="")
        self.assertEqual(found, {"test_unmarked": "passed"})
        self.assertIn("was built without CUDA", run.stdout)
        self.assertEqual(run.returncode, 0)

    def test_a_size_that_is_none_is_refused(self):
        for size in ("'8 apples'", "", "-1", "'1GiB', 2"):
            _, run = self.outcomes(
                "import pytest\n"
                f"@pytest.mark.limit_gpu_memory({size})\n"
                "def test_it():\n    pass\n",
                TEST_GPU="1",
            )
            self.assertIn("as '8 GiB'", run.stdout + run.stderr, size)
            self.assertNotEqual(run.returncode, 0)

    def test_sizes(self):
        from larder.pytest_plugin import bytes_of

        self.assertEqual(bytes_of("8 GiB"), 8 << 30)
        self.assertEqual(bytes_of("1.5g"), 3 << 29)
        self.assertEqual(bytes_of("512MB"), 512 << 20)
        self.assertEqual(bytes_of(4096), 4096)

    def test_the_mark_is_known(self):
        _, run = self.outcomes(TESTS, "--strict-markers", TEST_GPU="1")
        self.assertIn("test_within", run.stdout)
        self.assertNotIn("not found in `markers`", run.stdout)


if __name__ == "__main__":
    main()
