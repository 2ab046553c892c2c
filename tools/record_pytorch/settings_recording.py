#!/usr/bin/env python3
"""settings_recording.py RECORDERS STRINGS - how several releases read settings.

RECORDERS has a folder for each release, with the program `read_settings`
(make_recorder.sh); STRINGS a settings string a line.  Written to the standard
output: each string with `s ` before it and then, for the releases that read it
alike, `= VERSION...: ` and what they make of it (settings_recorder.cpp).
"""
import os
import subprocess
import sys


def version_key(version):
    return [int(part) for part in version.split(".")]


def main():
    folder, path = sys.argv[1], sys.argv[2]
    with open(path, encoding="ascii") as file:
        text = file.read()
    versions = sorted((v for v in os.listdir(folder)
                       if os.access(f"{folder}/{v}/read_settings", os.X_OK)),
                      key=version_key)
    outputs = [subprocess.run([f"{folder}/{v}/read_settings"], input=text,
                              stdout=subprocess.PIPE, text=True, check=True,
                              stderr=subprocess.DEVNULL).stdout.splitlines()
               for v in versions]
    for string, *read in zip(text.splitlines(), *outputs):
        groups = {}
        for version, said in zip(versions, read):
            groups.setdefault(said, []).append(version)
        print(f"s {string}")
        for said, alike in groups.items():
            print(f"= {' '.join(alike)}: {said}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main()
