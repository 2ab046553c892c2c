"""Changes to a program that save memory, applied at run time without editing
it; `--advise` runs the program again with them.

Each records in `made` what it changed.  A change that found nothing to change
records nothing and is not reported.
"""

import functools

import torch
from torch.nn.modules import module as modules
from torch.utils import checkpoint as checkpoints
from torch.utils import data

from larder.fit import ledger
from larder.fit.scopes import scopes

# As bitsandbytes stores Adam's state in 8 bits: one 32-bit scale for this many
# values; small tensors stay in 32 bits.
_BLOCK = 256
_SMALL = 4096

_ADAMS = (torch.optim.Adam, torch.optim.AdamW)


class Changes:
    def __init__(self, names, capability):
        self.made = {}
        if "accumulate" in names:
            self.made["accumulate"] = ""
        self._capability = capability
        self._autocast = None
        self._seen = set()
        ways = {
            "checkpoint": lambda: self._at_roots(self._checkpoint),
            "half": lambda: self._at_roots(self._enter_autocast, always=True),
            "sgd": lambda: self._step_by("sgd", _plain_step),
            "adam8bit": lambda: self._step_by("adam8bit", _small_step),
            "loader": self._halve_loaders,
            "accumulate": _accumulate,
        }
        for name in names:
            ways[name]()

    def _at_roots(self, change, always=False):
        """Call a function before each outermost module runs: the first time,
        or every time."""

        def before(module, args):
            if not scopes.is_outside() or scopes.phase == ledger.BACKWARD:
                return
            if always or id(module) not in self._seen:
                self._seen.add(id(module))
                change(module)

        modules.register_module_forward_pre_hook(before)

    # ---- gradient checkpointing ------------------------------------------

    def _checkpoint(self, root):
        found = []
        for name, module in root.named_modules():
            if getattr(module, "supports_gradient_checkpointing", False):
                module.gradient_checkpointing_enable(
                    gradient_checkpointing_kwargs={"use_reentrant": False}
                )
                found.append(f"all layers of {type(module).__name__}")
                break
        else:
            for name, blocks in repeated_blocks(root):
                for block in blocks:
                    block.forward = functools.partial(
                        _checkpointed, block, block.forward
                    )
                kind = type(blocks[0]).__name__
                found.append(f"{name} ({len(blocks)} {kind})")
        if found:
            before = self.made.get("checkpoint")
            self.made["checkpoint"] = ", ".join([before] * bool(before) + found)

    # ---- autocast --------------------------------------------------------

    def _enter_autocast(self, root):
        """Enter autocast from a model's forward until backward, so that it
        includes the loss."""
        if torch.is_autocast_enabled("cuda"):
            return
        kind = torch.bfloat16 if self._capability >= (8, 0) else torch.float16
        self._autocast = torch.autocast("cuda", dtype=kind)
        self._autocast.__enter__()
        self.made["half"] = str(kind).removeprefix("torch.")

    def before_backward(self):
        if self._autocast is not None:
            self._autocast.__exit__(None, None, None)
            self._autocast = None

    # ---- optimizers ------------------------------------------------------

    def _step_by(self, name, update):
        """Give Adam's classes a step with another update.  To the program they
        are unchanged otherwise."""

        def step(optimizer, closure=None):
            self.made[name] = type(optimizer).__name__
            loss = None
            if closure is not None:
                with torch.enable_grad():
                    loss = closure()
            with torch.no_grad():
                for group in optimizer.param_groups:
                    update(optimizer, group)
            return loss

        for kind in _ADAMS:
            kind.step = step

    # ---- batches ---------------------------------------------------------

    def _halve_loaders(self):
        make = data.DataLoader.__init__

        @functools.wraps(make)
        def halved(loader, dataset, batch_size=1, *args, **kwargs):
            if isinstance(batch_size, int) and batch_size > 1:
                self.made["loader"] = f"{batch_size} to {batch_size // 2}"
                batch_size //= 2
            make(loader, dataset, batch_size, *args, **kwargs)

        data.DataLoader.__init__ = halved


def _accumulate():
    """Skip every second optimizer step and the gradient clearing after it."""
    state = {"skipped": False}
    optimizer, module = torch.optim.Optimizer, torch.nn.Module
    hooked = optimizer.profile_hook_step

    def every_second(step):
        run = hooked(step)

        @functools.wraps(run)
        def stepped(*args, **kwargs):
            state["skipped"] = not state["skipped"]
            return None if state["skipped"] else run(*args, **kwargs)

        return stepped

    optimizer.profile_hook_step = staticmethod(every_second)
    for owner in (optimizer, module):
        owner.zero_grad = _unless(state, owner.zero_grad)


def _unless(state, clear):
    @functools.wraps(clear)
    def zero_grad(*args, **kwargs):
        if not state["skipped"]:
            clear(*args, **kwargs)

    return zero_grad


def repeated_blocks(root):
    """(name, blocks) of the outermost containers that hold at least two blocks
    of the same class with submodules."""
    found = []
    for name, container in root.named_modules():
        if any(name.startswith(f"{outer}.") for outer, _ in found):
            continue
        blocks = list(container.children())
        if (
            isinstance(container, (torch.nn.ModuleList, torch.nn.Sequential))
            and len(blocks) > 1
            and len({type(block) for block in blocks}) == 1
            and all(any(block.children()) for block in blocks)
        ):
            found.append((name or type(root).__name__, blocks))
    return found


def _checkpointed(block, forward, *args, **kwargs):
    if not (block.training and torch.is_grad_enabled()):
        return forward(*args, **kwargs)
    return checkpoints.checkpoint(forward, *args, use_reentrant=False, **kwargs)


def _learning(group):
    return [p for p in group["params"] if p.grad is not None]


def _plain_step(optimizer, group):
    """SGD without momentum, which needs neither state nor temporaries."""
    learning = _learning(group)
    if learning:
        torch._foreach_add_(
            learning, [p.grad for p in learning], alpha=-float(group["lr"])
        )


def _state_in_8_bits(parameter):
    count = parameter.numel()
    if count < _SMALL:
        return {n: torch.zeros_like(parameter) for n in ("state1", "state2")}
    state = {}
    for number in "12":
        state[f"state{number}"] = torch.zeros_like(parameter, dtype=torch.uint8)
        state[f"absmax{number}"] = torch.zeros(
            -(-count // _BLOCK), device=parameter.device
        )
    return state


def _small_step(optimizer, group):
    """A step whose kernels update state and parameters in place."""
    for parameter in _learning(group):
        if not optimizer.state[parameter]:
            optimizer.state[parameter] = _state_in_8_bits(parameter)
        parameter.add_(parameter.grad, alpha=-float(group["lr"]))
