"""train.py MODEL [--optimizer adamw|sgd] [--bf16] [--checkpoint]: three steps of
training, as anybody writes them.

With YARDSTICK set it writes there, as JSON, what PyTorch's own allocator was
asked for: "peak" in bytes, "requests" in order with the lines they came from."""

import argparse
import importlib
import json
import os

import torch

STEPS = 3
MODELS = {
    "mlp": "other",
    "lstm": "other",
    "gnn": "other",
    "resnet50": "vision",
    "vit": "vision",
    "unet": "vision",
    "diffusion": "vision",
    "gpt2": "language",
    "gpt2_medium": "language",
    "llama": "language",
    "lora": "language",
    "bert": "language",
    "moe": "language",
}


def read_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--optimizer", default="adamw", choices=("adamw", "sgd"))
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--checkpoint", action="store_true")
    return parser.parse_args()


def optimizer_of(name, model):
    learning = [p for p in model.parameters() if p.requires_grad]
    if name == "sgd":
        return torch.optim.SGD(learning, lr=0.1, momentum=0.9)
    return torch.optim.AdamW(learning)


def train(options):
    make = getattr(importlib.import_module(MODELS[options.model]), options.model)
    model, loss_of_step = make(options)
    optimizer = optimizer_of(options.optimizer, model)
    for _ in range(STEPS):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=options.bf16):
            loss = loss_of_step()
        loss.backward()
        optimizer.step()


def line_of(event):
    for frame in event.get("frames", ()):
        if "/torch/" not in frame["filename"]:
            return f"{os.path.basename(frame['filename'])}:{frame['line']}"
    return ""


def write(path):
    trace = torch.cuda.memory._snapshot()["device_traces"][0]
    told = {
        "peak": torch.cuda.max_memory_allocated(),
        "requests": [
            [event["size"], line_of(event)]
            for event in trace
            if event["action"] == "alloc"
        ],
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump(told, file)


def main():
    options = read_options()
    path = os.environ.get("YARDSTICK")
    if path:
        torch.cuda.memory._record_memory_history(max_entries=1 << 20, stacks="python")
    train(options)
    if path:
        write(path)
        # PyTorch's thread for the GPU must not meet Python's end (docs/EXEC.md).
        os._exit(0)


if __name__ == "__main__":
    main()
