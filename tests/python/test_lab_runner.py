"""Listings run unchanged, and the panel tells what they did."""

import fcntl
import json
import os
import pickle
import pty
import struct
import subprocess
import sys
import termios

import lab_case
from lab_case import MIB, RunCase

CELLS = """\
# What this is.
import torch
#%%
a = torch.zeros([1024, 1024], device='cuda')
text = '''
#%% no cell
'''
print("first", torch.cuda.memory_allocated())
#%%
# Nothing but a remark.
#%% b
b = a.to('cpu')
del a
"""


class Panels(RunCase):
    def test_a_panel_follows_each_cell(self):
        run = self.run_listing(CELLS)
        self.assertEqual(run.returncode, 0)
        self.assertEqual(run.stdout, f"first {4 * MIB}\n")
        shown = [l for l in run.stderr.splitlines() if l.startswith("> ")]
        self.assertEqual(len(shown), 3)
        self.assertIn("import torch", shown[0])
        self.assertIn("a = torch.zeros([1024, 1024]", shown[1])
        self.assertIn("b = a.to('cpu') ... (2 lines)", shown[2])

    def test_or_each_statement(self):
        run = self.run_listing(CELLS + "c = 1; d = 2\n", "--each-statement")
        shown = [l for l in run.stderr.splitlines() if l.startswith("> ")]
        self.assertEqual(len(shown), 8)
        self.assertEqual(shown[-3:], ["> del a", "> c = 1", "> d = 2"])

    def test_in_ascii_where_the_terminal_has_no_more(self):
        path = self.write("x = 1\n")
        for encoding in ("ascii", "utf-8"):
            run = self.python(
                "-m",
                "larder.lab.run",
                "--device",
                "sim:64MiB",
                path,
                PYTHONIOENCODING=encoding,
            )
            self.assertIn("> x = 1", run.stderr)
            self.assertEqual(run.stderr.isascii(), encoding == "ascii")
            self.assertNotIn("\\u", run.stderr)

        run = self.python("-m", "larder.lab.run", "--ascii", path)
        self.assertTrue(run.stderr.isascii())

    def test_as_wide_as_the_terminal(self):
        path = self.write("x = 1\n")
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, 60, 0, 0))
        status = subprocess.call(
            [sys.executable, "-m", "larder.lab.run", "--device", "sim:64MiB", path],
            env={**os.environ, "PYTHONPATH": lab_case.PACKAGE_DIR},
            stderr=theirs,
            timeout=60,
        )
        os.close(theirs)
        shown = os.read(ours, 1 << 16).decode()
        os.close(ours)
        self.assertEqual(status, 0, shown)
        self.assertEqual(max(map(len, shown.splitlines())), 60, shown)

    def test_or_none(self):
        run = self.run_listing(CELLS, "--no-panel")
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_json_is_an_object_a_line(self):
        run = self.run_listing(CELLS, "--json")
        lines = [json.loads(line) for line in run.stderr.splitlines()]
        self.assertEqual([line["line"] for line in lines], [2, 4, 12])
        self.assertEqual(
            [line["allocated_bytes"] for line in lines], [0, 4 * MIB, 0]
        )
        self.assertEqual(
            [line["host_bytes"] for line in lines], [0, 0, 4 * MIB]
        )
        for line in lines:
            self.assertIsNone(line["error"])
            self.assertEqual(
                line["smi_bytes"],
                line["context_bytes"] + line["reserved_bytes"],
            )

    def test_the_listing_prints_before_its_panel(self):
        run = self.python(
            "-c",
            "import subprocess, sys\n"
            "subprocess.run([sys.executable, '-m', 'larder.lab.run', "
            "'--device', 'sim:64MiB', sys.argv[1]], stderr=subprocess.STDOUT)",
            self.write("print('one')\n#%%\nprint('two')\n"),
        )
        lines = run.stdout.splitlines()
        marks = [l for l in lines if l in ("one", "two") or l.startswith("> ")]
        self.assertEqual(
            marks, ["one", "> print('one')", "two", "> print('two')"]
        )


class Programs(RunCase):
    def test_it_is_main_with_its_arguments(self):
        run = self.run_listing(
            "import sys, os\n"
            "print(__name__, sys.argv[1:], os.path.basename(__file__))\n"
            "import helper\n"
            "assert sys.modules['__main__'].sys is sys\n",
            arguments=["--json", "x"],
        )
        self.assertIn("No module named 'helper'", run.stderr)
        self.assertEqual(
            run.stdout, "__main__ ['--json', 'x'] listing.py\n"
        )
        self.write("import torch\nprint(torch.zeros(2).shape)\n", "helper.py")
        run = self.run_listing("import helper\n")
        self.assertEqual(
            (run.returncode, run.stdout), (0, "torch.Size([2])\n")
        )

    def test_future_imports_hold_for_every_cell(self):
        run = self.run_listing(
            "from __future__ import annotations\n#%%\n"
            "def f(x: unknown): return x\nprint(f(1))\n"
        )
        self.assertEqual((run.returncode, run.stdout), (0, "1\n"))

    def test_exit_statuses_are_passed_on(self):
        for text, status in (
            ("raise SystemExit", 0),
            ("import sys; sys.exit(5)", 5),
            ("import sys; sys.exit('no')", 1),
            ("1 / 0", 1),
            ("raise KeyboardInterrupt", 130),
        ):
            run = self.run_listing(text + "\n#%%\nprint('not reached')\n")
            self.assertEqual((run.returncode, run.stdout), (status, ""), text)

    def test_a_missing_file_is_told(self):
        run = self.python("-m", "larder.lab.run", self.path("none.py"))
        self.assertEqual(run.returncode, 2)
        self.assertIn("none.py: No such file", run.stderr)

    def test_what_is_no_python_is_told(self):
        run = self.run_listing("x = = 1\n")
        self.assertEqual(run.returncode, 2)
        self.assertIn("SyntaxError", run.stderr)
        self.assertIn("listing.py", run.stderr)
        self.assertNotIn("Traceback", run.stderr)

    def test_what_is_no_text_is_told(self):
        for text in (b"\xff\n", b"x = 1\n\n\nx = '\xff'\n"):
            path = self.path("listing.py")
            with open(path, "wb") as file:
                file.write(text)
            run = self.python("-m", "larder.lab.run", path)
            self.assertEqual(run.returncode, 2)
            self.assertIn("listing.py", run.stderr)
            self.assertNotIn("Traceback", run.stderr)

    def test_a_wrong_device_is_told(self):
        run = self.python(
            "-m", "larder.lab.run", "--device", "sim:lots", self.write("")
        )
        self.assertEqual(run.returncode, 2)
        self.assertIn("lots", run.stderr)

    def test_a_traceback_has_the_listings_lines_alone(self):
        run = self.run_listing(
            "import torch\n"
            "def inner(x):\n"
            "    return x.view(7)\n"
            "#%%\n"
            "inner(torch.zeros(3))\n"
        )
        files = [
            line.strip()
            for line in run.stderr.splitlines()
            if "  File " in line
        ]
        self.assertEqual(len(files), 2)
        self.assertIn("line 5, in <module>", files[0])
        self.assertIn("line 3, in inner", files[1])
        self.assertEqual(run.returncode, 1)

    def test_out_of_memory_explains_itself(self):
        run = self.run_listing(
            "import torch\n"
            "kept = torch.zeros(16, 1024, 1024, device='cuda')\n"
            "#%%\n"
            "def more():\n"
            "    here = torch.zeros(16, 1024, 1024, device='cuda')\n"
            "    return torch.zeros(64, 1024, 1024, device='cuda')\n"
            "more()\n",
            "--json",
        )
        self.assertEqual(run.returncode, 1)
        self.assertIn("larder.lab.OutOfMemoryError", run.stderr)
        self.assertIn("Tried to allocate 256.00 MiB", run.stderr)
        last = json.loads(run.stderr.splitlines()[-1])
        self.assertIn("OutOfMemoryError", last["error"])
        # What the function held is gone with it.
        self.assertEqual(last["allocated_bytes"], 64 * MIB)

    def test_out_of_memory_can_be_caught(self):
        run = self.run_listing(
            "import torch\n"
            "try:\n"
            "    torch.zeros(1024, 1024, 1024, device='cuda')\n"
            "except torch.cuda.OutOfMemoryError as error:\n"
            "    print('caught', str(error)[:22])\n"
            "print(torch.ones(2, device='cuda').sum().item())\n"
        )
        self.assertEqual(run.stdout, "caught CUDA out of memory. Tr\n2.0\n")
        self.assertEqual(run.returncode, 0)

    def test_settings_reach_the_allocator(self):
        text = (
            "import torch\n"
            "x = torch.zeros(4, device='cuda')\n"
            "print(torch.cuda.memory_reserved())\n"
        )
        run = self.run_listing(text, "--conf", "preallocate:32MiB")
        self.assertEqual(run.stdout, f"{32 * MIB}\n")
        run = self.run_listing(text, "--policy", "none-such")
        self.assertEqual(run.returncode, 2)
        self.assertIn("none-such", run.stderr)


class Snapshots(RunCase):
    text = (
        "import torch\n"
        "x = torch.zeros(1024, 1024, device='cuda')\n"
        "torch.cuda.memory._dump_snapshot({path!r})\n"
    )

    def test_they_are_written_as_json_or_pickle(self):
        dumped = self.path("dumped.pickle")
        found = []
        for name in ("last.json", "last.pickle"):
            run = self.run_listing(
                self.text.format(path=dumped),
                "--each-statement",
                "--snapshot",
                self.path(name),
            )
            self.assertEqual(run.returncode, 0, run.stderr)
        with open(self.path("last.json"), encoding="utf-8") as file:
            found.append(json.load(file))
        for path in (self.path("last.pickle"), dumped):
            with open(path, "rb") as file:
                found.append(pickle.load(file))
        for snapshot in found:
            (segment,) = snapshot["segments"]
            self.assertEqual(segment["allocated_size"], 4 * MIB)
        # What happened, with the cell that asked.
        for snapshot in found[:2]:
            made = [
                event
                for event in snapshot["device_traces"][0]
                if event["action"] == "alloc"
            ]
            self.assertEqual([event["size"] for event in made], [4 * MIB])
            self.assertIn("x = torch.zeros", made[0]["user_metadata"])
            mark = snapshot["external_annotations"][1]
            self.assertIn("x = torch.zeros", mark["name"])
            self.assertLessEqual(mark["time_us"], made[0]["time_us"])

    def test_a_folder_that_is_not_there_is_told(self):
        path = os.path.join(self.path("none"), "s.json")
        run = self.run_listing("", "--snapshot", path)
        self.assertEqual(run.returncode, 2)
        self.assertIn(path, run.stderr)


class BesidePyTorch(RunCase):
    def test_it_is_said_that_there_is_an_exact_way(self):
        path = self.write("x = 1\n")
        os.mkdir(self.path("torch"))
        self.write("raise SystemExit('the real one')\n", "torch/__init__.py")
        arguments = ("-m", "larder.lab.run", "--device", self.device)
        both = os.pathsep.join((lab_case.PACKAGE_DIR, self.path("")))
        run = self.python(*arguments, path, PYTHONPATH=both)
        self.assertEqual(run.returncode, 0)
        self.assertIn("`larder run` runs this program", run.stderr)
        run = self.python(*arguments, "--json", path, PYTHONPATH=both)
        self.assertNotIn("larder run", run.stderr)
        run = self.python(*arguments, path)
        self.assertNotIn("larder run", run.stderr)


NOTEBOOK = {
    "nbformat": 4,
    "cells": [
        {"cell_type": "markdown", "source": ["x = this is no code"]},
        {
            "cell_type": "code",
            "source": ["!pip install torch\n", "import torch\n", "1 + 1"],
        },
        {"cell_type": "code", "source": "%%bash\nls"},
        {
            "cell_type": "code",
            "source": [
                "%%time\n",
                "def made(n):\n",
                "    return torch.zeros(n, device='cuda')\n",
                "x = made(2 * 2**20);\n",
                "x.shape;",
            ],
        },
        {"cell_type": "code", "source": ["for i in range(2):\n", "    1 / 0"]},
        {"cell_type": "code", "source": "print('not reached')"},
    ],
}


class Notebooks(RunCase):
    def run_notebook(self, content, *options):
        path = self.write(json.dumps(content), "lesson.ipynb")
        return self.python(
            "-m", "larder.lab.run", "--device", self.device, *options, path
        )

    def test_a_panel_follows_each_cell_of_code(self):
        run = self.run_notebook(NOTEBOOK)
        self.assertEqual(run.returncode, 1)
        # The value of a last line, unless a semicolon ends it.
        self.assertEqual(run.stdout, "2\n")
        shown = [l for l in run.stderr.splitlines() if l.startswith("> ")]
        self.assertEqual(
            shown,
            [
                "> import torch ... (2 lines)",
                "> def made(n): ... (4 lines)",
                "> for i in range(2): ... (2 lines)",
            ],
        )
        self.assertIn("allocated         8.00 MiB", run.stderr)
        self.assertIn("cell 2: left out: !pip install torch", run.stderr)
        self.assertIn("cell 3: left out, not Python: %%bash", run.stderr)
        # The traceback has the cell's own lines.
        self.assertIn('lesson.ipynb[5]", line 2', run.stderr)
        self.assertIn("1 / 0", run.stderr)

    def test_snapshots_have_lines_of_cells(self):
        path = self.path("out.json")
        self.run_notebook(NOTEBOOK, "--no-panel", "--snapshot", path)
        with open(path, encoding="utf-8") as file:
            (events,) = json.load(file)["device_traces"]
        (alloc,) = [one for one in events if one["action"] == "alloc"]
        frames = [
            (os.path.basename(one["filename"]), one["line"], one["name"])
            for one in alloc["frames"]
        ]
        self.assertEqual(
            frames,
            [
                ("lesson.ipynb[4]", 3, "made"),
                ("lesson.ipynb[4]", 4, "<module>"),
            ],
        )

    def test_what_is_no_notebook_is_told(self):
        for content, text in (
            ([], "a list `cells` was expected"),
            ({"cells": [{}]}, "cell 1: no cell_type"),
        ):
            run = self.run_notebook(content)
            self.assertEqual(run.returncode, 2)
            self.assertIn(text, run.stderr)
        path = self.write("{", "broken.ipynb")
        run = self.python("-m", "larder.lab.run", path)
        self.assertEqual(run.returncode, 2)
        self.assertIn("broken.ipynb: not a notebook", run.stderr)


STEPS = """\
import torch
w = torch.ones(2**20, device="cuda", requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
for i in range(3):
    opt.zero_grad()
    (w * w).mean().backward()
    opt.step()
"""


class Steps(RunCase):
    def test_a_line_follows_each_step(self):
        run = self.run_listing(STEPS, "--each-step", "--no-panel")
        self.assertEqual(
            run.stderr.splitlines()[-1],
            "step 3: allocated 8.00 MiB, peak 16.0 MiB, reserved 22.0 MiB",
        )
        self.assertEqual(len(run.stderr.splitlines()), 3)

    def test_or_an_object(self):
        run = self.run_listing(STEPS, "--each-step", "--json")
        steps = [json.loads(line) for line in run.stderr.splitlines()]
        self.assertEqual([one.get("step") for one in steps], [1, 2, 3, None])
        self.assertEqual(steps[0]["allocated_peak"], 16 * MIB + 1024)

    def test_where_none_came_it_is_said(self):
        run = self.run_listing("x = 1\n", "--each-step", "--no-panel")
        self.assertIn("no optimizer took a step", run.stderr)
        self.assertEqual(run.returncode, 0)


if __name__ == "__main__":
    lab_case.main()
