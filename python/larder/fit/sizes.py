"""Parses sizes like the command line does, without the library."""

import re

_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}


def of_spec(spec):
    """The memory size in a spec such as "sim:24GiB,…".  Raises ValueError."""
    match = re.match(r"sim:(\d+)([kmgt]?)(?:i?b)?(?:,|$)", spec, re.IGNORECASE)
    if match is None:
        raise ValueError(
            f"device '{spec}': expected sim:SIZE, as sim:24GiB"
        )
    return int(match[1]) << _UNITS[match[2].lower()]
