#!/usr/bin/env python3
"""check_wheel.py BUILD VERSION PYTHON [NAME...] - a PyTorch with CUDA, which
PYTHON has, as Larder's client under `larder exec`.  NAME: those checks alone.

Prints a line of JSON: what each check found, by name.  Exit status 1 if one
failed, whose words go to the standard error."""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
SUBJECTS = os.path.join(HERE, "torch")
SECONDS = 600

# Keys that Larder has besides PyTorch's, and one that it lacks.
MORE_STATS = {"num_oom_rejections"}
LESS_STATS = {"reserved_bytes_by_private_pools"}


class Failed(Exception):
    pass


class Wheel:
    def __init__(self, build, version, python, folder):
        build = os.path.abspath(build)
        larder = os.path.join(build, "larder")
        self.version = version
        self.folder = folder
        self.command = [
            larder, "exec", "--sim", "2GiB", "--quiet", "--",
            python, "-B", "-W", "ignore",
        ]
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.endswith("_ALLOC_CONF") and name != "LARDER_CONF"
        }
        self.environment.update(
            PYTHONPATH=os.path.join(SOURCE, "python"), LARDER_LIBRARY_DIR=build
        )

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *arguments, status=0):
        """What it prints; its last lines, if it ends otherwise."""
        done = subprocess.run(
            [*self.command, *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        if done.returncode != status:
            said = (done.stdout + done.stderr).strip()[-2000:]
            raise Failed(f"status {done.returncode}: {said}")
        return done.stdout

    def subject(self, name, *arguments):
        """Its last line."""
        path = os.path.join(SUBJECTS, name + ".py")
        return self.run(path, *arguments).splitlines()[-1]


def same_program(wheel, *runner):
    """What program.py found."""
    out = wheel.path("program.json")
    wheel.run(*runner, os.path.join(SUBJECTS, "program.py"), out)
    with open(out, encoding="utf-8") as file:
        return json.load(file)


def must_agree(what, native, larder):
    if native != larder:
        raise Failed(f"{what}: {larder} for {native}")


def without(dictionary, keys):
    return {k: v for k, v in dictionary.items() if k not in keys}


def relative(found):
    """Addresses, from the lowest segment on: where the host has room for the
    device is its own matter."""
    base = min(address for address, *_ in found["segments"])
    found["places"] = [place - base for place in found["places"]]
    for segment in found["segments"]:
        segment[0] -= base
        for block in segment[-1]:
            block[0] -= base
    return found


def check_placements(wheel):
    """The same program under both allocators: every address and statistic."""
    native = relative(same_program(wheel))
    larder = relative(
        same_program(
            wheel, "-m", "larder.torch", "--policy", "pytorch",
            "--conf", "pytorch:" + wheel.version,
        )
    )
    must_agree("addresses", native["places"], larder["places"])
    must_agree("segments", native["segments"], larder["segments"])
    for moment in ("stats", "left"):
        more = MORE_STATS - set(native[moment])
        must_agree(moment, native[moment], without(larder[moment], more))
    more = MORE_STATS - set(native["nested"])
    must_agree("nested statistics", without(native["nested"], LESS_STATS),
               without(larder["nested"], more))
    must_agree("summary", native["summary"].splitlines()[2:],
               larder["summary"].splitlines()[2:])
    for part, keys in native["shape"].items():
        theirs = larder["shape"].get(part, {})
        must_agree(f"keys of a {part}", keys,
                   {k: v for k, v in theirs.items() if k in keys})
    return (
        f"{len(native['places'])} addresses, {len(native['stats'])} statistics"
    )


def check_runner(wheel):
    """The program's status is the runner's."""
    program = os.path.join(SUBJECTS, "train.py")
    wheel.run("-m", "larder.torch", program, "512", "3", status=3)
    report = json.loads(
        wheel.run(
            "-m", "larder.torch", "--compare", "--json", "--policy", "pytorch",
            "--conf", "pytorch:" + wheel.version, program, "512",
            "0",
        )
    )
    native, larder = report["native"], report["larder"]
    for name in ("peak_allocated_bytes", "peak_reserved_bytes", "steps"):
        must_agree(name, native[name], larder[name])
    return f"peak {larder['peak_allocated_bytes'] / 2**20:.1f} MiB in both"


def check_moves(wheel):
    """What fails without moves is served with them, and no byte is lost."""
    runner = ["-m", "larder.torch"]
    moving = os.path.join(SUBJECTS, "moving.py")
    said = [
        wheel.run(*runner, *options, moving).splitlines()[-1]
        for options in ([], ["--conf", "migrate:off"])
    ]
    must_agree("live memory", ["served intact", "refused intact"], said)
    return "served where it is refused without moves"


# Programs of torch/tight.py.
TIGHT = (
    "gpt2",
    "gpt2, accumulated",
    "gpt2, checkpointed",
    "resnet",
    "gan",
)
TIGHT_PARTS = 102  # of a hundred of what a program asks for at once
GRANULE = 2 << 20


def tight_run(wheel, mib, name, *options):
    """On a device of that size, of which nothing else is taken."""
    usual = list(wheel.command)
    wheel.command[usual.index("2GiB")] = f"{mib}MiB,context=0,backing=none"
    try:
        wheel.run(
            "-m", "larder.torch", *options,
            os.path.join(SUBJECTS, "tight.py"), name,
        )
    finally:
        wheel.command[:] = usual


def is_refused(wheel, mib, name, *options):
    try:
        tight_run(wheel, mib, name, *options)
    except Failed as error:
        if "OutOfMemoryError" not in str(error):
            raise
        return True
    return False


def check_tight(wheel):
    """They finish on 1.02 times what they ask for at once."""
    report = wheel.path("tight.json")
    refused = 0
    for name in TIGHT:
        tight_run(wheel, 65536, name, "--report", report)
        with open(report, encoding="utf-8") as file:
            peak = json.load(file)["peak_allocated_bytes"]
        mib = peak * TIGHT_PARTS // 100 // GRANULE * 2
        tight_run(wheel, mib, name)
        refused += is_refused(wheel, mib, name, "--conf", "migrate:off")
    if refused == 0:
        raise Failed("all finish without moves, too: nothing was shown")
    return f"all {len(TIGHT)} finish; without moves {len(TIGHT) - refused}"


CHECKS = {
    "names, arguments": lambda wheel: wheel.subject("names"),
    "the same as PyTorch's own": check_placements,
    "runner, --compare": check_runner,
    "MemPool": lambda wheel: wheel.subject("pool"),
    "threads, streams": lambda wheel: wheel.subject("threads"),
    "out of memory": lambda wheel: wheel.subject("failing"),
    "live memory moves": check_moves,
    "1.02 times the peak": check_tight,
    "graph": lambda wheel: wheel.subject("graph"),
    "viewers": lambda wheel: wheel.subject("viewers", wheel.folder),
    "unsupported": lambda wheel: wheel.subject("refused"),
}


def main():
    build, version, python, *names = sys.argv[1:]
    found, failed = {"version": version}, False
    with tempfile.TemporaryDirectory() as folder:
        wheel = Wheel(build, version, python, folder)
        for name in names or CHECKS:
            try:
                found[name] = CHECKS[name](wheel)
            except (Failed, subprocess.TimeoutExpired) as error:
                found[name] = "**failed**"
                failed = True
                print(f"{version}: {name}: {error}", file=sys.stderr)
    print(json.dumps(found))
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    sys.exit(main())
