"""The report of a run, as text."""

import os

from larder._sizes import size
from larder.fit import wordings

WIDTH = 11
_ROWS = 8
# An allowance for kernels of PyTorch's libraries, which are loaded on demand, and
# for other memory that is not counted.
MARGIN_BYTES = 256 << 20


def _place(place):
    path, _, line = place.rpartition(":")
    if not path:
        return ""
    short = os.path.relpath(path)
    return f"{path if short.startswith('..') else short}:{line}"


def margin_bytes(card):
    """The safety margin.  None for a GPU given by its size, whose memory is
    all available to the allocator."""
    return MARGIN_BYTES if card.id else 0


def whole_bytes(need, card):
    """The memory that the card must have: the allocator's, the context's, NCCL's
    and the margin."""
    return need + card.context_bytes + card.nccl_bytes + margin_bytes(card)


def fits(need, card):
    return whole_bytes(need, card) <= card.total_bytes


FITS, DOES_NOT_FIT, NO_VERDICT = "fits", "does not fit", "no verdict"

# Ends of a run that give no evidence of what the program needs.
_BROKEN = ("failed", "interrupted")

_ENGINES = {
    "fake": "fake tensors",
    "stand-in": "the program's own PyTorch, on a simulated driver",
}


def judge(told, need, card):
    """The verdict.  A request that does not fit is evidence even if the program
    failed after it."""
    if told["ran_out"] or not fits(need, card):
        return DOES_NOT_FIT
    if told["how"] in _BROKEN or not told["requests"]:
        return NO_VERDICT
    return FITS


def scope(told):
    """How far the program was run."""
    return {
        "steps": told["steps"],
        "ended": told["how"] == "ended",
        "grows_bytes_per_step": told["grows_bytes_per_step"],
    }


def _count(steps):
    return f"{steps} step{'' if steps == 1 else 's'}"


def extent(told):
    """The scope, as text."""
    steps = told["steps"]
    if told["how"] == "ended":
        return "to its end" + (f", {_count(steps)}" if steps else "")
    first = "the first step" if steps == 1 else f"the first {_count(steps)}"
    return f"{first}; what follows was not run (--steps all)"


def _broken(told):
    """Why there is no verdict."""
    if told["how"] in _BROKEN:
        return f"no verdict: {told['how']} after {_count(told['steps'])}"
    return "no verdict: the program used no GPU"


def full_at_step(told, need, card):
    """The step at which the card is full, if each step keeps needing more."""
    room = max(0, card.total_bytes - whole_bytes(need, card))
    return told["steps"] + room // told["grows_bytes_per_step"] + 1


# No program runs for more steps than this.
_STEPS_THAT_MATTER = 1_000_000


def _growth(out, told, need, card):
    grows = told["grows_bytes_per_step"]
    if not grows or full_at_step(told, need, card) > _STEPS_THAT_MATTER:
        return
    line = f"each step needs {size(grows)} more than the one before"
    if fits(need, card):
        line += f": the card is full at step {full_at_step(told, need, card)}"
    out(line)


def _first_line(out, told, need, card):
    said = judge(told, need, card)
    spare = card.total_bytes - whole_bytes(need, card)
    of = f"on {card.name} ({size(card.total_bytes)})"
    if said == NO_VERDICT:
        out(_broken(told))
    elif said == FITS:
        out(f"fits {of}: {size(spare)} to spare, {extent(told)}")
    elif spare < 0:
        least = "at least " if told["how"] in _BROKEN else ""
        out(f"does not fit {of}: {least}{size(-spare)} short, {_stopped(told)}")
    else:
        out(f"does not fit {of}: memory ran out, {_stopped(told)}")


def _stopped(told):
    if told["how"] in (*_BROKEN, "out of memory"):
        return f"{told['how']} after {_count(told['steps'])}"
    return extent(told)


def _verdict(out, told, needs, card):
    need = needs[0][1]
    _first_line(out, told, need, card)
    if told.get("unsupported"):
        out(told["unsupported"])
    if told["how"] == "failed" and told.get("error"):
        out(f"it ended with {told['error']}")
    _growth(out, told, need, card)
    _assumed(out, told)
    engine_line(out, told)
    if told["requests"]:
        _sum(out, needs, card)


def bound(told):
    """How the real need compares with the reported one, since unknown values were
    assumed: "at most", "at least", or "about" if both; None if no assumption
    affects it."""
    bounds = {one for _, _, one in told["assumed"] if one}
    return "about" if len(bounds) > 1 else next(iter(bounds), None)


def _assumed(out, told):
    for what, place, one in told["assumed"]:
        needs = f"{one} this is needed, assuming that" if one else "assumed:"
        where = _place(place) or "in PyTorch"
        out(f"{needs} {wordings.TEXTS[what]} ({where})")


def engine_line(out, told):
    out(f"engine {told['engine']}: {_ENGINES[told['engine']]}")


def _sum(out, needs, card):
    need = needs[0][1]
    out("")
    out(f"  {size(need):>{WIDTH}}  PyTorch's memory")
    if card.context_bytes:
        out(f"  {size(card.context_bytes):>{WIDTH}}  driver context (table of cards)")
    if card.nccl_bytes:
        out(f"  {size(card.nccl_bytes):>{WIDTH}}  NCCL communicators (table of cards)")
    if margin_bytes(card):
        out(f"  {size(MARGIN_BYTES):>{WIDTH}}  kernels of the libraries (assumed)")
        out(f"  {size(whole_bytes(need, card)):>{WIDTH}}  total")
    for conf, other in needs[1:]:
        if other < need:
            out(f"  {size(need - other):>{WIDTH}}  less with {conf}")


def _peak(out, told):
    out("")
    if told["world_size"] > 1:
        out(f"rank 0 of {told['world_size']}")
    out(f"peak of requested memory: {size(told['peak_requested_bytes'])}")
    for kind, number in told["kinds"]:
        if number > 0:
            out(f"  {size(number):>{WIDTH}}  {kind}")
    peak = told["peak"]
    if peak is not None:
        where = _place(peak["place"]) or peak["module"] or "PyTorch"
        operator = f" for {peak['operator']}" if peak["operator"] else ""
        inside = f" in {peak['module']}" if peak["module"] and peak["place"] else ""
        out(
            f"reached with {size(peak['bytes'])}{operator} ({peak['phase']})"
            f"{inside}, {where}, step {peak['step']}"
        )


def _tables(out, told):
    if not told["lines"]:
        return
    out("")
    out("at the peak, by line")
    for place, number in told["lines"][:_ROWS]:
        out(f"  {size(number):>{WIDTH}}  {_place(place) or '(in backward)'}")
    out("at the peak, by module")
    for module, kinds in told["modules"][:_ROWS]:
        parts = ", ".join(
            f"{kind} {size(number)}"
            for kind, number in sorted(kinds.items(), key=lambda item: -item[1])
            if number
        )
        out(f"  {size(sum(kinds.values())):>{WIDTH}}  {module}: {parts}")
    if told["by_step"]:
        steps = ", ".join(f"{name[5:]}: {size(number)}" for name, number in told["by_step"][:_ROWS])
        out(f"peak by step  {steps}")


def _table_of_cards(out, need, cards):
    out("")
    good = [card for card in cards if fits(need, card)]
    bad = [card for card in cards if not fits(need, card)]
    out("would fit on: " + (", ".join(card.id for card in good) or "no card in the table"))
    if bad:
        out("would not fit on: " + ", ".join(card.id for card in bad))


def _made_up(out, told):
    count = len(told["made_up"])
    places = f"{count} place{'' if count == 1 else 's'}"
    if told["engine"] == "fake":
        out(f"values made up at {places} (--on-item)")
        return
    first = _place(told["made_up"][0][0])
    out(f"values read from the GPU at {places}, first at {first}: kernels did not")
    out("compute them, and whatever depends on them may differ on a real GPU")


def write(out, told, needs, card, cards):
    """`needs`: pairs (settings, bytes), those of the run itself first."""
    need = needs[0][1]
    _verdict(out, told, needs, card)
    if told["requests"]:
        _peak(out, told)
        _tables(out, told)
    if judge(told, need, card) != NO_VERDICT:
        _table_of_cards(out, need, cards)
    out("")
    out(f"{told['requests']} requests in {told['seconds']:.1f} s")
    if told["how"] == "steady" and told["repeats"]:
        out("the last two steps made the same requests")
    if told["made_up"]:
        _made_up(out, told)
