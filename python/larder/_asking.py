"""The command's verbs as functions."""

import json
import os
import subprocess
import sys
import tempfile

from larder import _results
from larder._command import Error, ask
from larder._sources import Sources


def _words(**options):
    """Options of the command by their names: None and False are left out."""
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            words.append(f"{option}={value}")
    return words


class _Question:
    """A verb with its sources and options, for JSON, text and page."""

    def __init__(self, verb, sources, **options):
        self._verb = verb
        self._sources = Sources(sources)
        self._words = _words(**options)
        self._text = None

    def _ask(self, verb, *words):
        try:
            said = ask(verb, *words, *self._sources.paths)
        except Error as error:
            raise Error(self._sources.shown(str(error))) from None
        return self._sources.shown(said)

    def json_lines(self):
        said = self._ask(self._verb, *self._words, "--json")
        return [json.loads(line) for line in said.splitlines()]

    def text(self):
        if self._text is None:
            self._text = self._ask(self._verb, *self._words).rstrip("\n")
        return self._text

    def page(self):
        return self._ask("view", "-o", "-")


def _answer(kind, verb, sources, **options):
    question = _Question(verb, sources, **options)
    return kind._of(question.json_lines()[0], question)


def report(source, *more, top=None, by=None):
    """Where memory went in a snapshot, and why it ran out.  Several, or a folder
    of them, are the ranks of one job, side by side.

    `top`: lines of each list; `by`: line, function, module or library.
    """
    question = _Question("report", [source, *more], top=top, by=by)
    said = question.json_lines()[0]
    kind = _results.Ranks if "ranks" in said else _results.Report
    return kind._of(said, question)


def fit(
    source, *more, gpu=None, capacity=None, policy=None, conf=None, jobs=None
):
    """Whether what was recorded fits on a card: `gpu` by name, as "rtx4090", or
    `capacity`, as "24GiB" or a number of bytes.  Several sources, or a folder,
    are the ranks of one job."""
    return _answer(
        _results.Fit, "fit", [source, *more],
        gpu=gpu, capacity=capacity, policy=policy, conf=conf, jobs=jobs,
    )


def tune(
    source, *more, gpu=None, capacity=None, policy=None, conf=None, jobs=None
):
    """The settings under which what was recorded fits, or needs least.
    The arguments are those of fit(); without a card, the recorded one."""
    return _answer(
        _results.Tune, "tune", [source, *more],
        gpu=gpu, capacity=capacity, policy=policy, conf=conf, jobs=jobs,
    )


def diff(before, after, *, top=None):
    """What differs between two snapshots: peaks, calls, owners of memory."""
    return _answer(_results.Diff, "diff", [before, after], top=top)


def replay(
    source,
    *more,
    device=None,
    gpu=None,
    policy=None,
    conf=None,
    pytorch=None,
    min_capacity=False,
    repeat=0,
):
    """The recording replayed on a simulated GPU, `device` or `gpu`, under
    `policy` and `conf`; `pytorch`: under the rules of this release;
    `min_capacity`: also on the smallest device; `repeat`: timed passes."""
    question = _Question(
        "replay", [source, *more],
        device=device if gpu is None else f"sim:{gpu}", policy=policy, conf=conf,
        pytorch=pytorch, min_capacity=min_capacity, repeat=repeat,
    )
    return _results.Replay._of({"runs": question.json_lines()}, question)


# ---- larder run ---------------------------------------------------------------


def _read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def _run(words, folder):
    """Runs the program; returns the JSON and the text."""
    told = os.path.join(folder, "told.json")
    text = os.path.join(folder, "told.txt")
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    paths = [package, os.environ.get("PYTHONPATH")]
    done = subprocess.run(
        [sys.executable, "-m", "larder.fit"]
        + [f"--json-file={told}", f"--text-file={text}", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(p for p in paths if p),
        },
        check=False,
    )
    if not os.path.exists(told):
        said = done.stderr.strip().rsplit("larder run: ", 1)[-1]
        raise Error(said or f"larder run ended with status {done.returncode}")
    return json.loads(_read(told)), _read(text).rstrip("\n")


def estimate(
    program,
    *arguments,
    gpu=None,
    device=None,
    steps=None,
    policy=None,
    conf=None,
    engine=None,
    world_size=None,
    advise=None,
):
    """Whether a PyTorch program would fit on a card: `larder run`, which
    runs it here, unchanged, without a GPU.  Its output is discarded."""
    words = _words(
        gpu=gpu, device=device, steps=steps, policy=policy, conf=conf, engine=engine,
        world_size=world_size, advise=advise,
    )
    words += [os.fspath(program), *map(str, arguments)]
    with tempfile.TemporaryDirectory(prefix="larder-") as folder:
        said, text = _run(words, folder)
    return _results.Estimate._of(said, _results.Told(text))
