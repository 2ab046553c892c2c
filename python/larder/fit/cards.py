"""The table of cards: data/cards/cards.tsv."""

import collections
import difflib
import os
import re

# `nccl_bytes`: memory of process groups, in a run that has some; `other_ids`: more
# names of the card.
Card = collections.namedtuple(
    "Card",
    "id name total_bytes context_bytes capability multiprocessors source nccl_bytes "
    "other_ids",
    defaults=(0, ()),
)

_MIB = 1 << 20
_COLUMNS = 7
_NCCL, _SERVING = "nccl", "serving"


class CardError(ValueError):
    """The table cannot be read, or does not contain a card."""


def _places():
    """Candidate paths of the table: in the package (pip), in the source tree,
    below an install prefix."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    inside = os.path.join("cards", "cards.tsv")
    yield os.path.join(package, "_prefix", "share", "larder", inside)
    above = os.path.dirname(os.path.dirname(package))
    yield os.path.join(above, "data", inside)
    yield os.path.join(above, inside)


def default_table():
    for path in _places():
        if os.path.exists(path):
            return path
    raise CardError("the table of cards is not beside the package; --cards FILE")


def _rows(path):
    """The place of each row, for messages, and its fields."""
    path = path or default_table()
    try:
        with open(path, encoding="utf-8") as file:
            lines = list(enumerate(file, 1))
    except OSError as error:
        raise CardError(f"{path}: {error.strerror}") from None
    return [
        (f"{path}:{number}", line.rstrip("\n").split("\t"))
        for number, line in lines
        if line.strip() and not line.startswith("#")
    ]


def _card(place, fields):
    if len(fields) != _COLUMNS:
        raise CardError(
            f"{place}: {len(fields)} columns; expected {_COLUMNS}, with tabs "
            "between them"
        )
    try:
        major, _, minor = fields[4].partition(".")
        first, *others = fields[0].split(",")
        return Card(
            first,
            fields[1],
            int(fields[2]) * _MIB,
            int(fields[3]) * _MIB,
            (int(major), int(minor)),
            int(fields[5]),
            fields[6],
            other_ids=tuple(others),
        )
    except ValueError:
        raise CardError(
            f"{place}: expected numbers for memory, context, "
            "capability and multiprocessors"
        ) from None


def _group(place, fields):
    """(the smallest number of processes, bytes, the source)"""
    try:
        _, fewest, size, source = fields
        return int(fewest), int(size) * _MIB, source
    except ValueError:
        raise CardError(
            f"{place}: expected {fields[0]}, a number of processes, MiB "
            "and a source, with tabs between them"
        ) from None


def read(path=None):
    """All cards, in the table's order.  Raises CardError."""
    kinds = (_NCCL, _SERVING)
    return [_card(*row) for row in _rows(path) if row[1][0] not in kinds]


def _groups(path, kind):
    return sorted(_group(*row) for row in _rows(path) if row[1][0] == kind)


def serving_bytes(path=None):
    """Pairs: the smallest number of cards, and the bytes that a serving engine's
    libraries take on each.  Raises CardError."""
    return [group[:2] for group in _groups(path, _SERVING)]


def serving_source(count, path=None):
    """The source of that number for this many cards."""
    known = [group for group in _groups(path, _SERVING) if group[0] <= count]
    return known[-1][2] if known else ""


def groups_bytes(sizes, path=None):
    """The memory that NCCL uses for groups of the given number of processes.
    Raises CardError."""
    known = _groups(path, _NCCL)
    return sum(
        max([0] + [taken for fewest, taken, _ in known if fewest <= size])
        for size in sizes
    )


def with_groups(card, taken):
    """The card with this much memory used by NCCL. For a GPU given by its
    size, all memory is available to the allocator."""
    return card._replace(nccl_bytes=taken) if card.id else card


def _key(name):
    """A name in canonical form, as in the library (src/device/sim_card.c)."""
    key = re.sub(r"[ _-]", "", name.lower())
    key = re.sub(r"^(nvidia)?(tesla)?(geforce)?(rtx)?", "", key)
    return re.sub(r"(?<=\d)gb$", "", key)


def _nearest(cards, name):
    """" did you mean …?", or nothing."""
    keys = {_key(card.id): card.id for card in cards}
    begun = [keys[key] for key in keys if key.startswith(_key(name))]
    near = begun or [keys[k] for k in difflib.get_close_matches(_key(name), keys, 1)]
    return f" did you mean {near[0]}?" if near else ""


def _named(cards, name):
    for card in cards:
        if _key(name) in [_key(one) for one in (card.id, *card.other_ids)]:
            return card
    return None


def named(cards, spec):
    """The card that a device's spec names, or None."""
    kind, _, rest = spec.partition(":")
    return _named(cards, rest.partition(",")[0]) if kind == "sim" else None


def find(cards, name):
    card = _named(cards, name)
    if card is not None:
        return card
    known = ", ".join(card.id for card in cards)
    raise CardError(
        f"gpu '{name}': not in the table;{_nearest(cards, name)} expected one of {known}"
    )
