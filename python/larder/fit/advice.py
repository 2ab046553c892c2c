"""Finds changes that save memory: runs the program again with one change at a
time and compares the memory it needs."""

import collections
import sys

from larder.fit import assignments, programs, replays, verdict
from larder.fit.running import ROOMY, Failed, Interrupted
from larder.fit.search import replaced

# Names that programs use for their batch size.
BATCH_NAMES = (
    "batch-size", "batch_size", "batchsize", "batch", "bs", "b",
    "train-batch-size", "train_batch_size", "micro-batch-size",
    "micro_batch_size", "per-device-train-batch-size",
    "per_device_train_batch_size",
)

_TITLES = {
    "checkpoint": "gradient checkpointing of {}",
    "half": "autocast to {}",
    "sgd": "SGD without momentum instead of {}",
    "adam8bit": "{} with 8-bit state (estimated; laid out as in bitsandbytes)",
    "loader": "half the batch size, gradients accumulated over two steps: the loader's {}",
    "accumulate": "",
}

# The changes that affect a run least are also tried together.
_TOGETHER = ("checkpoint", "half", "adam8bit")

Try = collections.namedtuple("Try", "changes arguments numbers title")
Advice = collections.namedtuple("Advice", "title need saves changes")


def batch_of(options):
    """How to halve the program's batch size: (arguments, numbers, what), or
    None if that is unknown."""
    words = options.arguments
    for at, name, value, has_equals in programs.options_in(words):
        if name.lstrip("-") not in BATCH_NAMES:
            continue
        if has_equals and not name.startswith("--"):
            continue
        if value.isdecimal() and int(value) > 1:
            half = int(value) // 2
            return replaced(words, at, half), {}, f"{name} {value} to {half}"
    if options.module:
        return None
    for name, value in assignments.numbers(options.script).items():
        if name.lower() in BATCH_NAMES and value > 1:
            return words, {name: value // 2}, f"{name} = {value} to {value // 2}"
    return None


def _tries(told, options):
    yield Try(("checkpoint",), None, {}, None)
    yield Try(("half",), None, {}, None)
    if told["optimizer"] in ("Adam", "AdamW"):
        yield Try(("adam8bit",), None, {}, None)
        yield Try(("sgd",), None, {}, None)
    batch = batch_of(options)
    if batch is None:
        yield Try(("loader", "accumulate"), None, {}, None)
    else:
        arguments, numbers, what = batch
        title = f"half the batch size, gradients accumulated over two steps: {what}"
        yield Try(("accumulate",), arguments, numbers, title)


class Adviser:
    def __init__(self, runner, options, told, need):
        self._runner = runner
        self._options = options
        self._told = told
        self._need = need

    def _steps(self):
        """As many steps as were seen without the change: otherwise memory that each
        step adds would be attributed to the change."""
        return 0 if self._told["how"] == "ended" else self._told["steps"] or None

    def _run(self, one):
        """Try a change.  Returns the resulting advice, or None."""
        try:
            told = self._runner.run(
                ROOMY, one.arguments, quiet=True, changes=one.changes,
                numbers=one.numbers, steps=self._steps(),
            )
        except Failed:
            return None
        if told["how"] == "interrupted":
            raise Interrupted
        made = told["changes_made"]
        if told["how"] == "failed" or len(made) < len(one.changes):
            return None
        title = one.title or " + ".join(
            _TITLES[n].format(made[n]) for n in one.changes if _TITLES[n]
        )
        need = replays.need_of(
            told, self._options.policy, self._options.conf
        )
        return Advice(title, need, self._need - need, one.changes)

    def advise(self):
        """The advice, by savings, largest first.  The last may be several
        changes together, if they save more than any alone."""
        found = []
        for one in _tries(self._told, self._options):
            got = self._run(one)
            if got is not None and got.need < self._need:
                found.append(got)
        found.sort(key=lambda one: one.need)
        together = tuple(
            name for name in _TOGETHER if any(name in a.changes for a in found)
        )
        if len(together) > 1:
            got = self._run(Try(together, None, {}, None))
            if got is not None and got.need < found[0].need:
                found.append(got)
        return found


def of(runner, options, told, need):
    print(
        "larder run: trying changes that may save memory, one run each",
        file=sys.stderr,
    )
    return Adviser(runner, options, told, need).advise()


def write(out, advice, card):
    out("")
    if not advice:
        out("none of the changes tried saves memory")
        return
    out("changes that save memory, each measured in a run of its own")
    for one in advice:
        fits = "fits" if verdict.fits(one.need, card) else "does not fit"
        out(
            f"  {verdict.size(one.saves):>{verdict.WIDTH}}  {one.title}: "
            f"needs {verdict.size(one.need)}, {fits}"
        )
