"""python3 -m larder.fleet [--address ADDRESS] FILE|URL…

`larder report` of the ranks of one job if they are too large for one machine: each
snapshot is read by a Ray task, through fsspec; a task returns only the few figures
of a rank. If its worker is lost, the task is repeated by another.
"""

import argparse
import json
import os
import sys
import tempfile

from larder._command import Error, ask
from larder._files import NewFile
from larder._sources import Sources, urls_of

# How often a task is retried after its worker was lost.
_RETRIES = 10


def _parser():
    parser = argparse.ArgumentParser(
        prog="python3 -m larder.fleet",
        description="Report on the ranks of one job, each snapshot read by a "
        "task of Ray.",
        epilog="Needs Ray and fsspec: pip install ray fsspec.  Each machine of "
        "the cluster needs larder and what fsspec needs for the URLs.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--address", help="the cluster, as ray.init() takes it (its own)")
    add("--json", action="store_true", help="print one object, for programs")
    add("snapshots", metavar="FILE|URL", nargs="+")
    return parser


def ranks_of(url):
    """The ranks in a snapshot, each with the requested name, or the reason why it
    could not be read."""
    try:
        sources = Sources([url])
        said = ask("report", "--ranks", "--json", *sources.paths)
        ranks = json.loads(said)["ranks"]
    except (Error, OSError) as error:
        return [], f"{url}: {error}"
    for rank in ranks:
        rank["file"] = url
    return ranks, None


def verdict_of(url, device):
    """The first lines of the report on a device, as it prints them."""
    try:
        sources = Sources([url])
        said = sources.shown(ask("report", *sources.paths))
    except (Error, OSError) as error:
        return f"no verdict: {error}"
    for part in ("\n" + said).split("\n\n"):
        head, _, rest = part.strip("\n").partition("\n")
        if head.endswith(f", device {device}"):
            return rest
    return "no verdict"


class _Cluster:
    """Runs functions as tasks; a cluster that is running already is used, and
    kept."""

    def __init__(self, address):
        import ray

        self._ray = ray
        self._is_ours = not ray.is_initialized()
        if self._is_ours:
            ray.init(address=address, log_to_driver=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._is_ours:
            self._ray.shutdown()

    def each(self, function, calls):
        task = self._ray.remote(max_retries=_RETRIES)(function)
        try:
            return self._ray.get([task.remote(*call) for call in calls])
        except self._ray.exceptions.RayError as error:
            raise Error(f"Ray: {error}") from None


def _command_on(ranks, *words):
    """The output of `larder report` for the ranks."""
    with tempfile.TemporaryDirectory(prefix="larder-") as folder:
        path = os.path.join(folder, "ranks.json")
        with NewFile(path, "w", encoding="utf-8") as file:
            json.dump({"ranks": ranks}, file)
        return ask("report", "--ranks", *words, path)


_NOT_HERE = "Its snapshot is not here: no verdict."


def _text(cluster, ranks):
    said = _command_on(ranks)
    if _NOT_HERE not in said:
        return said
    worst = ranks[json.loads(_command_on(ranks, "--json"))["worst"]]
    call = (worst["file"], worst["device"])
    return said.replace(_NOT_HERE, *cluster.each(verdict_of, [call]), 1)


def fleet(sources, address=None, as_json=False):
    """The report as text or JSON, and why some could not be read."""
    urls = [one for given in sources for one in urls_of(given)]
    with _Cluster(address) as cluster:
        found = cluster.each(ranks_of, [(url,) for url in urls])
        ranks = [rank for part, _ in found for rank in part]
        failed = [why for _, why in found if why is not None]
        if not ranks:
            return "", failed
        if as_json:
            return _command_on(ranks, "--json"), failed
        return _text(cluster, ranks), failed


def main():
    options = _parser().parse_args()
    try:
        said, failed = fleet(options.snapshots, options.address, options.json)
    except (Error, ImportError, OSError) as error:
        said, failed = "", [error]
    for why in failed:
        print(f"larder.fleet: {why}", file=sys.stderr)
    print(said, end="")
    return 2 if failed else 0


if __name__ == "__main__":
    # Tasks find their functions in the module, not in __main__.
    from larder import fleet as _module

    sys.exit(_module.main())
