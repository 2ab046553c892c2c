"""torch.optim.swa_utils: averages of a model's parameters over its steps."""

import copy
import math

from larder.lab.failures import gate
from larder.lab.kinds import int64
from larder.lab.making import tensor
from larder.lab.recording import no_grad
from larder.lab.torch_stand_in.nn.module import Module
from larder.lab.torch_stand_in.optim.lr_scheduler import (
    LRScheduler,
    for_each_group,
    schedule,
)


def _mean(averaged, current, count):
    return averaged + (current - averaged) / (count + 1)


def get_ema_avg_fn(decay=0.999):
    return lambda averaged, current, count: (
        decay * averaged + (1 - decay) * current
    )


def _one_by_one(function):
    def over(averaged, current, count):
        for mean, now in zip(averaged, current):
            mean.copy_(function(mean, now, count))

    return over


def get_ema_multi_avg_fn(decay=0.999):
    return _one_by_one(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn():
    return _one_by_one(_mean)


class AveragedModel(Module):
    """A copy of a model with averaged parameters."""

    def __init__(
        self, model, device=None, avg_fn=None, multi_avg_fn=None,
        use_buffers=False,
    ):
        super().__init__()
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self._average = multi_avg_fn or _one_by_one(avg_fn or _mean)
        self.use_buffers = use_buffers

    def forward(self, *arguments, **named):
        return self.module(*arguments, **named)

    def _averaged(self, model):
        found = list(model.parameters())
        return found + list(model.buffers()) if self.use_buffers else found

    @no_grad()
    def update_parameters(self, model):
        own, theirs = self._averaged(self.module), self._averaged(model)
        if self.n_averaged == 0:
            for mean, now in zip(own, theirs):
                mean.copy_(now)
        else:
            now = [t.to(o.device) for o, t in zip(own, theirs)]
            self._average(own, now, self.n_averaged)
        if not self.use_buffers:
            for mean, now in zip(self.module.buffers(), model.buffers()):
                mean.copy_(now)
        self.n_averaged += 1


@no_grad()
def update_bn(loader, model, device=None):
    """Reset the model's running statistics and run a loader's batches through
    it."""
    norms = [m for m in model.modules() if hasattr(m, "running_mean")]
    norms = [m for m in norms if m.running_mean is not None]
    if not norms:
        return
    momenta = {id(m): m.momentum for m in norms}
    was_training = model.training
    for module in norms:
        module.reset_running_stats()
        module.momentum = None
    model.train()
    for batch in loader:
        batch = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(batch if device is None else batch.to(device))
    for module in norms:
        module.momentum = momenta[id(module)]
    model.train(was_training)


class SWALR(LRScheduler):
    """Moves each group's rate to swa_lr over anneal_epochs, and keeps it
    there."""

    __init__ = schedule(
        "optimizer swa_lr", passed="swa_lr anneal_epochs anneal_strategy",
        anneal_epochs=10, anneal_strategy="cos",
    )

    def _made_from(self, swa_lr, anneal_epochs, anneal_strategy, last_epoch):
        self._targets = for_each_group(self.optimizer, swa_lr)
        self._anneal_epochs = anneal_epochs
        self._by_cosine = anneal_strategy == "cos"
        self._starts = self._rates()
        super()._made_from(last_epoch)

    def get_lr(self):
        part = min(1.0, self.last_epoch / max(1, self._anneal_epochs))
        if self._by_cosine:
            part = (1 - math.cos(math.pi * part)) / 2
        return [
            target * part + start * (1 - part)
            for target, start in zip(self._targets, self._starts)
        ]


__getattr__ = gate("torch.optim.swa_utils", globals())
