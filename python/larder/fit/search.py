"""--max NAME=A..B: finds the largest value of an argument that fits."""

import os
import re

from larder.fit import assignments, cards, programs, replays, verdict
from larder.fit.running import ROOMY, Interrupted


class SearchError(ValueError):
    """The request is invalid, or the program does not support it."""


def parse(text):
    """(name, lowest, highest)"""
    match = re.fullmatch(r"-*([\w-]+)=(\d+)\.\.(\d+)", text)
    if match is None or int(match[2]) < 1 or int(match[2]) > int(match[3]):
        raise SearchError(
            f"max '{text}': expected NAME=A..B with 1 <= A <= B, as "
            "batch_size=4..512"
        )
    return match[1], int(match[2]), int(match[3])


def _is_script(options):
    return programs.kind_of(options) == programs.SCRIPT


def number_of(options, name):
    """The script's own number of that name, if it is not an argument of the
    command line; else None."""
    if not _is_script(options) or _place(options.arguments, name) is not None:
        return None
    known = assignments.numbers(options.script)
    return next((n for n in (name, name.replace("-", "_")) if n in known), None)


def _names(name):
    return {f"--{name}", f"--{name.replace('_', '-')}"}


def _place(arguments, name):
    """The index of the argument, or None."""
    for at, word in enumerate(arguments):
        if word.partition("=")[0] in _names(name):
            return at
    return None


def replaced(arguments, at, value):
    """The arguments with another value at that index."""
    result = list(arguments)
    key, equals, _ = result[at].partition("=")
    if equals:
        result[at] = f"{key}={value}"
    else:
        result[at + 1 : at + 2] = [str(value)]
    return result


def with_value(arguments, name, value):
    """The program's arguments with --NAME's value replaced, or added."""
    at = _place(arguments, name)
    if at is None:
        return [*arguments, f"--{name}", str(value)]
    return replaced(arguments, at, value)


def _is_serving(options):
    """Whether the program is, or contains, a serving engine; known before it
    runs."""
    kind = programs.kind_of(options)
    if kind == programs.COMMAND:
        return os.path.basename(options.script) == "vllm"
    if kind == programs.MODULE:
        return options.script.split(".")[0] == "vllm"
    if kind == programs.BINARY:
        return False
    with open(options.script, encoding="utf-8", errors="replace") as file:
        found = re.search(r"^\s*(import|from) vllm\b", file.read(), re.MULTILINE)
    return found is not None


def _asked_for(trace):
    """The sizes that a trace requests, in order, as one number."""
    with open(trace, encoding="utf-8") as file:
        sizes = [line.split()[2] for line in file if line.startswith("a ")]
    return hash(tuple(sizes))


class Search:
    def __init__(self, runner, options, card, device=""):
        """`device`: a serving engine fills it, whatever it needs."""
        self._runner = runner
        self._device = device
        self._is_serving = options is not None and _is_serving(options)
        self._options = options
        self._card = card
        self._hints = []  # values that are probably near the largest
        self.tried = {}
        self._asked = {}  # value -> the requests with it

    def _starts(self, name, value):
        """Whether a serving engine starts with this value of its argument."""
        argument = name.replace("-", "_")
        told = self._runner.run(
            self._device, quiet=True, engine_arguments={argument: value}
        )
        plan = told.get("plan")
        if told["how"] == "interrupted" or plan is None or not plan.is_short:
            self._must_tell(told, f"--{name} {value}")
        self.tried[value] = (told["serving"] or {}).get("kv_cache_tokens")
        self._asked[value] = value
        if argument == "max_model_len" and plan is not None and plan.longest:
            self._hints = [plan.longest, plan.longest + 1]
        return plan is not None and plan.is_ready

    def _fits(self, name, value):
        if self._is_serving:
            return self._starts(name, value)
        arguments, numbers = self._options.arguments, {}
        number = number_of(self._options, name)
        if number is None:
            arguments = with_value(arguments, name, value)
        else:
            numbers[number] = value
        told = self._runner.run(ROOMY, arguments, quiet=True, numbers=numbers)
        self._must_tell(told, f"--{name} {value}")
        if os.path.exists(told["trace"]):
            self._asked[value] = _asked_for(told["trace"])
        need = replays.need_of(
            told, self._options.policy, self._options.conf
        )
        self.tried[value] = need
        taken = cards.groups_bytes(told["groups"], self._options.cards)
        return verdict.fits(need, cards.with_groups(self._card, taken))

    def _must_tell(self, told, what):
        if told["how"] == "interrupted":
            raise Interrupted
        if told["how"] == "failed":
            raise SearchError(
                f"with {what} the program fails"
                + (f": {told['error']}" if told.get("error") else "")
            )
        if not told["requests"]:
            raise SearchError(f"with {what} the program used no GPU")

    def _must_matter(self, name, low, high):
        if low in self._asked and self._asked[low] == self._asked.get(high):
            raise SearchError(
                f"--{name} changes nothing: with {low} and with {high} the program "
                "requests the same memory"
            )

    def said(self, value):
        """The result for a value, as text."""
        found = self.tried[value]
        if not self._is_serving:
            return verdict.size(verdict.whole_bytes(found, self._card))
        return "does not start" if found is None else f"{found:,} tokens in the cache"

    def _next(self, low, high):
        """The value to try between one that fits and, at most, the largest."""
        for hint in self._hints:
            if low < hint <= high:
                return hint
        return (low + high + 1) // 2

    def largest(self, name, low, high):
        """The largest value that fits.  None if the lowest does not fit."""
        lowest = self._fits(name, low)
        if low < high:
            highest = self._fits(name, high)
            self._must_matter(name, low, high)
            if lowest and highest:
                return high
            high -= 1
        if not lowest:
            return None
        while low < high:
            middle = self._next(low, high)
            if self._fits(name, middle):
                low = middle
            else:
                high = middle - 1
        return low
