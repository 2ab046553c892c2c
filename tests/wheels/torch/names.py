"""Each function that larder.torch replaces takes what PyTorch's takes, and none
that asks PyTorch's own allocator is left out."""

import inspect
import sys

import torch
from larder.torch import patching, snapshots

# Of torch.cuda.memory and torch.accelerator.memory, and why they may stay.
STAY = {
    "caching_allocator_alloc": "asks whichever allocator there is",
    "caching_allocator_delete": "the same",
    "caching_allocator_enable": "in larder.torch.unsupported()",
    "caching_allocator_disabled": "the same",
    "_annotate_tensor": "the same",
    "use_mem_pool": "the same",
    "_make_uvm_allocator": "makes a pluggable allocator of its own",
    "_use_uvm": "the same",
    "change_current_allocator": "is how Larder gets there",
    "_get_current_allocator": "gives Larder's",
    "get_allocator_backend": "says pluggable",
    "_save_memory_usage": "calls _snapshot",
    "_save_segment_usage": "the same",
    "_snapshot": "torch.accelerator's calls torch.cuda's",
    "_augment_frames": "works on a snapshot",
    "_augment_memory_snapshot_stack_traces": "the same",
    "_record_memory_history_impl": "called by one that is replaced",
    "_record_memory_history_legacy": "the same",
    "_recurse_add_to_result": "the same",
    "_flatten_stats": "the same",
    "memory_stats": "asks memory_stats_as_nested_dict()",
    "memory_allocated": "asks memory_stats()",
    "max_memory_allocated": "the same",
    "memory_reserved": "the same",
    "max_memory_reserved": "the same",
    "memory_cached": "the same",
    "max_memory_cached": "the same",
    "reset_max_memory_allocated": "asks reset_peak_memory_stats()",
    "reset_max_memory_cached": "the same",
    "mem_get_info": "asks the driver",
    "get_memory_info": "the same",
    "list_gpu_processes": "the same",
    "_host_allocator": "of pinned memory",
    "_free_mutex": "the same",
    "host_memory_stats": "the same",
    "host_memory_stats_as_nested_dict": "the same",
    "reset_accumulated_host_memory_stats": "the same",
    "reset_peak_host_memory_stats": "the same",
    "empty_host_cache": "the same",
}


def complaint(name, theirs, ours):
    """Why a call that theirs takes is not taken alike, or None."""
    ours = list(inspect.signature(ours).parameters.values())
    theirs = list(inspect.signature(theirs).parameters.values())
    for at, parameter in enumerate(theirs):
        if at >= len(ours):
            return f"{name}: {parameter} is not there"
        mine = ours[at]
        for what in ("name", "kind", "default"):
            if getattr(mine, what) != getattr(parameter, what):
                return f"{name}: {mine} for {parameter}"
    for mine in ours[len(theirs):]:
        if mine.default is mine.empty:
            return f"{name}: {mine} is asked for"
    return None


def pairs(module):
    """Names, PyTorch's functions and Larder's."""
    functions = patching.replacements()
    if module.__name__.startswith("torch.accelerator"):
        functions = patching.accelerator_replacements()
    for name, function in functions.items():
        if hasattr(module, name):
            yield name, getattr(module, name), function
    if module is torch.cuda.memory:
        yield (
            "_record_memory_history before 2.1",
            module._record_memory_history_legacy,
            snapshots._record_as_before,
        )


def own_functions(module):
    for name, function in vars(module).items():
        if (
            inspect.isfunction(function)
            and function.__module__ == module.__name__
        ):
            yield name


def main():
    said, count = [], 0
    modules = patching._modules("cuda") + patching._modules("accelerator")
    replaced = set(patching.replacements())
    for module in modules:
        for name, theirs, ours in pairs(module):
            count += 1
            said.append(complaint(f"{module.__name__}.{name}", theirs, ours))
        if module.__name__.endswith(".memory"):
            said += [
                f"{module.__name__}.{name}: neither replaced nor known"
                for name in own_functions(module)
                if name not in replaced and name not in STAY
            ]
    said = [line for line in said if line]
    print("\n".join(said) if said else f"{count} functions alike")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
