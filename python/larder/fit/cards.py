"""The table of cards: data/cards/cards.tsv."""

import collections
import os

Card = collections.namedtuple(
    "Card", "id name total_bytes context_bytes capability multiprocessors source"
)

_MIB = 1 << 20
_COLUMNS = 7


class CardError(ValueError):
    """The table cannot be read, or lacks a card."""


def _places():
    """In the package, where pip puts it; in the tree; below a prefix."""
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


def _card(path, number, line):
    fields = line.rstrip("\n").split("\t")
    if len(fields) != _COLUMNS:
        raise CardError(
            f"{path}:{number}: {len(fields)} columns; expected {_COLUMNS}, "
            "with tabs between them"
        )
    try:
        major, _, minor = fields[4].partition(".")
        return Card(
            fields[0],
            fields[1],
            int(fields[2]) * _MIB,
            int(fields[3]) * _MIB,
            (int(major), int(minor)),
            int(fields[5]),
            fields[6],
        )
    except ValueError:
        raise CardError(
            f"{path}:{number}: expected numbers for memory, context, "
            "capability and multiprocessors"
        ) from None


def read(path=None):
    """All cards, in the table's order; CardError."""
    path = path or default_table()
    try:
        with open(path, encoding="utf-8") as file:
            lines = list(enumerate(file, 1))
    except OSError as error:
        raise CardError(f"{path}: {error.strerror}") from None
    return [
        _card(path, number, line)
        for number, line in lines
        if line.strip() and not line.startswith("#")
    ]


def find(cards, name):
    for card in cards:
        if card.id == name.lower().replace(" ", "").replace("_", "-"):
            return card
    known = ", ".join(card.id for card in cards)
    raise CardError(f"gpu '{name}': not in the table; expected one of {known}")
