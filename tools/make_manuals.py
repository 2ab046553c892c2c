#!/usr/bin/env python3
"""make_manuals.py LARDER [--check] - the options in the manual pages.

The commands' tables of options (cli/option.h) make --help, the completion of
shells, and, by this, the list of options in each page of section 1: an option's
line and the sentence that --help has of it.  What a page says beyond that
follows a line `.\\" more`, is written by hand, and stays:

    .It Fl -jobs Ar n
    Replays at once (as many as there are cores).
    .\\" more
    Replays side by side disturb each other's times.

Run it after a table has changed (`make manuals`).  With --check it writes
nothing and names the pages that are not as the tables have them: exit status 1.
Exit status 2: a page that it cannot read.
"""

import re
import subprocess
import sys
import textwrap

WIDTH = 79
MORE = '.\\" more'


def fail(words):
    sys.stderr.write("make_manuals: %s\n" % words)
    sys.exit(2)


class Option:
    def __init__(self, name, argument, text):
        self.name, self.argument, self.text = name, argument, text

    def heading(self):
        """The heading of an option: `.It Fl -jobs Ar n` for --jobs N. Words to
        choose from are literal."""
        words = [".It Fl", self.name[1:]]
        if "|" in self.argument and self.argument[0].islower():
            words += ["Cm", self.argument.replace("|", " | ")]
        elif self.argument.startswith("[="):
            words += ["Ns", "Op", "Li", "=", "Ns", "Ar",
                      self.argument[2:-1].lower()]
        elif self.argument:
            words += ["Ar", self.argument.lower().replace("|", " | ")]
        return " ".join(words)

    def sentence(self):
        """The help text as a sentence, broken into lines."""
        text = self.text[0].upper() + self.text[1:] + "."
        lines = textwrap.wrap(text, WIDTH, break_on_hyphens=False)
        lines = [line.replace("\\", "\\e").replace("--", "\\-\\-")
                 for line in lines]
        return ["\\&" + line if line[0] in ".'" else line for line in lines]


def read_tables(larder):
    """The options of each command, including those of its subcommands."""
    table = subprocess.run([larder, "completion", "table"],
                           stdout=subprocess.PIPE, check=True).stdout.decode()
    commands = {}
    for row in table.splitlines():
        command, name, argument, text = row.split("\t")
        options = commands.setdefault(command.split()[0], {})
        options.setdefault(name, Option(name, argument, text))
    return commands


def handwritten(items):
    """The handwritten lines of each item, after the mark, by option name."""
    kept = {}
    name = None
    for line in items:
        if line.startswith(".It "):
            name = "-" + line.split()[2]
            seen = False
        elif line == MORE:
            seen = True
        elif seen:
            kept.setdefault(name, []).append(line)
    return kept


def list_of(page, lines):
    """The range of lines of the list of options."""
    first = next((i for i, line in enumerate(lines)
                  if line.startswith(".It Fl ")), None)
    if first is None:
        fail("%s: there is no list of options: expected '.It Fl'" % page)
    depth = 0
    for i in range(first, len(lines)):
        depth += lines[i].startswith(".Bl") - lines[i].startswith(".El")
        if depth < 0:
            return first, i
    fail("%s:%d: the list of options has no end" % (page, first + 1))


def make(page, text, options):
    lines = text.split("\n")
    begin, end = list_of(page, lines)
    kept = handwritten(lines[begin:end])
    gone = sorted(set(kept) - set(options))
    if gone:
        sys.stderr.write("%s: text on %s, which is no option, is dropped\n" %
                         (page, ", ".join(gone)))
    items = []
    for name, option in options.items():
        items += [option.heading()] + option.sentence()
        if name in kept:
            items += [MORE] + kept[name]
    return "\n".join(lines[:begin] + items + lines[end:])


def check_synopsis(page, text, options):
    """Check that the handwritten synopsis names all options and no others.  Of
    two names of one option, either does."""
    synopsis = text.split(".Sh SYNOPSIS\n")[1].split(".Sh DESCRIPTION")[0]
    named = {"-" + name for name in re.findall(r"\bFl (?!Fl)(-?\w[-\w]*)", synopsis)}
    unknown = sorted(named - set(options))
    if unknown:
        fail("%s: the synopsis has %s, which is no option" %
             (page, ", ".join(unknown)))
    named |= {option.text.split()[-1] for name, option in options.items()
              if name in named and option.text.startswith("the same as --")}
    missing = sorted(set(options) - named - {"--help"})
    if missing:
        fail("%s: the synopsis lacks %s" % (page, ", ".join(missing)))


def main():
    if len(sys.argv) < 2 or sys.argv[2:] not in ([], ["--check"]):
        fail("expected the command larder, and --check or nothing")
    differ = []
    for command, options in read_tables(sys.argv[1]).items():
        page = "man/larder-%s.1" % command
        with open(page, encoding="utf-8") as f:
            text = f.read()
        made = make(page, text, options)
        check_synopsis(page, text, options)
        if made == text:
            continue
        differ.append(page)
        if "--check" not in sys.argv:
            with open(page, "w", encoding="utf-8") as f:
                f.write(made)
    for page in differ:
        print(page)
    return 1 if differ and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
