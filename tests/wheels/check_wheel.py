#!/usr/bin/env python3
"""check_wheel.py BUILD VERSION PYTHON [NAME...] - a PyTorch with CUDA, which
PYTHON has, as Larder's client under `larder exec`.  NAME: those checks alone.

Prints a line of JSON: what each check found, by name.  Exit status 1 if one
failed, whose words go to the standard error."""

import contextlib
import copy
import functools
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


def moves_in(folder):
    """How often something moved, in all processes; Failed if a byte differed after."""
    total = 0
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            moves, compared, _, wrong = map(int, file.read().split())
        if wrong > 0:
            raise Failed(f"{wrong} of {compared} allocations differed")
        total += moves
    return total


class Wheel:
    def __init__(self, build, version, python, folder):
        build = os.path.abspath(build)
        larder = os.path.join(build, "larder")
        self.version = version
        self.folder = folder
        self.command = [
            larder, "exec", "--quiet", "--sim", "{device}", "--",
            python, "-B", "-W", "ignore",
        ]
        self.watching = os.path.join(build, "tests", "torch", "watched")
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.endswith("_ALLOC_CONF") and name != "LARDER_CONF"
        }
        self.environment.update(
            PYTHONPATH=os.path.join(SOURCE, "python"), LARDER_LIBRARY_DIR=build,
            OMP_NUM_THREADS="1",
        )

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *arguments, status=0, device="2GiB"):
        """What it prints; its last lines, if it ends otherwise."""
        command = [word.replace("{device}", device) for word in self.command]
        done = subprocess.run(
            [*command, *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        if done.returncode != status:
            said = (done.stdout + done.stderr).strip()[-2000:]
            raise Failed(f"status {done.returncode}: {said}")
        return done.stdout

    @contextlib.contextmanager
    def watched(self, **more):
        """Another, for which all that lives is compared before and after each move
        (tests/torch/watched_torch.c), and the folder where that is told."""
        with tempfile.TemporaryDirectory() as folder:
            other = copy.copy(self)
            other.environment = {
                **self.environment, **more,
                "LARDER_LIBRARY_DIR": self.watching, "LARDER_WATCHED": folder,
            }
            yield other, folder

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
    "growing lengths",
    "validation",
    "LoRA merge",
    "KV cache",
    "late optimizer",
    "GAN",
    "images",
    "checkpoint",
    "EMA",
    "beam search",
)
# Hundredths of what a program asks for at once, that the device has.
TIGHT_PARTS = (102, 103, 105, 110)
GRANULE = 2 << 20


def tight_run(wheel, device, name, *options):
    wheel.run(
        "-m", "larder.torch", *options, os.path.join(SUBJECTS, "tight.py"), name,
        device=device + ",context=0",
    )


def is_refused(wheel, device, name, *options):
    try:
        tight_run(wheel, device, name, *options)
    except Failed as error:
        if "OutOfMemoryError" not in str(error):
            raise
        return True
    return False


def least_device(wheel, name, peak):
    """The first of TIGHT_PARTS on which it finishes, its MiB, and what moved."""
    for parts in TIGHT_PARTS:
        mib = peak * parts // 100 // GRANULE * 2
        with wheel.watched() as (watched, folder):
            if not is_refused(watched, f"{mib}MiB", name):
                return parts, mib, moves_in(folder)
    raise Failed(f"does not finish on {mib} MiB, {TIGHT_PARTS[-1]} % of its peak")


def check_tight(wheel, name):
    """It finishes on little more than it asks for at once, as live memory moves."""
    report = wheel.path("tight.json")
    tight_run(wheel, "64GiB,backing=none", name, "--report", report)
    with open(report, encoding="utf-8") as file:
        peak = json.load(file)["peak_allocated_bytes"]
    parts, mib, moves = least_device(wheel, name, peak)
    if moves == 0:
        return f"{parts / 100}, without a move"
    small = f"{mib}MiB,backing=none"
    others = {
        "without moves": is_refused(wheel, small, name, "--conf", "migrate:off"),
        "PyTorch's own": is_refused(wheel, small, name, "--native"),
    }
    if True not in others.values():
        raise Failed(f"{mib} MiB, moves: {moves}: nothing was shown")
    refused = [who for who, is_so in others.items() if is_so]
    return f"{parts / 100}, moves: {moves}; fails: {', '.join(refused)}"


# What torch/beside_moves.py does, each on so many GPUs.
BESIDE = {"alone": 1, "streams": 1, "graph": 1, "threads": 1, "ranks": 2}


def beside(wheel, name, **environment):
    """How often something moved, in all processes."""
    runner = ["-m"]
    if name == "ranks":
        runner += ["torch.distributed.run", "--nproc-per-node", "2", "--module"]
    path = os.path.join(SUBJECTS, "beside_moves.py")
    with wheel.watched(**environment) as (watched, folder):
        watched.run(
            *runner, "larder.torch", path, name,
            device=f"512MiB,count={BESIDE[name]}",
        )
        return moves_in(folder)


def check_beside(wheel, name):
    moves = beside(wheel, name)
    if moves < BESIDE[name]:
        raise Failed(f"moves: {moves}: nothing was shown")
    return f"moves: {moves}; no byte wrong"


def check_spoilt(wheel):
    """A wrong byte of a move is seen."""
    try:
        beside(wheel, "alone", LARDER_WATCHED_SPOIL="1")
    except Failed as error:
        if "differed" not in str(error) and "AssertionError" not in str(error):
            raise
        return "seen"
    raise Failed("a wrong byte was not seen")


CHECKS = {
    "names, arguments": lambda wheel: wheel.subject("names"),
    "the same as PyTorch's own": check_placements,
    "runner, --compare": check_runner,
    "MemPool": lambda wheel: wheel.subject("pool"),
    "threads, streams": lambda wheel: wheel.subject("threads"),
    "out of memory": lambda wheel: wheel.subject("failing"),
    "live memory moves": check_moves,
    **{f"{name}, device over peak": functools.partial(check_tight, name=name)
       for name in TIGHT},
    **{f"moves: {name}": functools.partial(check_beside, name=name)
       for name in BESIDE},
    "moves: a wrong byte": check_spoilt,
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
