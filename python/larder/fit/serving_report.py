"""The verdict on a serving engine: whether it starts, its plan, and what would
make it start."""

import collections

from larder.fit import verdict
from larder.fit.running import Failed, Interrupted

Cure = collections.namedtuple("Cure", "name value starts serving")

# The largest share of a card that vLLM may use: the rest is for the driver and
# others.
_MOST_UTILIZATION = 0.98
_UTILIZATION_TRIES = 3
_MOST_CARDS = 8


def judge(told):
    plan = told["plan"]
    if plan.is_ready:
        return verdict.FITS
    return verdict.DOES_NOT_FIT if plan.is_short else verdict.NO_VERDICT


class Cures:
    """Tries arguments with which the engine might start."""

    def __init__(self, runner, device, card):
        self._runner = runner
        self._device = device
        self._card = card

    def _try(self, name, value):
        """The cure and the engine's plan."""
        told = self._runner.run(
            self._device, quiet=True, engine_arguments={name: value}
        )
        if told["how"] == "interrupted":
            raise Interrupted
        plan = told.get("plan")
        starts = plan is not None and plan.is_ready
        return Cure(name, value, starts, plan.told() if starts else None), plan

    def _length(self, plan):
        if plan.longest:
            yield self._try("max_model_len", plan.longest)[0]

    def _utilization(self, plan):
        """Raise the utilization by what the engine says that it lacks."""
        now = plan.arguments.get("gpu_memory_utilization")
        for _ in range(_UTILIZATION_TRIES):
            if now is None or plan is None:
                return
            lacks = plan.lacks_bytes or -min(0, plan.cache_bytes() or 0)
            more = lacks / self._card.total_bytes
            now = round(now + max(0.01, -(-more * 100 // 1) / 100), 2)
            if not lacks or now > _MOST_UTILIZATION:
                return
            cure, plan = self._try("gpu_memory_utilization", now)
            yield cure
            if cure.starts:
                return

    def _cards(self, plan):
        count = 2 * (plan.arguments.get("tensor_parallel_size") or 1)
        while count <= _MOST_CARDS:
            cure, _ = self._try("tensor_parallel_size", count)
            yield cure
            if cure.starts:
                return
            count *= 2

    def of(self, plan):
        try:
            return [
                *self._length(plan), *self._utilization(plan), *self._cards(plan),
            ]
        except Failed:
            return []


def _write_cures(out, cures):
    out("")
    for cure in cures:
        name = "--" + cure.name.replace("_", "-")
        said = "does not start"
        if cure.starts:
            said = f"starts, {cure.serving['kv_cache_tokens']:,} tokens in the KV cache"
        out(f"with {name} {cure.value} it {said}")
    if not any(cure.starts for cure in cures):
        out("none of the changes tried makes it start")


def write(out, told, said, card, cures, source):
    plan = told["plan"]
    of = f"on {card.name} ({verdict.size(card.total_bytes)})"
    if said == verdict.FITS:
        out(f"fits {of}: the engine is ready; no request was served (--steps all)")
    elif said == verdict.DOES_NOT_FIT:
        out(f"does not fit {of}: the engine does not start")
    else:
        out("no verdict: the engine did not start")
    if plan.error and said != verdict.FITS:
        out(plan.error)
    verdict.engine_line(out, told)
    if told["serving"] is not None:
        out("")
        plan.write(out)
        if source:
            out(f"  memory beyond PyTorch is from the table of cards: {source}")
    if cures is not None:
        _write_cures(out, cures)
