"""python3 -m larder.torch: programs as they are, reports, comparisons."""

import json
import os
import unittest

import torch_case
from torch_case import C10, DOUBLE_DIR, PACKAGE_DIR, TorchCase

TRAIN = """
import sys, torch
optimizer = torch.optim.SGD()
other = torch.optim.SGD()
for i in range(int(sys.argv[1])):
    x = torch.empty((60 if i == 0 else 40) << 20)
    del x
    if i == 1:
        torch.cuda.reset_peak_memory_stats()
    optimizer.step()
    other.step()
y = torch.empty(10 << 20)
print(__name__, sys.argv[1:], torch.cuda.memory_stats()["num_ooms"])
"""

LIBRARIES = os.environ.get("LARDER_LIBRARY_DIR", "")
GATE = os.path.join(LIBRARIES, "liblarder_preload.so")

MOVES = """
import os, larder.torch
features = [u.feature for u in larder.torch.unsupported()]
preloaded = os.environ.get("LD_PRELOAD", "")
print("moving live memory" not in features, "liblarder_preload" in preloaded)
"""


class Runner(TorchCase):
    def runner(self, *arguments, **environment):
        return self.run_python("-m", "larder.torch", *arguments, **environment)

    def test_a_program_runs_as_it_is(self):
        script = self.write(TRAIN, "train.py")
        self.write("NAME = 'beside the script'", "beside.py")
        run = self.runner(script, "3", "--flag")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stdout, "__main__ ['3', '--flag'] 0\n")
        run = self.runner(
            "--conf",
            "limit:20MiB",
            self.write(
                "import beside, torch, larder.torch\n"
                "print(beside.NAME, larder.torch.is_enabled())\n",
                "uses.py",
            ),
        )
        self.assertEqual(run.stdout, "beside the script True\n", run.stderr)

    @unittest.skipUnless(os.path.exists(GATE), "no preload library")
    def test_it_starts_on_the_preload_library(self):
        run = self.runner(self.write(MOVES))
        self.assertEqual(run.stdout, "True True\n", run.stderr)

    @unittest.skipUnless(os.path.exists(GATE), "no preload library")
    def test_where_it_cannot_be_preloaded_nothing_moves(self):
        for name in ("with blank", "with:colon"):
            os.symlink(os.path.abspath(LIBRARIES), self.path(name))
            run = self.runner(
                self.write(MOVES), LARDER_LIBRARY_DIR=self.path(name)
            )
            self.assertEqual(run.stdout, "False False\n", run.stderr)
            self.assertNotIn("liblarder_preload", run.stderr)

    @unittest.skipUnless(os.path.exists(GATE), "no preload library")
    def test_options_of_python_stay(self):
        script = self.write(
            "import os, sys\n"
            "print(sys.flags.optimize, sys.warnoptions, sys.flags.utf8_mode,"
            " 'liblarder_preload' in os.environ['LD_PRELOAD'])"
        )
        # Python 3.9 has no orig_argv.
        start = (
            "import runpy, sys\n"
            "if hasattr(sys, 'orig_argv'): del sys.orig_argv\n"
            "runpy.run_module('larder.torch', run_name='__main__')"
        )
        options = ("-O", "-W", "error", "-X", "utf8")
        run = self.run_python(*options, "-c", start, script)
        self.assertEqual(run.stdout, "1 ['error'] 1 True\n", run.stderr)

    def test_the_setting_alone_moves_nothing(self):
        run = self.runner(self.write(MOVES), LARDER_PRELOAD="gate")
        self.assertEqual(run.stdout, "False False\n", run.stderr)

    def test_a_library_of_the_current_folder_is_not_loaded(self):
        self.write("not ours", "liblarder_preload.so")
        os.mkdir(self.path("package"))
        # Where no library is found beside the package.
        os.symlink(
            os.path.join(PACKAGE_DIR, "larder"), self.path("package/larder")
        )
        run = self.run_python(
            "-c",
            "import os, sys\n"
            f"os.chdir({self.path('')!r})\n"
            "os.execv(sys.executable, [sys.executable, '-m', 'larder.torch',"
            " sys.argv[1]])",
            self.write(""),
            PYTHONPATH=self.path("package") + os.pathsep + DOUBLE_DIR,
            LARDER_LIBRARY_DIR="",
        )
        self.assertNotIn("liblarder_preload", run.stderr)

    def test_a_module_runs_by_its_name(self):
        self.write(TRAIN, "train.py")
        run = self.run_python(
            "-c",
            "import os, sys\n"
            f"os.chdir({self.path('')!r})\n"
            "os.execv(sys.executable, [sys.executable, '-m', 'larder.torch',"
            " '-m', 'train', '2'])",
        )
        self.assertEqual(run.stdout, "__main__ ['2'] 0\n", run.stderr)

    def test_its_exit_status_is_the_program_s(self):
        for text, status in (
            ("raise SystemExit(7)", 7),
            ("raise SystemExit()", 0),
            ("raise SystemExit('because')", 1),
            ("raise ValueError('because')", 1),
        ):
            run = self.runner(self.write(text))
            self.assertEqual(run.returncode, status, text)
            report = self.path("report.json")
            run = self.runner("--report", report, self.write(text))
            self.assertEqual(run.returncode, status, text)
            with open(report, encoding="utf-8") as file:
                self.assertEqual(json.load(file)["status"], status)
            if "because" in text:
                self.assertIn("because", run.stderr)

    def test_bad_usage_is_2(self):
        for arguments, words in (
            ((), "SCRIPT"),
            (("--nonsense", "x.py"), "SCRIPT"),
            ((self.path("none.py"),), "there is no such file"),
            (("--conf", "a:b", self.write("")), "a"),
            (("--policy", "b", self.write("")), "b"),
            (("--compare", "--native", self.write("")), "runs both"),
            (("--device", "", self.write("")), "device is empty"),
            (("--compare", "--conf", "a:b", self.write("print(1)")), "a"),
            (("--compare", "--policy", "b", self.write("print(1)")), "b"),
        ):
            run = self.runner(*arguments)
            self.assertEqual(run.returncode, 2, run.stderr)
            self.assertIn(words, run.stderr)
            self.assertNotIn("Traceback", run.stderr)
            self.assertEqual(run.stdout, "")  # nothing was begun

    def test_without_pytorch_it_says_so(self):
        run = self.python("-m", "larder.torch", "--help")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("--compare", run.stdout)
        run = self.python("-S", "-m", "larder.torch", self.write(""))
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn("No module named 'torch'", run.stderr)
        for options in (["--compare"], ["--native", "--report", "x.json"]):
            run = self.python(
                "-S", "-m", "larder.torch", *options, self.write("")
            )
            self.assertEqual(run.returncode, 2, run.stderr)
            self.assertEqual(
                run.stderr, "larder.torch: No module named 'torch'\n"
            )

    def test_a_report_says_what_the_program_made_of_memory(self):
        report = self.path("report.json")
        script = self.write(TRAIN, "train.py")
        run = self.runner("--report", report, script, "5")
        self.assertEqual(run.returncode, 0, run.stderr)
        with open(report, encoding="utf-8") as file:
            found = json.load(file)
        self.assertEqual(found["allocator"], "larder")
        self.assertEqual(found["peak_allocated_bytes"], 60 << 20)
        self.assertEqual(found["peak_reserved_bytes"], 60 << 20)
        self.assertEqual(found["fragmentation"], 0)
        self.assertEqual(found["steps"], 5)
        self.assertGreater(found["iteration_seconds"], 0)
        self.assertGreater(found["seconds"], found["iteration_seconds"])

    def test_a_comparison_shows_both(self):
        script = self.write(TRAIN, "train.py")
        run = self.runner("--compare", "--json", script, "4")
        self.assertEqual(run.returncode, 0, run.stderr)
        both = json.loads(run.stdout.splitlines()[-1])
        self.assertEqual(both["native"]["allocator"], "native")
        self.assertEqual(both["native"]["peak_reserved_bytes"], 120 << 20)
        self.assertEqual(both["larder"]["peak_reserved_bytes"], 60 << 20)
        self.assertEqual(both["native"]["fragmentation"], 0.5)
        self.assertEqual(both["native"]["steps"], 4)
        run = self.runner("--compare", script, "4")
        self.assertRegex(
            run.stdout, r"peak reserved +120.00 MiB +60.00 MiB +-50.0 %"
        )
        self.assertRegex(
            run.stdout, r"fragmentation +50.0 % +0.0 % +-50.0 points"
        )
        self.assertRegex(run.stdout, r"\niterations +4 +4 +\+0.0 %")

    @unittest.skipUnless(C10, "no C++ compiler")
    def test_a_comparison_tells_which_run_failed(self):
        script = self.write("import torch\ntorch.empty(200 << 20)\n")
        run = self.runner("--compare", "--device", "sim:100MiB,count=2", script)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("under larder ended with status 1", run.stderr)
        self.assertIn("OutOfMemoryError", run.stderr)
        self.assertNotIn("under native ended", run.stderr)
        self.assertRegex(run.stdout, r"out of memory +0 +1")

    def test_a_program_without_steps_has_no_iterations(self):
        run = self.runner(
            "--compare",
            self.write("import torch\nx = torch.empty(1 << 20)\n"),
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stdout, r"\ntime per iteration +- +-")


if __name__ == "__main__":
    torch_case.main()
