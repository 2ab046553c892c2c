"""What two sequences have in common, and where they differ, by the fewest
changes (Myers, "An O(ND) difference algorithm", 1986).  The standard library's
difflib looks for long runs instead, and misses much where a program repeats
itself."""


def _way_on(reached, k, d):
    """Whether the diagonal k is reached by something of the second alone."""
    return k == -d or (k != d and reached[k - 1] < reached[k + 1])


def _reach(first, second):
    """For each number of changes how far each diagonal was before it."""
    reached, before = {1: 0}, []
    for d in range(len(first) + len(second) + 1):
        before.append(dict(reached))
        for k in range(-d, d + 1, 2):
            inserts = _way_on(reached, k, d)
            x = reached[k + 1] if inserts else reached[k - 1] + 1
            while (
                x < len(first)
                and x - k < len(second)
                and first[x] == second[x - k]
            ):
                x += 1
            reached[k] = x
            if x >= len(first) and x - k >= len(second):
                return before
    return before


def differences(first, second):
    """(what only the first has, what only the second has): their places."""
    x, y = len(first), len(second)
    only_first, only_second = [], []
    before = _reach(first, second)
    for d in range(len(before) - 1, 0, -1):
        k = x - y
        if _way_on(before[d], k, d):
            x = before[d][k + 1]
            y = x - k - 1
            only_second.append(y)
        else:
            x = before[d][k - 1]
            y = x - k + 1
            only_first.append(x)
    return only_first[::-1], only_second[::-1]
