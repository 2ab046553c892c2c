"""The result of a run, as JSON for the parent process."""

import json
import sys

import torch

from larder._files import NewFile
from larder.fit import summary


def write(run, how, seconds):
    options, book = run.options, run.book
    book.write_trace(options.trace)
    if options.snapshot:
        try:
            torch.cuda.memory._dump_snapshot(options.snapshot)
        except OSError as error:
            print(f"larder run: {options.snapshot}: {error}", file=sys.stderr)
    allocated, reserved = run.peaks.of(torch.cuda.current_device())
    told = {
        "how": how,
        "unsupported": run.mode.unsupported.why,
        "seconds": seconds,
        "steps": run.watcher.steps,
        "repeats": run.watcher.repeats,
        "grows_bytes_per_step": run.watcher.grows_bytes(),
        "peak_allocated_bytes": allocated,
        "peak_reserved_bytes": reserved,
        "world_size": run.distributed.world_size(),
        "groups": run.distributed.used_sizes(),
        "optimizer": run.phases.optimizer_name(),
        "changes_made": run.changes.made,
        "made_up": [[f"{p[0]}:{p[1]}", w] for p, w in run.mode.values.places.items()],
        "assumed": run.mode.values.told(),
        **summary.of_book(book),
    }
    with NewFile(options.result, encoding="utf-8") as file:
        json.dump(told, file)
