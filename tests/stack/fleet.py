"""larder.fleet on Ray: two workers, 200 ranks, a worker killed on the way."""

import contextlib
import os
import shutil
import signal
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SNAPSHOTS = os.path.join(HERE, "../data/snapshots")
BUILD = sys.argv[1]
RANKS = 200


def parent_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def busy_workers():
    """Those of this process's cluster that read a snapshot."""
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{name}/cmdline", "rb") as file:
                if not file.read().startswith(b"ray::ranks_of"):
                    continue
            if parent_of(parent_of(name)) == os.getpid():
                yield int(name)


class Killer(threading.Thread):
    """Kills one worker, once."""

    killed = None
    is_over = False

    def run(self):
        while not self.is_over and self.killed is None:
            for pid in busy_workers():
                os.kill(pid, signal.SIGKILL)
                self.killed = pid
                return
            time.sleep(0.01)


def main():
    try:
        import fsspec  # noqa: F401
        import ray
    except ImportError as error:
        print(f"{error}: pip install ray fsspec")
        return 77
    package = os.path.realpath(os.path.join(HERE, "../../python"))
    sys.path.insert(0, package)
    os.environ.update(PYTHONPATH=package, LARDER_LIBRARY_DIR=BUILD)
    from larder import fleet

    with tempfile.TemporaryDirectory() as folder:
        for n in range(RANKS):
            name = "v2.8" if n == 77 else "v2.6"
            shutil.copy(f"{SNAPSHOTS}/{name}.pickle", f"{folder}/r{n:03}.pickle")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        killer = Killer()
        killer.start()
        said, failed = fleet.fleet([f"file://{folder}/*.pickle", "no such"])
        killer.is_over = True
        killer.join()
        ray.shutdown()
    print(said)
    expected = (
        f"r{77:03}.pickle",
        "What happened  It ran out of memory on a request for 3.00 GiB by layers.py:847",
        f"{RANKS} of {RANKS} ran out of memory, {RANKS - 1} of them for the same reason",
        "r077.pickle: 73.5 MiB more than the median",
        f"and {RANKS - 16} more (--all has all)",
    )
    for words in expected:
        if words not in said:
            print(f"expected '{words}'")
            return 1
    if len(failed) != 1 or "no such" not in failed[0]:
        print(f"expected one that cannot be read, not {failed}")
        return 1
    if killer.killed is None:
        print("no worker was there to be killed")
        return 1
    print(f"{RANKS} ranks by 2 workers, one killed on the way: nothing lost")
    return 0


sys.exit(main())
