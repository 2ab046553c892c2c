"""Numbers on a command line."""

import argparse


def count(text, expected):
    """A number from 1; `expected` says so in the error."""
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"'{text}': expected {expected}")
    return number
