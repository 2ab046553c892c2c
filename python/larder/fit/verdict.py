"""The report of a run, in words."""

import os

WIDTH = 11
_ROWS = 8
# Kernels of PyTorch's libraries, which are loaded on demand, and other memory
# that is not counted.
MARGIN_BYTES = 256 << 20


def size(number):
    for unit, name in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if number >= unit:
            return f"{number / unit:.2f} {name}"
    return f"{number} B"


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
    """The card's memory: the allocator's part, the context, NCCL's part and
    the margin."""
    return need + card.context_bytes + card.nccl_bytes + margin_bytes(card)


def fits(need, card):
    return whole_bytes(need, card) <= card.total_bytes


def _ended(told):
    steps = told["steps"]
    count = f"{steps} step{'' if steps == 1 else 's'}"
    if told["how"] == "steady" and not told["repeats"]:
        return f"stopped after {count}, as --steps says"
    if told["how"] == "steady":
        return f"stopped after {count}: the last two asked for the same"
    if told["how"] == "interrupted":
        return f"interrupted after {count}"
    if told["how"] == "failed":
        return f"the program failed after {count}"
    if told["how"] == "out of memory":
        return f"memory ran out after {count}"
    return f"ran to its end, {count}"


def _verdict(out, needs, card):
    need = needs[0][1]
    whole = whole_bytes(need, card)
    spare = card.total_bytes - whole
    if spare >= 0:
        out(f"fits on {card.name} ({size(card.total_bytes)}): {size(spare)} to spare")
    else:
        out(f"does not fit on {card.name} ({size(card.total_bytes)}): {size(-spare)} short")
    out("")
    out(f"  {size(need):>{WIDTH}}  memory that PyTorch needs to have")
    if card.context_bytes:
        out(f"  {size(card.context_bytes):>{WIDTH}}  the driver's context (the table of cards)")
    if card.nccl_bytes:
        out(f"  {size(card.nccl_bytes):>{WIDTH}}  NCCL's groups (the table of cards)")
    if margin_bytes(card):
        out(f"  {size(MARGIN_BYTES):>{WIDTH}}  libraries' kernels (assumed)")
        out(f"  {size(whole):>{WIDTH}}  together")
    for conf, other in needs[1:]:
        if other < need:
            out(f"  {size(need - other):>{WIDTH}}  less with {conf}")


def _peak(out, told):
    out("")
    if told["world_size"] > 1:
        out(f"of rank 0 of {told['world_size']}")
    out(f"peak of what is asked for: {size(told['peak_requested_bytes'])}")
    for kind, number in told["kinds"]:
        if number > 0:
            out(f"  {size(number):>{WIDTH}}  {kind}")
    peak = told["peak"]
    if peak is not None:
        where = _place(peak["place"]) or peak["module"] or "PyTorch"
        inside = f" in {peak['module']}" if peak["module"] and peak["place"] else ""
        out(
            f"set by {size(peak['bytes'])} for {peak['operator']} ({peak['phase']})"
            f"{inside}, {where}, step {peak['step']}"
        )


def _tables(out, told):
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
    out("it would fit on: " + (", ".join(card.id for card in good) or "no card of the table"))
    if bad:
        out("and not on: " + ", ".join(card.id for card in bad))


def write(out, told, needs, card, cards):
    """`needs`: pairs of settings and bytes, the run's own first."""
    _verdict(out, needs, card)
    _peak(out, told)
    _tables(out, told)
    _table_of_cards(out, needs[0][1], cards)
    out("")
    out(f"{_ended(told)}; {told['requests']} requests in {told['seconds']:.1f} s")
    if told["made_up"]:
        out(f"values made up at {len(told['made_up'])} places (--on-item)")
