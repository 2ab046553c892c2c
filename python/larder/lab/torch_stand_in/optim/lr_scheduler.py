"""torch.optim.lr_scheduler: learning rate schedules."""

import bisect
import math

from larder.lab.constructing import constructor
from larder.lab.failures import gate


def for_each_group(optimizer, value):
    """A list of values, from one for all groups or one for each."""
    if isinstance(value, (list, tuple)):
        return list(value)
    return [value] * len(optimizer.param_groups)


def schedule(needed="optimizer", *, passed="", **defaults):
    """The constructor of a scheduler, whose last argument, last_epoch, is passed on."""
    passed = f"{passed} last_epoch"
    return constructor(needed, passed=passed, **defaults, last_epoch=-1)


class LRScheduler:
    """Sets each group's learning rate after every step(), to the values that
    get_lr() returns."""

    _of_base = False

    __init__ = schedule()

    def _made_from(self, last_epoch):
        groups = self.optimizer.param_groups
        for group in groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in groups]
        self.last_epoch = last_epoch
        self.step()

    def _rates(self):
        return [group["lr"] for group in self.optimizer.param_groups]

    def get_lr(self):
        """The current rates, or those of the beginning, by a factor."""
        rates = self.base_lrs if self._of_base else self._rates()
        factor = self._factor()
        return [rate * factor for rate in rates]

    def _factor(self):
        raise NotImplementedError("a scheduler needs a get_lr()")

    def get_last_lr(self):
        return list(self._last_lr)

    def step(self, epoch=None):
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        for group, rate in zip(self.optimizer.param_groups, self.get_lr()):
            group["lr"] = rate
        self._last_lr = self._rates()

    def state_dict(self):
        return {
            name: value
            for name, value in self.__dict__.items()
            if name != "optimizer" and not callable(value)
            and name != "lr_lambdas"
        }

    def load_state_dict(self, state_dict):
        self.__dict__.update(state_dict)


_LRScheduler = LRScheduler


class LambdaLR(LRScheduler):
    __init__ = schedule("optimizer lr_lambda", passed="lr_lambda")

    def _made_from(self, lr_lambda, last_epoch):
        self.lr_lambdas = for_each_group(self.optimizer, lr_lambda)
        super()._made_from(last_epoch)

    def get_lr(self):
        return [
            base * function(self.last_epoch)
            for base, function in zip(self.base_lrs, self.lr_lambdas)
        ]


class MultiplicativeLR(LambdaLR):
    def get_lr(self):
        if not self.last_epoch:
            return self._rates()
        return [
            rate * function(self.last_epoch)
            for rate, function in zip(self._rates(), self.lr_lambdas)
        ]


class StepLR(LRScheduler):
    __init__ = schedule("optimizer step_size", gamma=0.1)

    def _factor(self):
        stays = not self.last_epoch or self.last_epoch % self.step_size
        return 1 if stays else self.gamma


class MultiStepLR(LRScheduler):
    __init__ = schedule("optimizer milestones", gamma=0.1)

    def _made_from(self, last_epoch):
        self.milestones = sorted(self.milestones)
        super()._made_from(last_epoch)

    def _factor(self):
        return self.gamma ** self.milestones.count(self.last_epoch)


class ExponentialLR(LRScheduler):
    __init__ = schedule("optimizer gamma")

    def _factor(self):
        return self.gamma if self.last_epoch else 1


class ConstantLR(LRScheduler):
    _of_base = True

    __init__ = schedule(factor=1 / 3, total_iters=5)

    def _factor(self):
        return self.factor if self.last_epoch < self.total_iters else 1


class LinearLR(LRScheduler):
    _of_base = True

    __init__ = schedule(start_factor=1 / 3, end_factor=1.0, total_iters=5)

    def _factor(self):
        done = min(self.last_epoch, self.total_iters) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * done


class PolynomialLR(LRScheduler):
    _of_base = True

    __init__ = schedule(total_iters=5, power=1.0)

    def _factor(self):
        done = min(self.last_epoch, self.total_iters) / self.total_iters
        return (1 - done) ** self.power


class _Cosine(LRScheduler):
    """From the rates of the beginning to eta_min, along a cosine."""

    def _period(self):
        raise NotImplementedError("the epoch in the half wave, and its length")

    def get_lr(self):
        at, length = self._period()
        # In PyTorch's order, for the same last bit.
        part = (1 + math.cos(math.pi * at / length)) / 2
        return [
            self.eta_min + (base - self.eta_min) * part
            for base in self.base_lrs
        ]


class CosineAnnealingLR(_Cosine):
    __init__ = schedule("optimizer T_max", eta_min=0.0)

    def _period(self):
        return self.last_epoch, self.T_max


class CosineAnnealingWarmRestarts(_Cosine):
    __init__ = schedule("optimizer T_0", T_mult=1, eta_min=0.0)

    def _period(self):
        at, length = self.last_epoch, self.T_0
        while at >= length:
            at -= length
            length *= self.T_mult
        return at, length


class OneCycleLR(LRScheduler):
    """Increases the rate along a cosine and then lowers it to almost 0."""

    __init__ = schedule(
        "optimizer max_lr",
        passed="max_lr total_steps epochs steps_per_epoch div_factor final_div_factor",
        total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3,
        anneal_strategy="cos", cycle_momentum=True, base_momentum=0.85,
        max_momentum=0.95, div_factor=25.0, final_div_factor=1e4,
    )

    def _made_from(
        self, max_lr, total_steps, epochs, steps_per_epoch, div_factor,
        final_div_factor, last_epoch,
    ):
        self.total_steps = total_steps or epochs * steps_per_epoch
        self.max_lrs = for_each_group(self.optimizer, max_lr)
        self.starts = [one / div_factor for one in self.max_lrs]
        self.ends = [one / final_div_factor for one in self.starts]
        super()._made_from(last_epoch)

    def _between(self, start, end, part):
        if self.anneal_strategy == "linear":
            return start + (end - start) * part
        return end + (start - end) / 2 * (1 + math.cos(math.pi * part))

    def get_lr(self):
        # As in PyTorch, the scheduler's own first step does not count.
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"step {self.last_epoch} of a cycle of {self.total_steps}"
            )
        top = self.pct_start * self.total_steps - 1
        at, rest = self.last_epoch, self.total_steps - 1 - top
        if at <= top:
            part = at / top if top > 0 else 1.0
            return [
                self._between(start, most, part)
                for start, most in zip(self.starts, self.max_lrs)
            ]
        return [
            self._between(most, end, (at - top) / rest)
            for most, end in zip(self.max_lrs, self.ends)
        ]


class SequentialLR:
    """Several schedulers, one after another."""

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        self.optimizer = optimizer
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for scheduler in schedulers:
            scheduler.last_epoch -= 1
        schedulers[0].step()

    def step(self):
        self.last_epoch += 1
        at = bisect.bisect_right(self._milestones, self.last_epoch)
        begins = at > 0 and self._milestones[at - 1] == self.last_epoch
        self._schedulers[at].step(0 if begins else None)

    get_last_lr = LRScheduler._rates


class ReduceLROnPlateau(LRScheduler):
    """Lowers the rates when a metric stops improving."""

    __init__ = constructor(
        "optimizer", mode="min", factor=0.1, patience=10, threshold=1e-4,
        threshold_mode="rel", cooldown=0, min_lr=0, eps=1e-8,
    )

    def _made_from(self):
        self.best = math.inf if self.mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = 0
        self.last_epoch = 0

    get_last_lr = LRScheduler._rates

    def _is_better(self, figure):
        sign = 1 if self.mode == "min" else -1
        margin = self.threshold
        if self.threshold_mode == "rel" and math.isfinite(self.best):
            margin *= abs(self.best)
        return sign * figure < sign * self.best - (
            margin if math.isfinite(self.best) else 0
        )

    def step(self, metrics, epoch=None):
        figure = float(metrics)
        self.last_epoch += 1
        if self._is_better(figure):
            self.best = figure
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group in self.optimizer.param_groups:
                group["lr"] = max(group["lr"] * self.factor, self.min_lr)
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0


_NAMES = [name for name in globals() if name[0].isupper()]

__getattr__ = gate("torch.optim.lr_scheduler", lambda: _NAMES)
