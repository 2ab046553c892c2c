"""program.py OUT - a program whose memory is looked at: what PyTorch said of it
goes to OUT as JSON, under any allocator."""

import json
import random
import sys

import torch

memory = torch.cuda.memory
KIB, MIB = 1 << 10, 1 << 20


def tensors(count, seed):
    """Made and dropped at random on three streams; where each was."""
    chance = random.Random(seed)
    streams = [torch.cuda.current_stream()]
    streams += [torch.cuda.Stream() for _ in range(2)]
    live, places = [], []
    for _ in range(count):
        if live and chance.random() < 0.45:
            live.pop(chance.randrange(len(live)))
            continue
        size = chance.choice((KIB, 40 * KIB, MIB, 3 * MIB, 12 * MIB))
        stream = chance.choice(streams)
        with torch.cuda.stream(stream):
            made = torch.empty(
                chance.randrange(1, size), dtype=torch.uint8, device="cuda"
            )
        if chance.random() < 0.1:
            made.record_stream(chance.choice(streams))
        live.append(made)
        places.append(made.data_ptr())
    return live, places


def keys(records):
    """Every key of the records, with its values' types."""
    found = {}
    for record in records:
        for key, value in record.items():
            found[str(key)] = type(value).__name__
    return found


def shape(snapshot):
    """The keys of all that a snapshot has."""
    segments = snapshot["segments"]
    events = [e for trace in snapshot["device_traces"] for e in trace]
    by_action = {}
    for event in events:
        by_action.setdefault("event " + event["action"], []).append(event)
    parts = {
        "snapshot": [snapshot],
        "settings": [snapshot["allocator_settings"]],
        "segment": segments,
        "block": [b for s in segments for b in s["blocks"]],
        "frame": [f for e in events for f in e.get("frames", ())],
        **by_action,
    }
    return {part: keys(records) for part, records in parts.items()}


def main():
    memory._record_memory_history(max_entries=100000)
    live, places = tensors(400, 1)
    torch.cuda.synchronize()
    try:
        torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
        raise AssertionError("a TiB could be had")
    except torch.cuda.OutOfMemoryError:
        pass
    snapshot = memory._snapshot()
    said = {
        "places": places,
        "stats": torch.cuda.memory_stats(),
        "nested": keys([torch.cuda.memory_stats_as_nested_dict()]),
        "summary": torch.cuda.memory_summary(),
        "shape": shape(snapshot),
        "segments": [
            [s["address"], s["total_size"], s["allocated_size"],
             [[b["address"], b["size"], b["state"]] for b in s["blocks"]]]
            for s in snapshot["segments"]
        ],
    }
    del live
    torch.cuda.empty_cache()
    said["left"] = torch.cuda.memory_stats()
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(said, file)


if __name__ == "__main__":
    main()
