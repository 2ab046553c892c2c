#!/usr/bin/env python3
"""recordings.py - records scripts with the recorders of several releases.

    recordings.py RECORDERS OUT SCRIPT...

RECORDERS has a folder for each release, named after it, with the program
`record` (make_recorder.sh).  A script begins with the lines `# conf:`,
`# capacity:`, `# fraction:` and `# events:`, and with others that give its
purpose.  Its recording is written to OUT/NAME.recording
(tests/golden/recording.h); in an existing one, the results of other releases
are kept.  A recording can be given in place of its script.  The result of a
release that rejects a setting as too small, or too large a number, is "refused".  A release that fails
an assertion of its own, or does not know a setting, has no result.
"""
import itertools
import os
import re
import subprocess
import sys
import tempfile

HEAD = {"conf": "", "capacity": "85899345920", "fraction": "1",
        "events": "manual"}


def version_key(version):
    return [int(part) for part in version.split(".")]


def read_script(path):
    """The head of a script as a dictionary, its comment lines and its
    operations."""
    head, why, lines = dict(HEAD), [], []
    with open(path, encoding="ascii") as file:
        for line in file.read().split("\n= ")[0].splitlines():
            said = re.match(r"(?:# )?(\w+): ?(.*)", line)
            if line == "script:":
                continue
            if said and said[1] in HEAD:
                head[said[1]] = said[2]
            elif line.startswith("#"):
                why.append(line)
            elif line:
                lines.append(line)
    return head, why, lines


def is_nothing(field):
    return set(field.partition("=")[2]) <= {"0", "/"}


def shortened(line, records_streams):
    """A line of statistics without values that are 0 or, where streams are
    recorded, depend on hash tables."""
    if not line.startswith("s "):
        return line
    fields = [f for f in line.split(" ")[2:] if not is_nothing(f)]
    if records_streams:
        fields = [f for f in fields if not f.startswith("inactive_split")]
    return " ".join(["s"] + fields)


def kind_of(line):
    for kind in ("d event_record ", "h 2 "):
        if line.startswith(kind):
            return kind
    return None


def settled(lines):
    """Lines in no order, that of a hash table, in order (recording.h)."""
    return [line for kind, run in itertools.groupby(lines, kind_of)
            for line in (sorted(run) if kind else run)]


def record(recorder, head, path):
    """The recording of a file of operations by the release's allocator."""
    done = subprocess.run(
        [recorder, "--script", head["conf"], head["fraction"],
         head["capacity"], head["events"], path, "script"],
        capture_output=True, text=True, timeout=120, check=False)
    if re.search(r" too small, must be |what\(\): +stoi", done.stderr):
        return "refused\n", done.stderr
    if done.returncode != 0 or "INTERNAL ASSERT" in done.stderr:
        return None, done.stderr
    with open(path, encoding="ascii") as file:
        uses = any(line.startswith("r ") for line in file)
    lines = [shortened(line, uses) for line in done.stdout.splitlines()
             if not line.startswith("#")]
    return "\n".join(settled(lines)) + "\n", done.stderr


def read_groups(path):
    """The existing recordings, by release."""
    outputs = {}
    if os.path.exists(path):
        with open(path, encoding="ascii") as file:
            for group in file.read().split("\n= ")[1:]:
                versions, _, lines = group.partition("\n")
                for version in versions.split():
                    outputs[version] = lines.rstrip("\n") + "\n"
    return outputs


def write_recording(path, script, outputs):
    head, why, lines = script
    groups = {}
    for version in sorted(outputs, key=version_key):
        groups.setdefault(outputs[version], []).append(version)
    with open(path, "w", encoding="ascii") as file:
        file.write("".join(line + "\n" for line in why))
        file.write("".join(f"{key}: {head[key]}\n" for key in HEAD))
        file.write("script:\n" + "\n".join(lines) + "\n")
        for output, versions in groups.items():
            file.write("= " + " ".join(versions) + "\n" + output)


def main():
    recorders, out, paths = sys.argv[1], sys.argv[2], sys.argv[3:]
    versions = sorted((v for v in os.listdir(recorders)
                       if os.access(f"{recorders}/{v}/record", os.X_OK)),
                      key=version_key)
    for path in paths:
        name = os.path.splitext(os.path.basename(path))[0]
        script = read_script(path)
        to = f"{out}/{name}.recording"
        outputs = read_groups(to)
        with tempfile.NamedTemporaryFile("w", suffix=".script") as plain:
            plain.write("\n".join(script[2]) + "\n")
            plain.flush()
            for version in versions:
                made, said = record(f"{recorders}/{version}/record",
                                    script[0], plain.name)
                if made is None:
                    print(f"{name} under {version}: {said.strip()[-300:]}",
                          file=sys.stderr)
                    outputs.pop(version, None)
                else:
                    outputs[version] = made
        if outputs:
            write_recording(to, script, outputs)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main()
