"""--compare: runs a program under PyTorch's own allocator and under Larder."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile

from larder._sizes import size


def _seconds(value):
    if value is None:
        return "-"
    return f"{value * 1e3:.2f} ms" if value < 1 else f"{value:.2f} s"


def _percent(value):
    return f"{value * 100:.1f} %"


def _count(value):
    return "-" if value is None else str(value)


# One entry per line: its label, its field, its format.
_ROWS = (
    ("peak allocated", "peak_allocated_bytes", size),
    ("peak reserved", "peak_reserved_bytes", size),
    ("fragmentation", "fragmentation", _percent),
    ("out of memory", "ooms", _count),
    ("retries", "retries", _count),
    ("driver calls", "device_allocs", _count),
    ("iterations", "steps", _count),
    ("time per iteration", "iteration_seconds", _seconds),
    ("total time", "seconds", _seconds),
)


def _difference(native, ours):
    if not native or ours is None or native is None:
        return ""
    return f"{(ours - native) / native * 100:+.1f} %"


def table(native, larder):
    """The comparison as text."""
    lines = [f"{'':20}{'native':>14}{'larder':>14}{'difference':>13}"]
    for name, field, show in _ROWS:
        difference = _difference(native[field], larder[field])
        if field == "fragmentation":
            points = (larder[field] - native[field]) * 100
            difference = f"{points:+.1f} points"
        lines.append(
            f"{name:20}{show(native[field]):>14}{show(larder[field]):>14}"
            f"{difference:>13}".rstrip()
        )
    lines += [
        "",
        "fragmentation: the part of peak reserved that peak allocated does not "
        "need;",
        "an iteration: from one step of the first optimizer to the next, the "
        "median,",
        "the GPU waited for at each step",
    ]
    return "\n".join(lines) + "\n"


def _run(options, native, report):
    command = [sys.executable, "-m", "larder.torch", "--report", report]
    if native:
        command.append("--native")
    else:
        for name in ("conf", "policy", "device"):
            value = getattr(options, name)
            if value is not None:
                command += [f"--{name}", value]
    if options.module:
        command.append("-m")
    command += [options.script, *options.arguments]
    status = subprocess.run(command, check=False).returncode
    try:
        with open(report, encoding="utf-8") as file:
            return status, json.load(file)
    except (OSError, ValueError):
        return status, None


def refused(options):
    """The reason why the second run would be refused, or None.  Called before
    the first run, which may take hours."""
    if importlib.util.find_spec("torch") is None:
        return "No module named 'torch'"
    try:
        from larder.torch import settings

        settings.check(options.conf, options.policy, options.device)
    except (ImportError, ValueError) as error:
        return str(error)
    return None


def compare(options):
    """Run both and compare.  Returns the exit status: 0, or 1 if a run failed."""
    reports = {}
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for name in ("native", "larder"):
            status, reports[name] = _run(
                options,
                name == "native",
                os.path.join(folder, name + ".json"),
            )
            if status != 0:
                failed = True
                print(
                    f"larder.torch: the run under {name} ended with status "
                    f"{status}",
                    file=sys.stderr,
                )
    if None not in reports.values():
        if options.json:
            print(json.dumps(reports))
        else:
            sys.stdout.write(table(reports["native"], reports["larder"]))
    return 1 if failed else 0
