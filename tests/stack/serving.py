"""vLLM's engine starts on one simulated H100 and on two, with its own all-reduce, as on
the real ones of three published runs (vLLM 0.11.0; llm-d's
empirical-vllm-memory-results).  Of other versions the weights are the same, and the
parts make up what the engine may use: python3 serving.py BUILD"""

import json
import os
import subprocess
import sys
import tempfile
import time

GIB = 1 << 30

PROGRAM = """
import sys
from vllm import LLM
if __name__ == "__main__":
    LLM(sys.argv[1], enforce_eager=True, block_size=128, enable_prefix_caching=True,
        max_model_len=16000, gpu_memory_utilization=0.9,
        tensor_parallel_size=int(sys.argv[2]))
    print("requests would follow")
"""
PUBLISHED = "0.11.0"
# Of a card of 81 080 MiB.
USABLE = 0.9 * 81080 / 1024

QWEN3 = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "head_dim": 128,
    "num_key_value_heads": 8,
    "vocab_size": 151936,
    "max_position_embeddings": 40960,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "rope_theta": 1000000,
    "attention_bias": False,
    "torch_dtype": "bfloat16",
}

SMALL = {
    "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28,
    "num_attention_heads": 16, "tie_word_embeddings": True,
}
LARGE = {
    "hidden_size": 5120, "intermediate_size": 25600, "num_hidden_layers": 64,
    "num_attention_heads": 64, "tie_word_embeddings": False,
}

# Shape, cards, and what was measured of each card: weights, peak activation, KV cache
# in GiB.
RUNS = {
    "Qwen3-0.6B": (SMALL, 1, (1.12, 5.56, 64.45)),
    "Qwen3-32B": (LARGE, 1, (61.03, 5.64, 4.45)),
    "Qwen3-32B on two": (LARGE, 2, (30.59, 5.64, 34.49)),
}


def start(build, shape, cards):
    """What `larder run` tells of an engine of this shape, and all it printed."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
            json.dump({**QWEN3, **shape}, file)
        script, report = os.path.join(folder, "serve.py"), os.path.join(folder, "told")
        with open(script, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        ran = subprocess.run(
            [os.path.join(build, "larder"), "run", "--device", f"sim:h100,count={cards}",
             f"--json={report}", script, folder, str(cards)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "LARDER_PYTHON": sys.executable},
        )
        if not os.path.exists(report):
            return None, ran.stdout
        with open(report, encoding="utf-8") as file:
            return json.load(file), ran.stdout


def is_near(told, measured):
    weights, activation, cache = measured
    return (
        abs(told["weights_bytes"] / GIB - weights) <= 0.02
        and abs(told["activation_bytes"] / GIB / activation - 1) <= 0.02
        and abs(told["kv_cache_bytes"] / GIB - cache) <= 0.25
    )


def is_whole(told, measured):
    """Rounded by vLLM to hundredths, as it logs them."""
    parts = ("weights_bytes", "activation_bytes", "kept_bytes", "kv_cache_bytes")
    return (
        abs(told["weights_bytes"] / GIB - measured[0]) <= 0.02
        and abs(sum(told[part] or 0 for part in parts) / GIB - USABLE) <= 0.05
    )


def meets_others(log):
    """vLLM's own all-reduce is wanted, and nothing says that it cannot be."""
    return (
        "disable_custom_all_reduce=False" in log
        and "Custom allreduce is disabled" not in log
    )


def main(build):
    try:
        import importlib.metadata

        version = importlib.metadata.version("vllm")
    except importlib.metadata.PackageNotFoundError:
        print("no vLLM")
        return 77
    is_right = is_near if version == PUBLISHED else is_whole
    said = []
    for name, (shape, cards, measured) in RUNS.items():
        began = time.monotonic()
        report, log = start(build, shape, cards)
        told = report and report["serving"]
        if (
            not told or not is_right(told, measured) or not meets_others(log)
            or "requests would follow" in log
        ):
            print(log)
            print(f"{name}: measured {measured}, told {told}")
            return 1
        said.append(
            f"{name} {told['weights_bytes'] / GIB:.2f} "
            f"{told['activation_bytes'] / GIB:.2f} {told['kv_cache_bytes'] / GIB:.2f} "
            f"GiB in {time.monotonic() - began:.0f} s"
        )
    print(f"vLLM {version}: {'; '.join(said)}")
    return 0


sys.exit(main(sys.argv[1]))
