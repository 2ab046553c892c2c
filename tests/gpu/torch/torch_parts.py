"""The parts of the check: each is a function of the setting that gives what it
found, or raises.  They run alike under every allocator."""

import os
import subprocess
import sys
import tempfile
import threading
import time

import torch
import torch_models

WARM_UP = 5
LIMIT_BYTES = 12 << 30  # for the largest batch: so that it is found soon


class Setting:
    def __init__(self, device, small, steps):
        self.device = device
        self.small = small
        self.steps = steps
        self.on_gpu = device != "cpu"

    def synchronize(self):
        if self.on_gpu:
            torch.cuda.synchronize()

    def forget(self):
        if self.on_gpu:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()


def _deterministic():
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = False
    torch.use_deterministic_algorithms(True, warn_only=True)


def _train(setting, name, size, steps):
    """Losses, and the seconds of each step."""
    _deterministic()
    model = torch_models.make(name, setting.small).to(setting.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    losses, seconds = [], []
    for step in range(steps):
        began = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = model.loss(model.batch(size, step, setting.device))
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()).hex())
        setting.synchronize()
        seconds.append(time.perf_counter() - began)
    return losses, seconds


def train(setting, name):
    setting.forget()
    size = 2 if setting.small else {"resnet": 64, "gpt2": 8}[name]
    losses, seconds = _train(setting, name, size, setting.steps)
    usual = sorted(seconds[WARM_UP:] or seconds)
    found = {"losses": losses, "step_ms": usual[len(usual) // 2] * 1e3}
    if setting.on_gpu:
        found["allocated"] = torch.cuda.max_memory_allocated()
        found["reserved"] = torch.cuda.max_memory_reserved()
    return found


def _fits(setting, name, size):
    try:
        _train(setting, name, size, 3)
        return True
    except torch.cuda.OutOfMemoryError:
        return False
    finally:
        torch.cuda.empty_cache()


def largest_batch(setting, name):
    """By halves, with the GPU limited."""
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(
        float(min(1.0, LIMIT_BYTES / total))
    )
    good, bad = 0, 1
    while _fits(setting, name, bad):
        good, bad = bad, bad * 2
    while bad - good > 1:
        middle = (good + bad) // 2
        if _fits(setting, name, middle):
            good = middle
        else:
            bad = middle
    torch.cuda.set_per_process_memory_fraction(1.0)
    return {"batch": good}


def allocation_time(setting):
    """Of an allocation and its free, the cache full; Python's part is in it,
    the same for all."""
    sizes = [512 << (i % 12) for i in range(64)]
    alloc = torch.cuda.caching_allocator_alloc
    free = torch.cuda.caching_allocator_delete
    torch.empty(1, device=setting.device)

    def once():
        held = [alloc(size) for size in sizes]
        for ptr in held:
            free(ptr)

    once()
    rounds = 500
    began = time.perf_counter()
    for _ in range(rounds):
        once()
    return {
        "pair_ns": (time.perf_counter() - began) / rounds / len(sizes) * 1e9
    }


def graph(setting):
    """A graph's memory is kept for its replays, whatever happens between."""
    _deterministic()
    model = torch.nn.Sequential(
        *[torch.nn.Linear(512, 512) for _ in range(4)]
    ).to(setting.device)
    given = torch.randn(64, 512, device=setting.device)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            model(given)
    torch.cuda.current_stream().wait_stream(side)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        result = model(given)
    for seed in range(5):
        torch.cuda.empty_cache()
        noise = [
            torch.full((256, 1024), float(seed), device=setting.device)
            for _ in range(64)
        ]
        given.copy_(torch.randn(64, 512, device=setting.device))
        captured.replay()
        assert torch.allclose(result, model(given), atol=1e-5), seed
        del noise
    del captured, result
    torch.cuda.empty_cache()
    return {"replays": 5}


def recorded_stream(setting):
    """Memory in use on another stream is not handed out."""
    side = torch.cuda.Stream()
    for value in range(20):
        x = torch.full((1 << 22,), float(value), device=setting.device)
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.cuda._sleep(20_000_000)
            y = x + 1
            x.record_stream(side)
        del x
        junk = [
            torch.full((1 << 22,), -1.0, device=setting.device)
            for _ in range(4)
        ]
        torch.cuda.synchronize()
        assert bool((y == value + 1).all()), value
        del junk, y
    return {"rounds": 20}


def threads(setting):
    """What a thread computes does not depend on the others."""

    def work(seed, out):
        with torch.cuda.stream(torch.cuda.Stream()):
            maker = torch.Generator(device=setting.device).manual_seed(seed)
            x = torch.randn(
                256, 256, device=setting.device, generator=maker
            )
            for i in range(200):
                x = torch.tanh(x @ x[: 200 + i % 57].t() @ x[: 200 + i % 57])
            out[seed] = float(x.sum().item()).hex()

    alone, together = {}, {}
    for seed in range(4):
        work(seed, alone)
    runners = [
        threading.Thread(target=work, args=(seed, together))
        for seed in range(4)
    ]
    for runner in runners:
        runner.start()
    for runner in runners:
        runner.join()
    assert alone == together, (alone, together)
    return {"threads": 4}


def out_of_memory(setting):
    """Is caught by its type, explained, and recovered from."""
    total = torch.cuda.get_device_properties(0).total_memory
    kept = torch.ones(1 << 20, device=setting.device)
    try:
        torch.empty(2 * total, dtype=torch.uint8, device=setting.device)
    except torch.cuda.OutOfMemoryError as error:
        words = str(error)
    else:
        raise AssertionError("twice the GPU's memory could be had")
    assert "out of memory" in words and "Tried to allocate" in words, words
    assert float(kept.sum()) == 1 << 20
    x = torch.ones(1 << 24, device=setting.device)
    assert float(x.sum()) == 1 << 24
    return {"ooms": torch.cuda.memory_stats()["num_ooms"]}


def snapshot(setting):
    """Is opened by PyTorch's own tools."""
    record = torch.cuda.memory._record_memory_history
    record()
    _train(setting, "gpt2", 1, 2)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.pickle")
        torch.cuda.memory._dump_snapshot(path)
        record(enabled=None)
        viewer = [sys.executable, "-m", "torch.cuda._memory_viz"]
        page = os.path.join(folder, "run.html")
        for arguments in (
            ["stats", path],
            ["trace", path],
            ["trace_plot", path, "-o", page],
        ):
            subprocess.run(
                viewer + arguments, check=True, stdout=subprocess.DEVNULL
            )
        return {"page_bytes": os.path.getsize(page)}


def experiments(setting):
    """The lab's, in PyTorch: what is allocated at each step."""
    import torch_experiments

    return {"steps": torch_experiments.run(setting.device)}


PARTS = {
    "train_resnet": lambda s: train(s, "resnet"),
    "train_gpt2": lambda s: train(s, "gpt2"),
    "batch_resnet": lambda s: largest_batch(s, "resnet"),
    "batch_gpt2": lambda s: largest_batch(s, "gpt2"),
    "allocation_time": allocation_time,
    "graph": graph,
    "recorded_stream": recorded_stream,
    "threads": threads,
    "out_of_memory": out_of_memory,
    "snapshot": snapshot,
    "experiments": experiments,
}
