"""torch_subject.py ALLOCATOR [--device cpu --small --steps N] [PART…] - one
allocator's run of the parts: an object a line, {part, ok, found or error}.

ALLOCATOR: native, expandable, larder-pytorch (Larder with PyTorch's policy) or
larder (with its own).  Each run is a process of its own.
"""

import argparse
import json
import os
import sys
import traceback

ALLOCATORS = ("native", "expandable", "larder-pytorch", "larder")


def _begin(allocator):
    os.environ.pop("PYTORCH_CUDA_ALLOC_CONF", None)
    if allocator == "expandable":
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    if allocator.startswith("larder"):
        import larder.torch

        policy = "pytorch" if allocator == "larder-pytorch" else "larder"
        larder.torch.enable(conf="", policy=policy)


def _run(name, part, setting):
    try:
        return {"part": name, "ok": True, "found": part(setting)}
    except Exception as error:
        traceback.print_exc()
        return {
            "part": name,
            "ok": False,
            "error": f"{type(error).__name__}: {error}"[:500],
        }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("allocator", choices=ALLOCATORS)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("parts", nargs="*")
    options = parser.parse_intermixed_args()
    _begin(options.allocator)

    import torch_parts

    setting = torch_parts.Setting(
        options.device, options.small, options.steps
    )
    failed = False
    for name in options.parts or torch_parts.PARTS:
        line = _run(name, torch_parts.PARTS[name], setting)
        failed = failed or not line["ok"]
        print(json.dumps(line), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
