"""--max NAME=A..B: the largest value of an argument with which it fits."""

import re

from larder.fit import replays, verdict
from larder.fit.running import ROOMY


class SearchError(ValueError):
    """The request, or the program, does not allow it."""


def parse(text):
    """(name, lowest, highest)"""
    match = re.fullmatch(r"-*([\w-]+)=(\d+)\.\.(\d+)", text)
    if match is None or int(match[2]) < 1 or int(match[2]) > int(match[3]):
        raise SearchError(
            f"max '{text}': expected NAME=A..B with 1 <= A <= B, as "
            "batch_size=4..512"
        )
    return match[1], int(match[2]), int(match[3])


def with_value(arguments, name, value):
    """The program's arguments with --NAME's value replaced, or added."""
    names = {f"--{name}", f"--{name.replace('_', '-')}"}
    result = list(arguments)
    for at, word in enumerate(result):
        if word in names and at + 1 < len(result):
            result[at + 1] = str(value)
            return result
        key, equals, _ = word.partition("=")
        if equals and key in names:
            result[at] = f"{key}={value}"
            return result
    return [*result, f"--{name}", str(value)]


class Search:
    def __init__(self, runner, options, card):
        self._runner = runner
        self._options = options
        self._card = card
        self.tried = {}

    def _fits(self, name, value):
        told = self._runner.run(
            ROOMY, with_value(self._options.arguments, name, value), quiet=True
        )
        if told["how"] == "failed":
            raise SearchError(
                f"with --{name} {value} the program fails; run it alone to "
                "see why"
            )
        need = replays.needed_bytes(
            told["trace"], self._options.policy, self._options.conf
        )
        self.tried[value] = need
        return verdict.fits(need, self._card)

    def largest(self, name, low, high):
        """None if the lowest does not fit."""
        if not self._fits(name, low):
            return None
        while low < high:
            middle = (low + high + 1) // 2
            if self._fits(name, middle):
                low = middle
            else:
                high = middle - 1
        return low
