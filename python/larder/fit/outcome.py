"""The result of a run, as JSON for the parent process."""

import collections
import json
import sys

from larder._files import NewFile
from larder.fit import gpu, ledger, steps
from larder.torch import statistics

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


def write(run, how, seconds):
    options, book = run.options, run.book
    alive, number = book.at_peak()
    records = [book.records[n] for n in alive]
    book.write_trace(options.trace)
    if options.snapshot:
        try:
            gpu.write_snapshot(options.snapshot)
        except OSError as error:
            print(f"larder run: {options.snapshot}: {error}", file=sys.stderr)
    told = {
        "how": how,
        "seconds": seconds,
        "steps": run.watcher.steps,
        "repeats": run.watcher.repeats,
        "grows_bytes_per_step": run.watcher.grows_bytes(),
        "requests": len(book.records),
        "peak_requested_bytes": book.peak,
        "peak_allocated_bytes": statistics.max_memory_allocated(),
        "peak_reserved_bytes": statistics.max_memory_reserved(),
        "peak": _setter(book, number),
        "kinds": _sums(records, kind_of),
        "lines": _sums(records, _place)[:_LINES],
        "modules": _modules(records),
        "by_step": steps.peaks(book),
        "world_size": run.distributed.world_size(),
        "groups": run.distributed.used_sizes(),
        "optimizer": run.phases.optimizer_name(),
        "changes_made": run.changes.made,
        "made_up": [[f"{p[0]}:{p[1]}", w] for p, w in run.mode.values.places.items()],
    }
    with NewFile(options.result, encoding="utf-8") as file:
        json.dump(told, file)
