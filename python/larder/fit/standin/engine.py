"""Starts the program on the simulated driver, and collects the results of its
processes."""

import glob
import json
import os
import re
import shutil

from larder.fit import programs, replays, serving
from larder.fit.standin import listening

_PACKAGE = os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
)
_HOOK = os.path.join(_PACKAGE, "larder", "_hook")


# Small tensors have values; large ones take no host memory. Programs that use only
# the driver read back what they copied, PyTorch programs rarely do.
_BACKING = {programs.BINARY: "64MiB"}
_BACKING_OF_OTHERS = "64KiB"


def _spec(settings):
    """The simulated GPU, as an argument of `larder exec --sim`."""
    spec = settings["device"].removeprefix("sim:")
    if "backing=" not in spec:
        spec += f",backing={_BACKING.get(settings['kind'], _BACKING_OF_OTHERS)}"
    if "count=" not in spec:
        spec += f",count={_card_count(settings)}"
    return spec


def _card_count(settings):
    wanted = settings["engine_arguments"].get("tensor_parallel_size", 1)
    if settings["kind"] in programs.COMMANDS:
        wanted = max(wanted, programs.card_count(settings["arguments"]))
    return wanted


def _conf(options):
    """PyTorch's settings, from the environment and from --conf."""
    given = os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "")
    if options.policy != "pytorch" or not options.conf:
        return given
    return ",".join(one for one in (given, options.conf) if one)


def _json_of(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


class StandInEngine:
    def __init__(self, options, card):
        self._options = options
        self._card = card

    def start(self, settings, path):
        """The words to run, and more of the environment."""
        words = [
            replays.command(), "exec", "--sim", _spec(settings),
            "--json", "--report", settings["result"] + ".driver", "--",
            *programs.words(settings, path),
        ]
        major, minor = self._card.capability
        paths = [_HOOK, _PACKAGE, os.environ.get("PYTHONPATH", "")]
        environment = {
            "LARDER_RUN_SETTINGS": path,
            "LARDER_FAKECUDA_CAPABILITY": f"{major}.{minor}",
            # A rank is stopped after some steps, even if others wait for it.
            "LARDER_NCCL": os.environ.get("LARDER_NCCL", "alone"),
            "PYTHONPATH": os.pathsep.join(one for one in paths if one),
        }
        conf = _conf(self._options)
        if conf:
            environment["PYTORCH_CUDA_ALLOC_CONF"] = conf
        self._plan = serving.Plan()
        os.mkfifo(settings["pipe"])
        return words, environment

    def listen(self, child, settings):
        """A context in which messages from the program's processes are received."""
        until_ready = self._options.steps != 0
        return listening.Listener(settings["pipe"], self._plan, child, until_ready)

    def told(self, status, settings):
        told = self._results(status, settings)
        plan = self._plan
        if plan.arguments is None:
            return told
        told = told or {"requests": 0, "how": "failed"}
        if told["how"] != "interrupted":
            told["how"] = "ready" if plan.is_ready else "failed"
        told["error"] = "" if plan.is_ready else plan.error
        told["serving"] = plan.told()
        told["plan"] = plan
        return told

    def _results(self, status, settings):
        """The results of the process that requested most, or the driver's if none
        used PyTorch; or None."""
        found = [
            _json_of(path)
            for path in glob.glob(glob.escape(settings["result"]) + ".*")
            if re.search(r"\.\d+$", path)
        ]
        found = [one for one in found if one is not None]
        used = [one for one in found if one["requests"]]
        if not used:
            return self._driver_s(status, settings) or (found or [None])[0]
        told = max(used, key=lambda one: one["peak_requested_bytes"])
        if len(used) > 1:
            told["processes"] = [_share(one) for one in used]
        if status != 0 and told["how"] == "ended":
            told["how"] = "failed"
        self._keep_snapshot(settings, told["pid"])
        return told

    def _keep_snapshot(self, settings, pid):
        wanted, written = settings["snapshot"], f"{settings['pickle']}.{pid}"
        if not wanted or not os.path.exists(written):
            return
        if wanted.endswith(".json"):
            replays.convert(written, wanted)
        else:
            shutil.copyfile(written, wanted)

    def _driver_s(self, status, settings):
        """The simulated driver's results for a program without PyTorch."""
        lines = []
        try:
            with open(settings["result"] + ".driver", encoding="utf-8") as file:
                lines = [json.loads(line) for line in file if line.strip()]
        except (OSError, ValueError):
            pass
        lines = [line for line in lines if line.get("peak_bytes")]
        if not lines:
            return None
        most = max(lines, key=lambda line: line["peak_bytes"])
        peak = most["peak_bytes"]
        how = "ended"
        if status != 0:
            how = "out of memory" if most["failed_calls"] else "failed"
        return {
            "how": how,
            "requests": most["calls"].get("mem_alloc", 0),
            "driver_bytes": peak,
            "peak_requested_bytes": peak,
            "peak_allocated_bytes": peak,
            "peak_reserved_bytes": peak,
            "kinds": [["held from the driver", peak]],
        }


def _share(told):
    """The share of one of several processes."""
    names = ("pid", "peak_allocated_bytes", "peak_reserved_bytes", "how", "steps")
    return {name: told[name] for name in names}
