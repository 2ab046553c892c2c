"""What a ledger shows, for the report: sums at the peak, by purpose, line and
module."""

import collections

from larder.fit import ledger, steps

_LINES = 12


def kind_of(record):
    """The purpose of an allocation, in a report's terms."""
    if record[ledger.KIND]:
        return record[ledger.KIND]
    return {
        ledger.FORWARD: "activations",
        ledger.BACKWARD: "backward",
        ledger.OPTIMIZER: "optimizer's step",
    }.get(record[ledger.PHASE], "other tensors")


def _place(record):
    if not record[ledger.FILE]:
        return ""
    return f"{record[ledger.FILE]}:{record[ledger.LINE]}"


def _sums(records, key):
    sums = collections.Counter()
    for record in records:
        sums[key(record)] += record[ledger.BYTES]
    return [[name, size] for name, size in sums.most_common()]


def _modules(records):
    """Sums by module, one for each kind of allocation."""
    table = collections.defaultdict(collections.Counter)
    for record in records:
        table[record[ledger.MODULE] or "(none)"][kind_of(record)] += record[
            ledger.BYTES
        ]
    rows = [[name, dict(sums)] for name, sums in table.items()]
    rows.sort(key=lambda row: -sum(row[1].values()))
    return rows


def _setter(book, number):
    if number is None:
        return None
    record = book.records[number]
    return {
        "bytes": record[ledger.BYTES],
        "operator": record[ledger.OPERATOR],
        "module": record[ledger.MODULE],
        "phase": record[ledger.PHASE],
        "place": _place(record),
        "step": record[ledger.STEP],
    }


def of_book(book):
    alive, number = book.at_peak()
    records = [book.records[n] for n in alive]
    return {
        "requests": len(book.records),
        "peak_requested_bytes": book.peak,
        "peak": _setter(book, number),
        "kinds": _sums(records, kind_of),
        "lines": _sums(records, _place)[:_LINES],
        "modules": _modules(records),
        "by_step": steps.peaks(book),
    }
