"""mutant_cover.py - which tests run which lines, for tools/mutants.py.

A test that does not run a line cannot detect a bug in it.  So only tests that run
the line are run on a mutant, and a mutant in a line that no test runs survives.

gcc counts the lines: the sources are compiled once more with --coverage, and each
test runs once on that.  Counts of a process that is killed are lost; those of a
process that ends by _exit() are kept (EXIT_SOURCE).

A function in a header is compiled into each source that calls it, so for lines of
headers the objects that ran them are recorded.
"""

import bisect
import glob
import gzip
import json
import os
import subprocess

FLAGS = ["--coverage", "-fprofile-update=atomic", "-O0"]

# Children of tests end by _exit(), which writes no counts.
EXIT_SOURCE = r"""
#include <sys/syscall.h>
#include <unistd.h>
void __gcov_dump(void);
__attribute__((visibility("default"), noreturn)) void _exit(int status)
{
    __gcov_dump();
    for (;;)
        syscall(SYS_exit_group, status);
}
"""


def counted_files(folder):
    """The object, file and line of each count that gcov reports below the
    folder."""
    counts = sorted(glob.glob(os.path.join(folder, "**", "*.gcda"),
                              recursive=True))
    if not counts:
        return
    text = subprocess.run(["gcov", "--json-format", "--stdout"] + counts,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          cwd=folder, check=False).stdout
    if text[:2] == b"\x1f\x8b":
        text = gzip.decompress(text)
    for line in text.decode().splitlines():
        if not line.startswith("{"):
            continue
        entry = json.loads(line)
        name = os.path.splitext(os.path.basename(entry["data_file"]))[0]
        for f in entry["files"]:
            yield name, f["file"], f["lines"]


class Coverage:
    def __init__(self, root, folder):
        self.root, self.folder = root, folder
        self.lines = {}    # path -> line -> names of tests
        self.objects = {}  # path -> line -> names of objects
        self.sorted = {}

    def forget_counts(self):
        for path in glob.glob(os.path.join(self.folder, "*.gcda")):
            os.remove(path)

    def counted(self):
        """The lines that were just run: path -> line -> the objects that ran it;
        none for a line that was not."""
        found = {}
        for name, path, lines in counted_files(self.folder):
            path = os.path.relpath(os.path.join(self.root, path), self.root)
            if path.startswith(".."):
                continue
            of_file = found.setdefault(path, {})
            for entry in lines:
                ran = of_file.setdefault(str(entry["line_number"]), [])
                if entry["count"] > 0 and name not in ran:
                    ran.append(name)
        self.forget_counts()
        return found

    def learn(self, test, counted):
        """Add the lines that a test has run."""
        for path, lines in counted.items():
            of_file = self.lines.setdefault(path, {})
            objects = self.objects.setdefault(path, {})
            for number, ran in lines.items():
                tests = of_file.setdefault(int(number), set())
                if ran:
                    tests.add(test)
                    objects.setdefault(int(number), set()).update(ran)

    def line_of(self, path, line):
        """The counted line of a line: the first line of its statement."""
        if path not in self.sorted:
            self.sorted[path] = sorted(self.lines.get(path, {}))
        numbers = self.sorted[path]
        at = bisect.bisect_right(numbers, line)
        return numbers[at - 1] if at > 0 else None

    def tests_of(self, path, line):
        return self.lines.get(path, {}).get(self.line_of(path, line), set())

    def objects_of(self, path, line):
        return self.objects.get(path, {}).get(self.line_of(path, line), set())
