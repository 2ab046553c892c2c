"""compile.py BUILD [MODEL...] - ten small models train under torch.compile on a
simulated H100, the first in all of its modes: each ends, asks for the same again with
a warm cache, and has its peak told by `larder run`."""

import concurrent.futures
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "programs", "compiled_models.py")
MODELS = (
    "mlp", "cnn", "resnet", "encoder", "decoder", "gru", "unet", "experts",
    "attention", "vae",
)
TOLD = "default"  # by `larder run`, too
OTHERS = ("reduce-overhead", "max-autotune")
SECONDS = 3600


class Failed(Exception):
    pass


def ended(command, cache):
    """What it printed."""
    run = subprocess.run(
        command,
        env={
            **os.environ,
            "LARDER_PYTHON": sys.executable,
            "OMP_NUM_THREADS": "1",
            # So that nothing uses the GPU before processes are forked.
            "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
            "TORCHINDUCTOR_CACHE_DIR": cache,
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
        },
        capture_output=True, text=True, timeout=SECONDS,
    )
    if run.returncode != 0:
        raise Failed(f"status {run.returncode}: {(run.stdout + run.stderr)[-3000:]}")
    return run.stdout


def plain(larder, mode, models, cache):
    command = [
        larder, "exec", "--quiet", "--sim", "h100", "--", sys.executable, PROGRAM,
        mode, *models,
    ]
    return json.loads(ended(command, cache).splitlines()[-1])


def told(larder, mode, model, cache):
    report = os.path.join(cache, f"{model}.json")
    ended([larder, "run", "--gpu", "h100", "--steps", "all", f"--json={report}",
           PROGRAM, mode, model], cache)
    with open(report, encoding="utf-8") as file:
        return json.load(file)["peak_allocated_bytes"]


def wrongly_told(larder, mode, model, cache, peak):
    """Why, or None.  `larder run` knows values that are folded into kernels, which
    are others then and are tried out once."""
    try:
        for _ in range(2):
            found = told(larder, mode, model, cache)
            if found == peak:
                return None
    except (Failed, subprocess.TimeoutExpired) as error:
        return str(error)
    return f"{peak} by itself, {found} told"


def asked_twice(larder, mode, models, cache):
    """What each model asks for with a warm cache, or words.  The first run tries
    kernels out, in memory."""
    os.makedirs(cache, exist_ok=True)
    try:
        plain(larder, mode, models, cache)
        asked, again = (plain(larder, mode, models, cache) for _ in range(2))
    except (Failed, subprocess.TimeoutExpired) as error:
        return dict.fromkeys(models, str(error))
    for model in models:
        if "failed" in asked[model]:
            asked[model] = asked[model]["failed"]
        elif asked[model] != again[model]:
            asked[model] = f"two runs differ: {asked[model]}, {again[model]}"
    return asked


def faults(larder, models_of, folder):
    """Words by mode and model, of a dictionary of models by mode."""

    def cache(mode):
        return os.path.join(folder, mode)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        asked = dict(zip(models_of, pool.map(
            lambda mode: asked_twice(larder, mode, models_of[mode], cache(mode)),
            models_of,
        )))
        whole = {
            model: seen["peak"] for model, seen in asked[TOLD].items()
            if isinstance(seen, dict)
        }
        why = pool.map(
            lambda model: wrongly_told(larder, TOLD, model, cache(TOLD), whole[model]),
            whole,
        )
    found = {(TOLD, model): words for model, words in zip(whole, why) if words}
    for mode, of_mode in asked.items():
        for model, seen in of_mode.items():
            if isinstance(seen, str):
                found[mode, model] = seen
    return found


def main(build, *words):
    for name in ("torch", "triton"):
        if importlib.util.find_spec(name) is None:
            print(f"no {name}")
            return 77
    larder = os.path.join(build, "larder")
    models = [model for model in MODELS if model in words] or MODELS
    models_of = {TOLD: models, **dict.fromkeys(OTHERS, models[:1])}
    with tempfile.TemporaryDirectory() as folder:
        found = faults(larder, models_of, folder)
    for (mode, model), why in found.items():
        print(f"{model}, {mode}: {why}")
    count = sum(map(len, models_of.values()))
    version = importlib.metadata.version("torch")
    print(f"torch {version}: {count - len(found)} of {count} models and modes")
    return len(found) != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
