"""vLLM's engine starts on a simulated H100 as on the real one of two published runs
(vLLM 0.11.0; llm-d's empirical-vllm-memory-results): python3 serving.py BUILD"""

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
LLM(sys.argv[1], enforce_eager=True, block_size=128, enable_prefix_caching=True,
    max_model_len=16000, gpu_memory_utilization=0.9)
print("requests would follow")
"""

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

# The shape, and what was measured: weights, peak activation, KV cache in GiB.
RUNS = {
    "Qwen3-0.6B": (
        {"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28,
         "num_attention_heads": 16, "tie_word_embeddings": True},
        (1.12, 5.56, 64.45),
    ),
    "Qwen3-32B": (
        {"hidden_size": 5120, "intermediate_size": 25600, "num_hidden_layers": 64,
         "num_attention_heads": 64, "tie_word_embeddings": False},
        (61.03, 5.64, 4.45),
    ),
}


def start(build, shape):
    """What `larder run` tells of an engine of this shape, and all it printed."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
            json.dump({**QWEN3, **shape}, file)
        script, report = os.path.join(folder, "serve.py"), os.path.join(folder, "told")
        with open(script, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        ran = subprocess.run(
            [os.path.join(build, "larder"), "run", "--gpu", "h100", f"--json={report}",
             script, folder],
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


def main(build):
    try:
        import importlib.metadata

        version = importlib.metadata.version("vllm")
    except importlib.metadata.PackageNotFoundError:
        print("no vLLM")
        return 77
    said = []
    for name, (shape, measured) in RUNS.items():
        began = time.monotonic()
        report, log = start(build, shape)
        told = report and report["serving"]
        if not told or not is_near(told, measured) or "requests would follow" in log:
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
