#!/usr/bin/env python3
"""check_torch.py - PyTorch on a GPU under its own allocator and under Larder: a
table for docs/GPU.md, and what must hold.

Exit status: 0 if all held, 1 if something did not, 77 where nothing was run,
with the reason in words.
"""

import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
ALLOCATORS = ("native", "expandable", "larder-pytorch", "larder")
# The same bits are due from these.
SAME = {"train_resnet": "losses", "train_gpt2": "losses", "threads": "threads"}
# What is allocated is the same too where the policy is PyTorch's and segments
# are of one kind.
SAME_ALLOCATED = ("larder-pytorch",)
PART_SECONDS = 3600


def why_not():
    """Why nothing can be run, or None."""
    try:
        import torch
    except ImportError as error:
        return f"no PyTorch ({error})"
    if not torch.cuda.is_available():
        return f"PyTorch {torch.__version__} sees no GPU"
    if not hasattr(torch.cuda.memory, "change_current_allocator"):
        return f"PyTorch {torch.__version__} has no pluggable allocators"
    return None


def environment():
    paths = [os.path.join(SOURCE, "python"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def run(allocator, arguments):
    """The parts' lines, by their names."""
    print(f"running under {allocator}", file=sys.stderr, flush=True)
    try:
        done = subprocess.run(
            [
                sys.executable,
                os.path.join(HERE, "torch_subject.py"),
                allocator,
                *arguments,
            ],
            env=environment(),
            stdout=subprocess.PIPE,
            text=True,
            timeout=PART_SECONDS,
        )
        out, status = done.stdout, done.returncode
    except subprocess.TimeoutExpired as late:
        out, status = (late.stdout or b"").decode(), "a timeout"
    found = {}
    for line in out.splitlines():
        if line.startswith('{"part"'):
            part = json.loads(line)
            found[part["part"]] = part
    if not found or status not in (0, 1):
        found["the run"] = {
            "part": "the run",
            "ok": False,
            "error": f"ended with {status}",
        }
    return found


def complaints(results):
    """What did not hold."""
    said = []
    for allocator, parts in results.items():
        said += [
            f"{allocator}: {name}: {part['error']}"
            for name, part in parts.items()
            if not part["ok"]
        ]
    said += [
        f"{allocator}: {part}: the {field} are not native's"
        for part, field in SAME.items()
        for allocator in ALLOCATORS
        if differs(results, allocator, part, field)
    ]
    said += [
        f"{allocator}: the experiments' bytes are not native's"
        for allocator in SAME_ALLOCATED
        if differs(results, allocator, "experiments", "steps")
    ]
    return said


def found_of(results, allocator, part, field):
    found = results.get(allocator, {}).get(part, {})
    return found.get("found", {}).get(field)


def differs(results, allocator, part, field):
    native = found_of(results, "native", part, field)
    other = found_of(results, allocator, part, field)
    return None not in (native, other) and native != other


def _ms(value):
    return f"{value:.1f} ms"


def _gib(value):
    return f"{value / (1 << 30):.2f} GiB"


ROWS = (
    ("ResNet-50, peak reserved", "train_resnet", "reserved", _gib),
    ("ResNet-50, peak allocated", "train_resnet", "allocated", _gib),
    ("ResNet-50, time of a step", "train_resnet", "step_ms", _ms),
    ("ResNet-50, largest batch in 12 GiB", "batch_resnet", "batch", str),
    ("GPT-2, peak reserved", "train_gpt2", "reserved", _gib),
    ("GPT-2, peak allocated", "train_gpt2", "allocated", _gib),
    ("GPT-2, time of a step", "train_gpt2", "step_ms", _ms),
    ("GPT-2, largest batch in 12 GiB", "batch_gpt2", "batch", str),
    (
        "an allocation and its free",
        "allocation_time",
        "pair_ns",
        "{:.0f} ns".format,
    ),
)


def table(results):
    """For docs/GPU.md."""
    lines = [
        "| | " + " | ".join(ALLOCATORS) + " |",
        "|---|" + "---|" * len(ALLOCATORS),
    ]
    for name, part, field, show in ROWS:
        values = [found_of(results, a, part, field) for a in ALLOCATORS]
        shown = ["-" if v is None else show(v) for v in values]
        lines.append(f"| {name} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def machine():
    import torch

    return (
        f"{torch.cuda.get_device_name(0)}, PyTorch {torch.__version__}, "
        f"CUDA {torch.version.cuda}"
    )


def moves():
    """What is wrong with memory that moves below a program, or None."""
    library = os.path.join(
        os.environ.get("LARDER_LIBRARY_DIR", ""), "liblarder_preload.so"
    )
    if not os.path.exists(library):
        print(f"live memory below PyTorch: skipped: no {library}")
        return None
    found = subprocess.run(
        [sys.executable, os.path.join(HERE, "torch_moves.py")],
        env={
            **environment(),
            "LD_PRELOAD": library,
            "LARDER_PRELOAD": "cache,migrate",
            "LARDER_CONF": "limit:6GiB",
            "LARDER_PRELOAD_STATS": "-",
            "PYTORCH_NO_CUDA_MEMORY_CACHING": "1",
        },
        capture_output=True,
        text=True,
        timeout=PART_SECONDS,
    )
    said = (found.stdout + found.stderr).strip()
    print(f"live memory below PyTorch: {said}")
    if found.returncode != 0:
        return "memory that moves below PyTorch"
    return None


def main(arguments):
    why = why_not()
    if why is not None:
        print(f"PyTorch on a GPU: skipped: {why}")
        return 77
    results = {a: run(a, arguments) for a in ALLOCATORS}
    print(machine())
    print(table(results))
    said = [*complaints(results), *filter(None, [moves()])]
    for complaint in said:
        print(f"FAILED: {complaint}")
    if not said:
        print("the same losses to the last bit; graphs, streams, threads, "
              "running out of memory and snapshots as they should be")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
