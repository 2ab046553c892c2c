"""snapshot_read.py - a snapshot that Larder wrote, in any form, as one value."""
import json
import pickle


def spelled_out(v, stacks):
    """Stacks where their numbers are."""
    if isinstance(v, dict):
        return {k: stacks[x] if k == 'frames' and isinstance(x, int)
                else spelled_out(x, stacks) for k, x in v.items()}
    return [spelled_out(x, stacks) for x in v] if isinstance(v, list) else v


def load(path):
    with open(path, 'rb') as f:
        data = f.read()
    if data[:1] != b'{':
        return pickle.loads(data)
    found = json.loads(data)
    frames = found.pop('frames', [])
    stacks = [[frames[n] for n in s] for s in found.pop('stacks', [])]
    return spelled_out(found, stacks)


def listed(v):
    """Tuples as lists, as JSON has them."""
    if isinstance(v, dict):
        return {k: listed(x) for k, x in v.items()}
    return [listed(x) for x in v] if isinstance(v, (list, tuple)) else v
