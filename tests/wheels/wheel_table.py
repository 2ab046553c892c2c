#!/usr/bin/env python3
"""wheel_table.py FILE - what check_wheel.py found, a line of JSON a version, as a
table of Markdown."""

import json
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        found = [json.loads(line) for line in file]
    versions = [f.pop("version") for f in found]
    print("| what | " + " | ".join("PyTorch " + v for v in versions) + " |")
    print("|---|" + "---|" * len(versions))
    for name in found[0]:
        cells = [f.get(name, "-") for f in found]
        if len(set(cells)) == 1 and len(cells) > 1:
            cells[1:] = ["the same"] * (len(cells) - 1)
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
