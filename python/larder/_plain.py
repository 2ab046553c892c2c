"""_plain.py - makes text safe for a terminal, as the command does
(plain_text.h)."""

_BLANKS = dict.fromkeys(range(9, 14), " ")
_REPLACED = {
    **dict.fromkeys(
        [
            *range(0x20),
            *range(0x7F, 0xA0),
            0x61C,
            0x200E,
            0x200F,
            *range(0x2028, 0x202F),
            *range(0x2066, 0x206A),
        ],
        "?",
    ),
    **_BLANKS,
}


def plain(text):
    """The text without control characters, and without those that change the
    direction of the text after them."""
    return str(text).translate(_REPLACED)
