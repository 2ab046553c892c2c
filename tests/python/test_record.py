"""python3 -m larder.record: programs as they are, with a double of PyTorch that
has a recorded snapshot for its memory."""

import os
import pickle
import signal

import lab_case
from lab_case import HERE, PACKAGE_DIR, RunCase

OOM = os.path.join(os.path.dirname(HERE), "data", "snapshots", "v2.8.pickle")

# What larder.record meets of PyTorch.
TORCH = """
import os, pickle, types
__version__ = "2.8.0"
version = types.SimpleNamespace(cuda=os.environ.get("TEST_CUDA", "12.8"), hip=None)

class OutOfMemoryError(RuntimeError):
    pass

_observers = []
_C = types.SimpleNamespace(
    _cuda_attach_out_of_memory_observer=_observers.append)

class memory:
    recorded = None
    snapshots = 0

    def _record_memory_history(enabled="all", context="all", stacks="all",
                               max_entries=0):
        memory.recorded = (enabled, context, stacks, max_entries)

    def _snapshot():
        memory.snapshots += 1
        if "TEST_BROKEN" in os.environ:
            raise RuntimeError("no snapshot today")
        with open(os.environ["TEST_SNAPSHOT"], "rb") as file:
            snapshot = pickle.load(file)
        snapshot["number"] = memory.snapshots
        return snapshot

class cuda:
    memory = memory
    _queue = []
    begun = False

    def _lazy_call(function):
        function() if cuda.begun else cuda._queue.append(function)

    def init():
        if not cuda.begun:
            cuda.begun = True
            for function in cuda._queue:
                function()

def fail():
    cuda.init()
    for observer in _observers:
        observer(0, 1, 2, 3)
    raise OutOfMemoryError("CUDA out of memory.")
"""

BEGIN = "import os, signal, sys, torch\ntorch.cuda.init()\n"
FAIL = """
try:
    torch.fail()
except torch.OutOfMemoryError:
    print("caught")
"""


class Record(RunCase):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("torch"))
        self.write(TORCH, "torch/__init__.py")

    def record(self, text, *options, arguments=(), **environment):
        script = self.write(text, "train.py")
        return self.run_words(*options, script, *arguments, **environment)

    def run_words(self, *words, **environment):
        return self.python(
            "-c",
            "import os, sys\n"
            f"os.chdir({self.path('')!r})\n"
            "os.execv(sys.executable, [sys.executable, '-m', 'larder.record',"
            " *sys.argv[1:]])",
            *words,
            **{
                "PYTHONPATH": PACKAGE_DIR + os.pathsep + self.path(""),
                "TEST_SNAPSHOT": OOM,
                "RANK": "",
                **environment,
            },
        )

    def written(self):
        """Names of the snapshots, and which snapshot of its process each is."""
        found = {}
        for name in os.listdir(self.path("")):
            if name.endswith(".pickle"):
                with open(self.path(name), "rb") as file:
                    found[name] = pickle.load(file)["number"]
        return found

    def test_a_program_runs_as_it_is_and_is_reported_on(self):
        self.write("NAME = 'beside the script'", "beside.py")
        run = self.record(
            BEGIN + "import beside\nprint(__name__, sys.argv[1:], beside.NAME)",
            arguments=["3", "-m", "--entries"],
        )
        self.assertEqual(
            run.stdout,
            "__main__ ['3', '-m', '--entries'] beside the script\n",
            run.stderr,
        )
        self.assertEqual(run.returncode, 0)
        self.assertEqual(self.written(), {"memory.pickle": 1})
        lines = run.stderr.splitlines()
        self.assertEqual(lines[0], "larder: wrote memory.pickle")
        self.assertTrue(lines[1].startswith("What happened  It ran out"))
        self.assertIn("Who holds it   attention.py:565", run.stderr)
        self.assertTrue(lines[-1].startswith(" "), lines)
        self.assertIn("What to do     Reduce the memory in use at that moment by 2.25 GiB", run.stderr)

    def test_a_module_runs_by_its_name(self):
        self.write(BEGIN + "print(__name__, sys.argv[1:])", "train.py")
        run = self.run_words("-m", "train", "2")
        self.assertEqual(run.stdout, "__main__ ['2']\n", run.stderr)
        self.assertEqual(self.written(), {"memory.pickle": 1})

    def test_history_is_kept_as_asked(self):
        say = BEGIN + "print(torch.cuda.memory.recorded)"
        run = self.record(say)
        self.assertEqual(run.stdout, "('all', 'alloc', 'python', 200000)\n")
        run = self.record(say, "--entries", "70", "--stacks", "all")
        self.assertEqual(run.stdout, "('all', 'alloc', 'all', 70)\n")

    def test_a_caught_failure_is_written_once(self):
        run = self.record(BEGIN + FAIL + FAIL, "--on-oom", "oom.pickle")
        self.assertEqual(run.stdout, "caught\ncaught\n", run.stderr)
        self.assertEqual(self.written(), {"oom.pickle": 1})
        self.assertEqual(run.stderr.count("larder: wrote"), 1)
        self.assertEqual(run.stderr.count("What happened"), 1)

    def test_the_failure_that_ends_it_is_the_one_that_is_kept(self):
        run = self.record(BEGIN + FAIL + "torch.fail()")
        self.assertEqual(run.returncode, 1)
        self.assertIn("OutOfMemoryError: CUDA out", run.stderr)
        self.assertEqual(self.written(), {"memory.pickle": 2})
        run = self.record(BEGIN + FAIL + FAIL + "raise ValueError(3)")
        self.assertEqual(self.written(), {"memory.pickle": 1})

    def test_nothing_is_written_where_memory_did_not_run_out(self):
        run = self.record(BEGIN, "--on-oom", "oom.pickle")
        self.assertEqual(self.written(), {})
        self.assertEqual(
            run.stderr, "larder: memory did not run out: nothing was written\n"
        )

    def test_the_end_is_the_program_s_own(self):
        for text, status in (
            ("raise SystemExit(7)", 7),
            ("sys.exit('words')", 1),
            ("raise ValueError(3)", 1),
            ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ):
            run = self.record(BEGIN + text)
            self.assertEqual(run.returncode, status, text)
            self.assertEqual(self.written(), {"memory.pickle": 1}, text)
            os.remove(self.path("memory.pickle"))
            self.assertEqual(run.stdout, "")

    def test_a_signal_writes_besides(self):
        kill = "os.kill(os.getpid(), signal.SIGUSR1)\n"
        self.record(BEGIN + kill + kill, "--on-oom", "oom.pickle")
        self.assertEqual(
            self.written(), {"oom-signal1.pickle": 1, "oom-signal2.pickle": 2}
        )
        run = self.record(BEGIN + kill, "--signal", "USR2")
        self.assertEqual(run.returncode, -signal.SIGUSR1)

    def test_handlers_of_the_program_are_its_own(self):
        run = self.record(
            BEGIN + "print(signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)\n"
            "print(signal.signal(signal.SIGTERM, lambda *_: print('mine'))"
            " == signal.SIG_DFL)\n"
            "os.kill(os.getpid(), signal.SIGTERM)\n"
            "print('goes on')"
        )
        self.assertEqual(
            run.stdout, "True\nTrue\nmine\ngoes on\n", run.stderr
        )
        run = self.record(
            "import signal\nmine = lambda *_: print('early')\n"
            "signal.signal(signal.SIGTERM, mine)\n" + BEGIN +
            "os.kill(os.getpid(), signal.SIGTERM)\n"
        )
        self.assertEqual(run.stdout, "early\n", run.stderr)

    def test_each_rank_has_a_file_and_the_first_speaks(self):
        for rank in ("0", "1"):
            run = self.record(BEGIN, RANK=rank, WORLD_SIZE="2")
            self.assertEqual(
                run.stderr.count("What happened"), 1 - int(rank), run.stderr
            )
        run = self.record(BEGIN + FAIL, RANK="3", WORLD_SIZE="4")
        self.assertEqual(run.stderr.count("What happened"), 1)
        self.assertEqual(
            self.written(),
            {f"memory-rank{n}.pickle": 1 for n in (0, 1, 3)},
        )

    def test_children_have_files_of_their_own(self):
        for how in ("fork", "spawn"):
            run = self.record(
                "import multiprocessing, os, torch\n"
                "def work():\n"
                "    torch.cuda.init()\n"
                "    print(os.getpid())\n"
                "if __name__ == '__main__':\n"
                f"    kind = multiprocessing.get_context({how!r})\n"
                "    child = kind.Process(target=work)\n"
                "    child.start()\n"
                "    child.join()\n"
                "    torch.cuda.init()\n",
                "-o",
                f"{how}.pickle",
            )
            pid = run.stdout.strip()
            self.assertEqual(run.returncode, 0, run.stderr)
            found = [n for n in self.written() if n.startswith(how)]
            self.assertEqual(
                sorted(found), sorted([f"{how}.pickle", f"{how}-{pid}.pickle"])
            )

    def test_a_child_of_a_process_with_cuda_is_left_alone(self):
        run = self.record(
            BEGIN + "child = os.fork()\n"
            "if child == 0:\n"
            "    os.kill(os.getpid(), signal.SIGTERM)\n"
            "print(os.waitpid(child, 0)[1], flush=True)\n"
            "if os.fork() == 0:\n"
            "    sys.exit(0)\n"
            "os.wait()\n"
        )
        self.assertEqual(run.stdout, "15\n", run.stderr)
        self.assertEqual(self.written(), {"memory.pickle": 1})
        self.assertEqual(run.stderr.count("larder: wrote"), 1)
        # One that it starts, with CUDA of its own, does not take its name.
        self.record(
            BEGIN + "import subprocess\nif len(sys.argv) < 2:\n"
            "    subprocess.run([sys.executable, __file__, 'x'])\n",
            RANK="1",
            WORLD_SIZE="2",
        )
        ranks = [n for n in self.written() if "rank1" in n]
        self.assertEqual(len(ranks), 2, ranks)

    def test_a_running_program_hands_out_its_snapshot(self):
        ask = (
            BEGIN + "import pickle, socket, threading, time\n"
            "take = torch.cuda.memory._snapshot\n"
            "def work():\n"
            "    until = time.thread_time() + 0.05\n"
            "    while time.thread_time() < until:\n"
            "        pass\n"
            "torch.cuda.memory._snapshot = lambda: (work(), take())[1]\n"
            "def ask():\n"
            "    with socket.socket(socket.AF_UNIX) as s:\n"
            "        s.connect(f'\\0larder-live-{os.getuid()}-{os.getpid()}')\n"
            "        said = b''.join(iter(lambda: s.recv(1 << 16), b''))\n"
            "    return pickle.loads(said)['number']\n"
        )
        # After the first made again only when that takes a fiftieth of the time.
        run = self.record(
            ask + "print(ask(), ask(), ask())\ntime.sleep(3)\nprint(ask())",
            "--live",
        )
        self.assertEqual(run.stdout, "1 2 2\n3\n", run.stderr)
        self.assertIn("`larder top --serve` shows process ", run.stderr)
        self.assertEqual(self.written(), {"memory.pickle": 4})
        # A forked child does not keep its parent's name.
        run = self.record(
            ask + "parent = os.getpid()\n"
            "if os.fork() == 0:\n"
            "    while os.getppid() == parent:\n"
            "        time.sleep(0.01)\n"
            "    os.getpid = lambda: parent\n"
            "    try:\n"
            "        ask()\n"
            "    except ConnectionRefusedError:\n"
            "        print('nobody', flush=True)\n"
            "    os._exit(0)\n"
            "os.kill(parent, signal.SIGKILL)\n",
            "--live",
        )
        self.assertEqual(run.stdout, "nobody\n", run.stderr)
        run = self.record(ask + "print(ask())")
        self.assertIn("ConnectionRefusedError", run.stderr)

    def test_what_fails_here_does_not_concern_the_program(self):
        run = self.record(
            BEGIN + FAIL + "print('goes on')\nsys.exit(5)", TEST_BROKEN="1"
        )
        self.assertEqual(run.stdout, "caught\ngoes on\n")
        self.assertEqual(run.returncode, 5)
        self.assertIn("not recorded: no snapshot today", run.stderr)
        self.assertNotIn("Traceback", run.stderr)

    def test_without_a_gpu_that_is_told(self):
        run = self.record("import torch")
        self.assertEqual(
            run.stderr, "larder: no GPU was used: nothing was recorded\n"
        )
        run = self.record("import torch", TEST_CUDA="")
        self.assertIn("built without CUDA: there is nothing", run.stderr)
        run = self.record("print(1)", TEST_CUDA="")
        self.assertEqual(run.stderr, "")
        self.assertEqual(self.written(), {})

    def test_what_cannot_be_begun_is_refused(self):
        for words, why in (
            (["none.py"], "none.py: there is no such file"),
            (["a.ipynb"], "a notebook"),
            (["-o", "none/a.pickle", "-m", "timeit"], "there is no folder"),
            (["--signal", "TERM", "-m", "timeit"], "expected one as USR1"),
            (["--entries", "0", "-m", "timeit"], "a number from 1"),
        ):
            run = self.run_words(*words)
            self.assertEqual(run.returncode, 2, run.stderr)
            self.assertIn(why, run.stderr)

    def test_a_sitecustomize_of_the_system_is_run(self):
        self.write("import sys; sys.mine = 3", "sitecustomize.py")
        run = self.record(BEGIN + "print(sys.mine)")
        self.assertEqual(run.stdout, "3\n", run.stderr)


if __name__ == "__main__":
    lab_case.main()
