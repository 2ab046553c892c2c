"""larder.record: a real PyTorch that runs out of memory, is caught, forks into
ranks, is told to end, and is looked at while it runs."""

import os
import pickle
import subprocess
import sys
import tempfile

BUILD = sys.argv[1]
PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python")

FAILS = """
import os, signal, sys, torch
kept = []
try:
    while True:
        kept.append(torch.empty(1 << 28, device="cuda"))
except torch.OutOfMemoryError:
    print("caught", len(kept))
kept.clear()
if sys.argv[1] == "term":
    os.kill(os.getpid(), signal.SIGTERM)
sys.exit(int(sys.argv[1]))
"""

# Looked at by a thread of its own, as `larder top --serve` does.
LIVE = """
import os, pickle, socket, threading, time, torch

def ask():
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(f"\\0larder-live-{os.getuid()}-{os.getpid()}")
        said = b"".join(iter(lambda: s.recv(1 << 16), b""))
    return max(map(len, pickle.loads(said)["device_traces"]))

torch.cuda.init()
seen = []
def look():
    for _ in range(2):
        seen.append(ask())
        time.sleep(2)
looker = threading.Thread(target=look)
looker.start()
while looker.is_alive():
    torch.empty(1 << 20, device="cuda")
    time.sleep(0.01)
print("grew" if len(seen) == 2 and seen[0] < seen[1] else seen)
"""

RANKS = """
import os, torch
import torch.distributed as dist
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1000, 1000).cuda())
for step in range(3):
    model(torch.empty(100, 1000, device="cuda")).sum().backward()
dist.destroy_process_group()
"""


def run(folder, text, *words):
    path = os.path.join(folder, "train.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return subprocess.run(
        [os.path.join(BUILD, "larder"), "exec", "--quiet", "--sim", "4GiB,count=2"]
        + ["--", *words],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": PACKAGE,
            "LARDER_LIBRARY_DIR": BUILD,
        },
        capture_output=True,
        text=True,
        check=False,
    )


def events(path, action):
    with open(path, "rb") as file:
        traces = pickle.load(file)["device_traces"]
    return [e for trace in traces for e in trace if e["action"] == action]


def expect(condition, what, done):
    if not condition:
        print(done.stdout, done.stderr, sep="\n")
        print(f"expected {what}")
        sys.exit(1)


def main():
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed")
        return 77
    if not torch.version.cuda:
        print("a PyTorch without CUDA")
        return 77
    record = [sys.executable, "-m", "larder.record"]
    for word, status in (("7", 7), ("term", 143)):
        with tempfile.TemporaryDirectory() as folder:
            done = run(folder, FAILS, *record, "--on-oom", "oom.pickle", "train.py", word)
            expect(done.returncode == status, f"status {status}", done)
            expect(done.stdout == "caught 4\n", "the program's own output", done)
            expect("a request for 1.00 GiB by train.py:6" in " ".join(done.stderr.split()), "who asked", done)
            path = os.path.join(folder, "oom.pickle")
            expect(len(events(path, "oom")) == 1, "one failure", done)
            expect(not events(path, "free_completed"), "the moment it failed", done)
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", "2"]
    for words in (
        [*record, *launcher, "train.py"],
        [sys.executable, *launcher, "-m", "larder.record", "train.py"],
    ):
        with tempfile.TemporaryDirectory() as folder:
            done = run(folder, RANKS, *words)
            expect(done.returncode == 0, "status 0", done)
            expect(done.stderr.count("What happened") == 1, "one report", done)
            for rank in (0, 1):
                path = os.path.join(folder, f"memory-rank{rank}.pickle")
                expect(len(events(path, "alloc")) > 10, f"events of {rank}", done)
    with tempfile.TemporaryDirectory() as folder:
        done = run(folder, LIVE, *record, "--live", "--entries", "1000000", "train.py")
        expect(done.stdout == "grew\n", "more events at each look", done)
    print("caught, ended by a signal, two ranks by either launcher, live")
    return 0


sys.exit(main())
