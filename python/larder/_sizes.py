"""Numbers of bytes as text."""


def size(number):
    """With two digits, except of bytes: 1.50 GiB, 12 B."""
    for shift, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if number >= 1 << shift:
            return f"{number / (1 << shift):.2f} {unit}"
    return f"{number:.0f} B"
