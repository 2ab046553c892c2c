#!/usr/bin/env python3
"""coverage.py BUILD [FOLDER...] - the fraction of lines that the tests have run.

BUILD was compiled with --coverage, and tests ran in it (make coverage).  Prints
the number of counted lines and the fraction that ran for each folder below FOLDER
(src/), and the files with the lowest fraction.  Counts of a process that was
killed or ended by _exit() are lost.
"""

import os
import sys

import mutant_cover

LEAST = 12  # files listed


def lines_run(build, root, folders):
    """Maps path and line to whether any test ran the line."""
    lines = {}
    for _, path, entries in mutant_cover.counted_files(build):
        path = os.path.relpath(os.path.join(root, path), root)
        if not path.startswith(tuple(folders)):
            continue
        of_file = lines.setdefault(path, {})
        for entry in entries:
            number = entry["line_number"]
            of_file[number] = of_file.get(number, False) or entry["count"] > 0
    return lines


def row(name, counted, ran):
    return "%-44s %8d %6.1f%%" % (name, counted, 100.0 * ran / max(counted, 1))


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: coverage.py BUILD [FOLDER...]")
    build = os.path.abspath(sys.argv[1])
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    lines = lines_run(build, root, sys.argv[2:] or ["src/"])
    if not lines:
        sys.exit("coverage: %s has no counts: make coverage makes them" % build)
    files = {p: (len(of), sum(of.values())) for p, of in lines.items()}
    folders = {}
    for path, (counted, ran) in files.items():
        sums = folders.setdefault(os.path.dirname(path), [0, 0])
        sums[0] += counted
        sums[1] += ran
    print("%-44s %8s %7s" % ("folder", "lines", "run"))
    for folder in sorted(folders):
        print(row(folder, *folders[folder]))
    print(row("all", *map(sum, zip(*files.values()))))
    print("\nrun least:")
    for path in sorted(files, key=lambda p: files[p][1] / files[p][0])[:LEAST]:
        print(row(path, *files[path]))


if __name__ == "__main__":
    main()
