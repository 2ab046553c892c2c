"""python3 -m larder.torch [options] SCRIPT.py [ARG…]

Runs a PyTorch program, unchanged, with Larder as its GPU memory allocator;
--compare also runs it with PyTorch's own, and shows the difference.

The program runs on the preload library, which holds back calls that queue work
while live memory moves, which happens instead of a request failing.  The setting
migrate:off forbids that; LARDER_PRELOAD=off starts it without.
"""

import argparse
import os
import runpy
import subprocess
import sys

from larder._finding import VARIABLE, candidates
from larder._leaving import exit_status


def _parser():
    parser = argparse.ArgumentParser(
        prog="python3 -m larder.torch",
        description="Run a PyTorch program with Larder as its GPU memory allocator.",
        epilog="Exit status: the program's; 2 if it could not be started; of "
        "--compare 0, or 1 if a run failed.",
    )
    add = parser.add_argument
    add(
        "--conf",
        metavar="SETTINGS",
        help="key:value,… as in larder-conf(5); default: LARDER_CONF, or "
        "else PYTORCH_CUDA_ALLOC_CONF",
    )
    add(
        "--policy",
        metavar="NAME",
        help="how memory is chosen: pytorch, larder or direct",
    )
    add(
        "--device",
        metavar="SPEC",
        help="the first device, such as sim:24GiB; default: the GPUs",
    )
    add(
        "--compare",
        action="store_true",
        help="run it twice, under PyTorch's own allocator and under Larder, "
        "and show peaks, fragmentation and time per iteration",
    )
    add("--json", action="store_true", help="print the comparison as JSON")
    add(
        "--report",
        metavar="FILE",
        help="write what --compare compares, for this run, as JSON",
    )
    add(
        "--native",
        action="store_true",
        help="with PyTorch's own allocator: for --report",
    )
    add(
        "-m",
        dest="module",
        action="store_true",
        help="SCRIPT is the name of a module",
    )
    add("script", metavar="SCRIPT.py")
    add("arguments", metavar="ARG", nargs=argparse.REMAINDER)
    return parser


def _refuse(why):
    print(f"larder.torch: {why}", file=sys.stderr)
    return 2


def _enable(options):
    """Enable Larder.  Returns the reason if that fails, else None."""
    try:
        # If there is no PyTorch, this import reports it.
        from larder.torch.enabling import enable

        enable(options.conf, options.policy, options.device)
    except (ImportError, RuntimeError, ValueError) as error:
        return str(error)
    return None


def _gate(options):
    """The library below which live memory may move, or None."""
    device = options.device or "cuda:0"
    if options.native or not device.startswith("cuda"):
        return None
    if "LARDER_PRELOAD" in os.environ:  # the user's choice, or already ours
        return None
    if sys.platform != "linux" or not sys.executable:
        return None
    path = candidates(["liblarder_preload.so"])[0]
    if os.environ.get(VARIABLE):
        path = os.path.abspath(path)
    return path if _can_be_preloaded(path) else None


def _can_be_preloaded(path):
    # A bare name would be searched in the current folder, and LD_PRELOAD is
    # split at blanks and colons.
    return (
        os.path.isabs(path)
        and not set(path) & set(" \t\n:")
        and os.path.exists(path)
    )


def _start_gated(library):
    """Start this command again, on the preload library."""
    loaded = os.environ.get("LD_PRELOAD", "").split()
    os.environ["LD_PRELOAD"] = " ".join([library, *loaded])
    os.environ["LARDER_PRELOAD"] = "gate"
    sys.stdout.flush()
    sys.stderr.flush()
    # Python 3.9 keeps no orig_argv.
    options = subprocess._args_from_interpreter_flags()
    ours = [*options, "-m", "larder.torch", *sys.argv[1:]]
    arguments = getattr(sys, "orig_argv", [None, *ours])[1:]
    os.execv(sys.executable, [sys.executable, *arguments])


def _run_program(options):
    sys.argv = [options.script, *options.arguments]
    if options.module:
        runpy.run_module(options.script, run_name="__main__", alter_sys=True)
        return
    # Like `python3 SCRIPT.py`; -m had put the current folder here.
    sys.path[0] = os.path.dirname(os.path.abspath(options.script))
    runpy.run_path(options.script, run_name="__main__")


def _write_report(watch, path, status):
    """Write the report.  A failure here does not change the program's status."""
    try:
        watch.write(path, status)
    except (OSError, RuntimeError) as error:
        print(f"larder.torch: no report: {error}", file=sys.stderr)


def _run(options):
    if options.report is None:
        _run_program(options)
        return 0
    try:
        from larder.torch.watching import Watch
    except ImportError as error:
        return _refuse(error)
    watch = Watch("native" if options.native else "larder").start()
    status = 1
    try:
        _run_program(options)
        status = 0
    except SystemExit as stop:
        status = exit_status(stop)
    finally:
        _write_report(watch, options.report, status)
    return status


def main():
    options = _parser().parse_args()
    if options.compare and (options.native or options.report):
        return _refuse("--compare writes no report and runs both allocators")
    if not options.module and not os.path.exists(options.script):
        return _refuse(f"{options.script}: there is no such file")
    if options.compare:
        from larder.torch.comparing import compare, refused

        why = refused(options)
        return compare(options) if why is None else _refuse(why)
    gate = _gate(options)
    if gate is not None:
        _start_gated(gate)
    why = None if options.native else _enable(options)
    return _run(options) if why is None else _refuse(why)


if __name__ == "__main__":
    # The program becomes __main__, but the modules running here must stay
    # alive.
    _kept = sys.modules["__main__"]
    sys.exit(main())
