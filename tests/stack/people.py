"""people.py BUILD [NAME...] - programs as people write them: `larder run` tells the
peaks that each has by itself on a large simulated card, to the byte.

The first lines of a program say what it takes:

    Needs: packages without which it is skipped; ninja and nvcc are commands, nvcc of
           PyTorch's CUDA
    Runs: what starts it (torchrun --nproc-per-node 2)
    Cards: how many it uses by itself
    Goes by: values that kernels compute.  A plain run has none: the peaks are those of
          the other engine with --real-cpu, which computes them on the host
    Says: what `larder run` has to say of a need that hangs on values which nobody
          knows; its peaks are compared with nothing
"""

import glob
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "programs", "people")
PEAKS = os.path.join(HERE, "programs", "peaks.py")
SECONDS = 900


class Program:
    def __init__(self, path):
        self.path = path
        self.name = os.path.splitext(os.path.basename(path))[0]
        with open(path, encoding="utf-8") as file:
            self._about = file.read().split('"""')[1] if path.endswith(".py") else ""
        self.needs = re.findall(r"[\w-]+", self._word("Needs"))
        self.starter = self._word("Runs").split()
        self.cards = self._word("Cards") or "1"
        self.goes_by_values = bool(self._word("Goes by"))
        self.says = self._word("Says")

    def _word(self, name):
        found = re.search(rf"^{name}: (.*?)\.?$", self._about, re.MULTILINE)
        return found[1] if found else ""

    def lacks(self):
        return [one for one in self.needs if not _is_there(one)]

    def start(self):
        """The launcher is the one beside this Python."""
        if not self.starter:
            return []
        found = os.path.join(os.path.dirname(sys.executable), self.starter[0])
        return [found, *self.starter[1:]]


def _is_there(name):
    if name == "nvcc":
        return _nvcc_release() == _cuda_release()
    if name == "ninja":
        return shutil.which(name) is not None
    return importlib.util.find_spec(name) is not None


def _nvcc_release():
    """What PyTorch's extensions compare: the part before the point."""
    if shutil.which("nvcc") is None:
        return None
    said = subprocess.run(["nvcc", "--version"], capture_output=True, text=True).stdout
    return re.search(r"release (\d+)", said)[1]


def _cuda_release():
    path = importlib.util.find_spec("torch").submodule_search_locations[0]
    with open(os.path.join(path, "version.py"), encoding="utf-8") as file:
        found = re.search(r"^cuda.*'(\d+)", file.read(), re.MULTILINE)
    return found and found[1]


def _environment(folder):
    """Each run has a folder, and no cache of kernels from another."""
    return {
        **os.environ,
        "LARDER_PYTHON": sys.executable,
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": os.path.join(folder, "hub"),
        "TORCHINDUCTOR_CACHE_DIR": os.path.join(folder, "inductor"),
        "TRITON_CACHE_DIR": os.path.join(folder, "triton"),
        "TORCH_EXTENSIONS_DIR": os.path.join(folder, "extensions"),
    }


def _run(words, folder):
    """`timeout` ends what it started with it, launchers' processes too."""
    return subprocess.run(
        ["timeout", str(SECONDS), *words], env=_environment(folder), cwd=folder,
        capture_output=True, text=True,
    )


def _why(run):
    """The last of what a program that failed complained of."""
    if run.returncode == 124:
        return f"not ended after {SECONDS} s"
    lines = [line.strip() for line in run.stderr.splitlines() if line.strip()]
    return " / ".join(lines[-3:])


def plain(larder, program):
    """The peaks of its processes, or why there are none."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "peaks")
        os.mkdir(out)
        # Without memory behind the addresses what it reads of the GPU is zeros, not
        # what lay there before.  Ranks tell each other values that have to arrive.
        backing = "memory" if program.starter else "none"
        card = f"h200,backing={backing},count={program.cards}"
        starter = program.start() or [sys.executable]
        run = _run(
            [larder, "exec", "--quiet", "--sim", card, "--", *starter, PEAKS, out,
             program.path], folder,
        )
        if run.returncode != 0:
            return _why(run)
        return sorted(_json_of(path) for path in glob.glob(os.path.join(out, "*")))


def _json_of(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def told(larder, program, *words):
    """The same by `larder run`, and the whole report."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "told")
        card = ["--gpu", "h200"]
        if program.cards != "1" and not program.starter:
            card = ["--device", f"sim:h200,count={program.cards}"]
        run = _run(
            [larder, "run", *card, "--steps", "all", f"--json={report}", *words,
             *program.start(), program.path], folder,
        )
        if run.returncode != 0:
            return _why(run), {}
        kept = _json_of(report)
    processes = kept.get("processes") or [kept]
    names = ("peak_allocated_bytes", "peak_reserved_bytes")
    return sorted([one[name] for name in names] for one in processes), kept


def difference(larder, program):
    """What is not as it should be; "" if nothing."""
    by_run, report = told(larder, program)
    if program.says:
        said = [f"{one[2]} this: {one[0]}" for one in report.get("assumed", ())]
        return "" if program.says in said else f"{said or by_run} said"
    if program.goes_by_values:
        by_itself = told(larder, program, "--engine", "fake", "--real-cpu")[0]
    else:
        by_itself = plain(larder, program)
    # What failed is told as text, and is no figure.
    if by_itself == by_run and isinstance(by_run, list) and by_run:
        return ""
    return f"{by_itself} by itself, {by_run} told"


def main(build, *names):
    larder = os.path.abspath(os.path.join(build, "larder"))
    paths = sorted(glob.glob(os.path.join(FOLDER, "*.*")))
    programs = [one for one in map(Program, paths) if not names or one.name in names]
    ready = [one for one in programs if not one.lacks()]
    same = 0
    for program in ready:
        different = difference(larder, program)
        same += not different
        print(f"{program.name}: {different or 'the same'}", flush=True)
    for program in programs:
        if program not in ready:
            print(f"{program.name}: skipped: no {', no '.join(program.lacks())}")
    if not ready:
        return 77
    print(f"{same} of {len(ready)}, {len(programs) - len(ready)} skipped")
    return same != len(ready)


sys.exit(main(*sys.argv[1:]))
