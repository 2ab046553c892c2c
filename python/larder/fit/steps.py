"""Compares optimizer steps: when they become identical, and what memory each
adds."""

# Fewer differences between steps than this show no trend.
_FEWEST = 2


class Watcher:
    """Detects when steps have become identical, twice in a row: the same requests
    and frees in the same order, and the same growth of memory in use."""

    def __init__(self, book, most):
        self._book = book
        self._most = most  # None: until the steps are alike; 0: to the end
        self._from = 0
        self._last = None
        self.steps = 0
        self.repeats = False

    def _shape(self):
        """The last step's requests and frees, their number, and the memory it left
        in use."""
        begin, self._from = self._from, len(self._book.events)
        sizes = [
            (event >= 0, change)
            for event, change in self._book.changes(begin)
            if isinstance(event, int)
        ]
        left = sum(change for _, change in sizes)
        return hash(tuple(sizes)), len(sizes), left

    def is_steady(self):
        self.steps += 1
        shape = self._shape()
        self.repeats = shape == self._last
        self._last = shape
        if self._most is None:
            return self.repeats
        return self._most > 0 and self.steps >= self._most

    def grows_bytes(self):
        """How much more each step needs than the one before."""
        if self.repeats:
            return max(0, self._last[-1])
        return growth_bytes(peaks(self._book))


def peaks(book):
    """[name, peak of requested bytes] of each step that ended."""
    live, peak, rows = 0, 0, []
    for event, change in book.changes():
        if isinstance(event, str):
            rows.append([event, peak])
            peak = live
        live += change
        peak = max(peak, live)
    return rows


def growth_bytes(rows):
    """By how much the peaks of steps grow, the minimum over all steps after the
    second; 0 if one of them does not grow, or there are too few. The first step
    differs: an optimizer creates its state at its end."""
    sizes = [size for _, size in rows[1:]]
    grown = [after - before for before, after in zip(sizes, sizes[1:])]
    if len(grown) < _FEWEST or min(grown) <= 0:
        return 0
    return min(grown)
