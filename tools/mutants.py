#!/usr/bin/env python3
"""mutants.py BUILD [options] - plants small bugs and lists those that survive.

A test suite is as good as the bugs it detects.  This creates many copies of the
sources, each with one small bug (a mutant: < for <=, a call removed, a condition
negated), and runs the tests on each until one fails.  Mutants that pass every
test are listed: each is in a line whose effect is not tested.

So that a mutant takes only seconds:
  - everything below src/ is compiled once, with BUILD's own commands, and linked
    into one shared library; the tests of BUILD are linked with that;
  - for a mutant only one source, or the sources that run a header's line, are
    compiled again, and the library is linked again;
  - only the tests that run the line are tried (tools/mutant_cover.py), those most
    likely to fail first: tests that caught mutants of the same file, then short
    ones.  The first failure ends the trial, and so does a test that takes much
    longer than when its lines were counted;
  - which test runs which line of --sources is counted once for each state of the
    sources and of the test, and kept in the folder that it works in;
  - a test is run on the unchanged sources only when it fails for the first time:
    one that fails there too is not tried again.

What a forgotten assignment leaves in a variable is rubbish, so that its use is
noticed, where the compiler can do so.  With --sanitized those that survive are
tried once more under the address and undefined-behaviour sanitizers, as `make
check-asan` runs the tests: one that reads beyond an array is noticed there.

The sample is drawn from all places with a seed: the same seed and sources give
the same mutants.  Equivalent mutants do not count: bounds where both sides are
equal (harmless_places()), mutants that compile to the same program, and those
listed in tools/mutants.equal with the reason.

Exit status: 0 when at most --allow percent survive, 1 when more do, 2 when it
could not be run.
"""

import argparse
import glob
import hashlib
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

import mutant_cover

SOURCES = ("src/core/", "src/report/", "src/replay/", "src/trace/")
LABELS = {"unit", "golden", "model", "fault", "snapshot", "report", "fuzz",
          "cli"}
LIBRARIES = ("liblarder.a", "liblarder_tools.a")
OURS = ("larder_objects", "larder_tools")
# Variables that are not assigned to hold rubbish.
RUBBISH = "-ftrivial-auto-var-init=pattern"
SANITIZERS = "-fsanitize=address,undefined"

# What is no place for a bug: comments, texts, lines of the preprocessor, and
# assertions, which are checks themselves.
NO_PLACE = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'"
    r"|^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*", re.S | re.M)
ASSERTION = re.compile(r"\b(?:larder__assert\w*|assert|static_assert)\s*\(")

# The sources are laid out by clang-format: a binary operator has a blank on
# either side, a statement a line of its own.
OPERATORS = [
    ("bound", r" (<=|>=|<|>) ", {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}),
    ("equal", r" (==|!=) ", {"==": "!=", "!=": "=="}),
    ("logic", r" (&&|\|\|)(?=\s)", {"&&": "||", "||": "&&"}),
    ("sum", r" (\+|-) ", {"+": "-", "-": "+"}),
    ("step", r"(\+\+|--)", {"++": "--", "--": "++"}),
    ("add", r" (\+=|-=) ", {"+=": "-=", "-=": "+="}),
    ("bool", r"\b(true|false)\b", {"true": "false", "false": "true"}),
    ("not", r"(?<=[ (])(!)(?=[\w(])", {"!": ""}),
    ("number", r"(?<=[ (\[])(0|1|2)(?=[;,)\] ])", {"0": "1", "1": "2",
                                                   "2": "1"}),
]
# Where two sides are equal, these do the same on either side of the bound: the
# larger or the smaller of two is taken, by a choice or by an assignment, or
# what one is above the other.
SIDE = r"\(?[\w.>\[\]*&-]+(?: [*/] \w+)?\)?"
# Room for more than is needed.
HARMLESS_COUNT = re.compile(r"\bcalloc\((?:[^;,]* \+ )?1(?=,)")
HARMLESS_ROOM = re.compile(r"\b(?:malloc|realloc)\([^;]* \+ 1(?=\) \* sizeof)"
                           r"|\bcalloc\([^;]*, 1(?=\))"
                           r"|\bsnap_reserve\([^;]* \+ 1(?=,)")
# What sorting does with equal ones is open, and how far two are apart.
HARMLESS_ORDER = re.compile(
    r"return \((?P<a>%s) (?P<one>[<>]) (?P<b>%s)\) -\s+"
    r"\((?P=a) (?P<other>[<>]) (?P=b)\);" % (SIDE, SIDE))
HARMLESS_SIGN = re.compile(r" \? (?:1(?= : -1;)|-1 : 1(?=;))")
# Room that grows as well, by less at a time.
HARMLESS_GROWTH = re.compile(r"capacity \* 2(?= \+ \w)")
HARMLESS_BOUNDS = [re.compile(p, re.S) for p in (
    r"(?P<a>%s) [<>]=? (?P<b>%s)\s+\? (?:(?P=a)\s+: (?P=b)|(?P=b)\s+: (?P=a))"
    r"(?=[;,)\s])" % (SIDE, SIDE),
    r"(?P<a>%s) >=? (?P<b>%s)\s+\? (?P=a) - (?P=b)\s+: 0(?=[;,)\s])"
    % (SIDE, SIDE),
    r"(?P<a>%s) <=? (?P<b>%s)\s+\? (?P=b) - (?P=a)\s+: 0(?=[;,)\s])"
    % (SIDE, SIDE),
    r"(?P<a>%s) [<>]=? (?P<b>%s)\)\n +(?:(?P=a) = (?P=b)|(?P=b) = (?P=a));"
    % (SIDE, SIDE))]
STATEMENT = re.compile(
    r"^ {4,}((?!return\b|goto\b|break\b|else\b|case\b|default\b|struct\b"
    r"|const\b|static\b|enum\b)[\w(*][^;{}\n]*;)$", re.M)
DECLARATION = re.compile(r"^[a-z_]\w*(?: \*?| \*+)[a-z_]\w*(?:\[[^]]*\])*"
                         r"(?: =|;|,)")


def blank(text):
    """The text, with everything blanked that must not be changed."""
    def cover(match):
        return re.sub(r"[^\n]", " ", match.group())

    text = NO_PLACE.sub(cover, text)
    for match in list(ASSERTION.finditer(text)):
        depth = 0
        for end in range(match.end() - 1, len(text)):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            if depth == 0:
                break
        text = (text[:match.start()] +
                re.sub(r"[^\n]", " ", text[match.start():end + 1]) +
                text[end + 1:])
    return text


def bodies(text):
    """The ranges of function bodies: from an opening brace in the first column
    to its closing brace."""
    return [(m.start(), m.end())
            for m in re.finditer(r"^\{\n.*?^\}", text, re.S | re.M)]


def is_whole(code, match):
    """Whether the line is a statement, not a declaration or a continuation."""
    text = match.group(1)
    before = code[:match.start()].rstrip()
    return (not DECLARATION.match(text) and text[0] != "(" and
            text.count("(") == text.count(")") and
            (before[-1] in ";{})" or before.endswith("else")))


def harmless_places(code):
    """Places where a change has no effect: bounds that may include the equal
    case or not, and counts that may be larger."""
    places = {m.end() - 1
              for pattern in (HARMLESS_COUNT, HARMLESS_ROOM, HARMLESS_GROWTH,
                              HARMLESS_SIGN)
              for m in pattern.finditer(code)}
    places |= {m.start(which) for m in HARMLESS_ORDER.finditer(code)
               for which in ("one", "other")}
    for pattern in HARMLESS_BOUNDS:
        for m in pattern.finditer(code):
            before = code[:m.start()].rstrip()
            if before.endswith(("(", "=", ",", "&&", "||", "return")):
                places.add(m.end("a") + 1)
    return places


class Mutant:
    def __init__(self, path, text, start, end, new, kind):
        self.path, self.kind = path, kind
        self.start, self.end, self.new = start, end, new
        self.line = text.count("\n", 0, start) + 1
        self.old = text[start:end]
        begin = text.rfind("\n", 0, start) + 1
        self.context = text[begin:text.find("\n", end)].strip()

    def apply(self, text):
        return text[:self.start] + self.new + text[self.end:]

    def name(self):
        return "%s:%d" % (self.path, self.line)

    def key(self):
        """An identifier that stays the same when lines above are added or
        removed."""
        return "%s|%s|%s|%s" % (self.path, self.kind, self.old, self.context)

    def __str__(self):
        what = ("left out" if self.kind == "statement"
                else "'%s' for '%s'" % (self.new, self.old)
                if self.new else "'%s' left out" % self.old)
        return "%s: %s: %s" % (self.name(), what, self.context)


def mutants_of(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        text = f.read()
    code = blank(text)
    harmless = harmless_places(code)
    for begin, end in bodies(code):
        for kind, pattern, change in OPERATORS:
            for m in re.compile(pattern).finditer(code, begin, end):
                if m.start(1) in harmless:
                    continue
                yield Mutant(path, text, m.start(1), m.end(1),
                             change[m.group(1)], kind)
        for m in STATEMENT.finditer(code, begin, end):
            if is_whole(code, m):
                yield Mutant(path, text, m.start(1), m.end(1), ";",
                             "statement")


def run(argv, **more):
    return subprocess.run(argv, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, **more)


def compiler_knows(flag):
    return run(["cc", flag, "-E", "-xc", os.devnull]).returncode == 0


class Bench:
    """The library and the tests, in a separate folder."""

    def __init__(self, build, work, verbose, is_sanitized=False):
        self.is_sanitized = is_sanitized
        self.flags = [RUBBISH] if compiler_knows(RUBBISH) else []
        if is_sanitized:
            self.flags += [SANITIZERS, "-fno-sanitize-recover=undefined"]
        self.build, self.work = os.path.abspath(build), os.path.abspath(work)
        self.root = self.cached("CMAKE_HOME_DIRECTORY")
        self.library = os.path.join(self.work, "libmutant.so")
        self.unchanged = os.path.join(self.work, "libunchanged.so")
        self.is_sound = {}  # name of a test -> passes on what is unchanged
        self.verbose = verbose
        self.commands = {}
        self.objects = {}
        self.cover = os.path.join(self.work, "cover")
        for folder in ("obj", "cover"):
            os.makedirs(os.path.join(self.work, folder), exist_ok=True)

    def cached(self, name):
        with open(os.path.join(self.build, "CMakeCache.txt"),
                  encoding="utf-8") as f:
            for line in f:
                if line.startswith(name + ":"):
                    return line.split("=", 1)[1].strip()
        return ""

    def read_commands(self):
        with open(os.path.join(self.build, "compile_commands.json"),
                  encoding="utf-8") as f:
            entries = json.load(f)
        for e in entries:
            if not any("/%s.dir/" % t in e["command"] for t in OURS):
                continue
            path = os.path.relpath(e["file"], self.root)
            argv = shlex.split(e["command"])
            argv = [a for a in argv if a != "-fvisibility=hidden"]
            argv = argv[:argv.index("-o")]
            self.commands[path] = argv + ["-fPIC", "-w", "-g0"]
            self.objects[path] = self.object_in("obj", path)

    def object_in(self, folder, path):
        return os.path.join(self.work, folder, path.replace("/", "_") + ".o")

    def compile(self, path, source=None, output=None, before=()):
        """Compile a source. before: include folders searched before all
        others."""
        argv = self.commands[path] + ["-O1"] + self.flags
        argv[1:1] = ["-I" + folder for folder in before]
        argv += ["-o", output or self.objects[path],
                 "-c", source or os.path.join(self.root, path)]
        if shutil.which("ccache") and source is None and not before:
            argv = ["ccache"] + argv
        return run(argv, cwd=self.build)

    def compile_counted(self, path):
        output = self.object_in("cover", path)
        return run(self.commands[path] + mutant_cover.FLAGS +
                   ["-o", output, "-c", os.path.join(self.root, path)],
                   cwd=self.build)

    def includes(self, path):
        """The files that a source includes, and the source."""
        done = run(self.commands[path] + ["-MM", os.path.join(self.root, path)],
                   cwd=self.build)
        must(path, done)
        return {os.path.relpath(os.path.join(self.build, word), self.root)
                for word in done.stdout.decode().split()}

    def link(self, objects, flags=()):
        listed = os.path.join(self.work, "objects")
        with open(listed, "w", encoding="utf-8") as f:
            f.write("\n".join(sorted(objects)))
        if self.is_sanitized:
            flags = [*flags, SANITIZERS]
        return run(["cc", "-shared", "-o", self.library + ".new", "@" + listed,
                    *flags, "-lzstd", "-ljansson", "-lm", "-lpthread"])

    def link_with(self, instead=None):
        return self.link({**self.objects, **(instead or {})}.values())

    def publish(self):
        os.replace(self.library + ".new", self.library)

    def publish_unchanged(self):
        shutil.copy(self.unchanged, self.library + ".new")
        self.publish()

    def catches(self, test):
        """Whether the test fails on the library, and passes on what is
        unchanged."""
        if test.passes():
            return False
        if test.name not in self.is_sound:
            mutant = self.library + ".mutant"
            os.replace(self.library, mutant)
            self.publish_unchanged()
            self.is_sound[test.name] = test.passes()
            os.replace(mutant, self.library)
        return self.is_sound[test.name]

    def link_words(self, target):
        """The command with which BUILD links a program, for either generator."""
        if os.path.exists(os.path.join(self.build, "build.ninja")):
            lines = run(["ninja", "-C", self.build, "-t", "commands",
                         target]).stdout.decode().strip().split("\n")
            return shlex.split(
                lines[-1].replace(": && ", "").replace(" && :", ""))
        for path in glob.glob(os.path.join(self.build,
                                           "CMakeFiles/*.dir/link.txt")):
            with open(path, encoding="utf-8") as f:
                words = shlex.split(f.readline())
            if "-o" in words and words[words.index("-o") + 1] == target:
                return words
        sys.exit("mutants: %s does not say how %s is linked: expected a build "
                 "by make or ninja" % (self.build, target))

    def relink(self, target, output):
        """Link a program of BUILD with the shared library in place of the
        archives, unless that was done since it was built."""
        built = os.path.join(self.build, target)
        if (os.path.exists(output) and
                os.path.getmtime(output) > os.path.getmtime(built)):
            return True
        words = self.link_words(target)
        argv = [output if words[i - 1] == "-o" else w
                for i, w in enumerate(words) if w not in LIBRARIES]
        argv += [self.library, "-Wl,-rpath," + self.work,
                 "-Wl,--allow-multiple-definition", "-lm"]
        # Memory that is not released fails a test, where that can be had.
        done = run(argv + [SANITIZERS if self.is_sanitized
                           else "-fsanitize=leak"], cwd=self.build)
        if done.returncode != 0 and not self.is_sanitized:
            done = run(argv, cwd=self.build)
        if done.returncode != 0 and self.verbose:
            print(done.stdout.decode()[-2000:])
        return done.returncode == 0


def show(done, all_of, text):
    if sys.stderr.isatty():
        width = 24
        bar = "#" * (width * done // max(all_of, 1))
        sys.stderr.write("\r[%-*s] %d/%d %-40.40s" % (width, bar, done, all_of,
                                                      text))
        sys.stderr.flush()
    elif text.startswith("!"):
        sys.stderr.write(text[1:] + "\n")


class Test:
    def __init__(self, name, argv, directory):
        self.name, self.argv, self.directory = name, argv, directory
        self.seconds = 0.0

    def passes(self, limit=None):
        """Run it.  limit: seconds, or eight times what it took once."""
        try:
            child = subprocess.Popen(self.argv, cwd=self.directory,
                                     stdin=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL,
                                     start_new_session=True)
        except OSError:
            return False
        try:
            return child.wait(limit or 5 + 8 * self.seconds) in (0, 77)
        except subprocess.TimeoutExpired:
            return False
        finally:
            # What a script had begun ends with it.
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()


def must(what, done):
    if done.returncode != 0:
        sys.exit("mutants: %s:\n%s" % (what, done.stdout.decode()))


def prepare_library(bench):
    for i, path in enumerate(sorted(bench.commands)):
        show(i, len(bench.commands), "compiling " + path)
        must(path, bench.compile(path))
    must("the library", bench.link_with())
    os.replace(bench.library + ".new", bench.unchanged)
    bench.publish_unchanged()


def headers_below(bench, beginnings):
    listed = run(["find", "src", "-name", "*.h"], cwd=bench.root).stdout
    return {p for p in listed.decode().split()
            if p.startswith(tuple(beginnings))}


def sources_with(bench, beginnings):
    """The sources whose paths begin so, and those that include such a header."""
    headers = headers_below(bench, beginnings)
    return {p for p in bench.commands
            if p.startswith(tuple(beginnings)) or headers & bench.includes(p)}


def prepare_counted_library(bench, beginnings):
    """Build a library in place of it that counts the lines it runs of these
    sources."""
    counted = {"": os.path.join(bench.cover, "exit.o")}
    source = os.path.join(bench.work, "exit.c")
    with open(source, "w", encoding="utf-8") as f:
        f.write(mutant_cover.EXIT_SOURCE)
    must(source, run(["cc", "-fPIC", "-c", source, "-o", counted[""]]))
    sources = sorted(sources_with(bench, beginnings))
    for i, path in enumerate(sources):
        show(i, len(sources), "compiling to count: " + path)
        must(path, bench.compile_counted(path))
        counted[path] = bench.object_in("cover", path)
    must("the library that counts",
         bench.link({**bench.objects, **counted}.values(), ["--coverage"]))
    bench.publish()


def listed_tests(bench):
    listing = json.loads(run(["ctest", "--test-dir", bench.build,
                              "--show-only=json-v1"]).stdout)
    for t in listing["tests"]:
        properties = {p["name"]: p["value"] for p in t.get("properties", [])}
        if (LABELS & set(properties.get("LABELS", [])) and "command" in t and
                "ENVIRONMENT" not in properties):
            yield t["name"], t["command"], properties["WORKING_DIRECTORY"]


def link_tests(bench, is_wanted):
    """Link the programs of the wanted tests again.  Returns those that run
    one."""
    command = os.path.join(bench.work, "larder")
    if not bench.relink("larder", command):
        sys.exit("mutants: the command could not be linked")
    wanted = [t for t in listed_tests(bench) if is_wanted(t[0])]
    for i, (name, argv, directory) in enumerate(wanted):
        show(i, len(wanted), "linking " + name)
        argv = list(argv)
        if argv[0].startswith(bench.build):
            program = os.path.join(bench.work, os.path.basename(argv[0]))
            if not bench.relink(os.path.relpath(argv[0], bench.build), program):
                continue
            argv[0] = program
        argv = [command if a == os.path.join(bench.build, "larder") else a
                for a in argv]
        yield Test(name, argv, directory)


def state_of(paths):
    """A text that changes with these files, and those below these folders."""
    state = hashlib.sha256()
    for path in paths:
        below = [os.path.join(folder, name)
                 for folder, _, names in os.walk(path) for name in names]
        for name in sorted(below) or [path]:
            if os.path.isfile(name):
                found = os.stat(name)
                state.update(("%s %d %d\n" % (name, found.st_size,
                                              found.st_mtime_ns)).encode())
    return state.hexdigest()


class Counted:
    """What was counted of each test, kept between runs."""

    def __init__(self, bench, options):
        self.path = os.path.join(bench.work, "counted.json")
        folders = [os.path.join(bench.root, name)
                   for name in ("src", "include", "tests/data")]
        self.state = [state_of(folders), sorted(options.sources),
                      options.longest]
        self.tests = {}
        try:
            with open(self.path, encoding="utf-8") as f:
                kept = json.load(f)
            if kept["state"] == self.state:
                self.tests = kept["tests"]
        except (FileNotFoundError, ValueError):
            pass

    def get(self, test):
        kept = self.tests.get(test.name)
        return kept if kept and kept["state"] == state_of(test.argv) else None

    def put(self, test, seconds, lines):
        """seconds: None if it does not pass in time."""
        self.tests[test.name] = {"state": state_of(test.argv),
                                 "seconds": seconds, "lines": lines}

    def keep(self):
        with open(self.path + ".new", "w", encoding="utf-8") as f:
            json.dump({"state": self.state, "tests": self.tests}, f)
        os.replace(self.path + ".new", self.path)


def count_test(test, coverage, longest):
    """The seconds that a test takes and the lines that it runs; None twice if it
    does not pass in time."""
    coverage.forget_counts()
    begin = time.monotonic()
    if not test.passes(longest):
        return None, None
    return time.monotonic() - begin, coverage.counted()


def count_lines(bench, tests, options):
    """Record which test runs which line of the sources, and how long it takes.
    Returns the tests that pass in time, and the record."""
    passing = []
    coverage = mutant_cover.Coverage(bench.root, bench.cover)
    counted = Counted(bench, options)
    new = [t for t in tests if counted.get(t) is None]
    if new:
        prepare_counted_library(bench, options.sources)
    for i, test in enumerate(new):
        show(i, len(new), "counting lines of " + test.name)
        counted.put(test, *count_test(test, coverage, options.longest))
        if i % 32 == 31 or i + 1 == len(new):
            counted.keep()
    bench.publish_unchanged()
    for test in tests:
        kept = counted.get(test)
        if kept["seconds"] is not None:
            test.seconds = kept["seconds"]
            coverage.learn(test.name, kept["lines"])
            passing.append(test)
    return passing, coverage


def equal_keys(root):
    keys = set()
    try:
        with open(os.path.join(root, "tools/mutants.equal"),
                  encoding="utf-8") as f:
            for line in f:
                if line.strip() and not line.startswith("#"):
                    keys.add(line.rstrip("\n").split("\t")[0])
    except FileNotFoundError:
        pass
    return keys


def sample(bench, options):
    places = []
    equal = equal_keys(bench.root)
    sources = {p for p in bench.commands
               if p.startswith(tuple(options.sources))}
    for path in sorted(sources | headers_below(bench, options.sources)):
        places += [m for m in mutants_of(bench.root, path)
                   if m.key() not in equal]
    if not places:
        sys.exit("mutants: there is nothing below %s" % options.sources)
    random.Random(options.seed).shuffle(places)
    return places[:options.count], len(places)


def compile_header(bench, mutant, text, coverage):
    """Compile the objects that run the line again, with the mutant's header
    first in the search path."""
    folder = os.path.join(bench.work, "headers")
    header = os.path.join(folder, os.path.relpath(mutant.path, "src"))
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.dirname(header))
    with open(header, "w", encoding="utf-8") as f:
        f.write(text)
    instead = {}
    wanted = coverage.objects_of(mutant.path, mutant.line)
    for path, compiled in bench.objects.items():
        if os.path.splitext(os.path.basename(compiled))[0] not in wanted:
            continue
        instead[path] = os.path.join(bench.work, "mutant_%d.o" % len(instead))
        if bench.compile(path, None, instead[path], [folder]).returncode != 0:
            return None
    return instead


def compile_mutant(bench, mutant, coverage):
    """The objects to replace.  None: the mutant does not compile."""
    with open(os.path.join(bench.root, mutant.path), encoding="utf-8") as f:
        text = mutant.apply(f.read())
    if mutant.path.endswith(".h"):
        return compile_header(bench, mutant, text, coverage)
    source = os.path.join(bench.work, "mutant.c")
    output = os.path.join(bench.work, "mutant.o")
    with open(source, "w", encoding="utf-8") as f:
        f.write('#line 1 "%s"\n' % os.path.join(bench.root, mutant.path))
        f.write(text)
    if bench.compile(mutant.path, source, output).returncode != 0:
        return None
    return {mutant.path: output}


def code_of(bench, compiled):
    """An object's contents without the names of its sources."""
    bare = os.path.join(bench.work, "bare.o")
    must(compiled, run(["objcopy", "--strip-unneeded",
                        "--remove-section=.comment", compiled, bare]))
    with open(bare, "rb") as f:
        return f.read()


def is_same_program(bench, instead):
    """Whether the mutant compiles to the same code as the source."""
    return bool(instead) and all(
        code_of(bench, compiled) == code_of(bench, bench.objects[path])
        for path, compiled in instead.items())


def try_mutant(bench, mutant, tests, coverage, caught):
    """The name of the test that caught the mutant, '' if none did, None if it
    does not compile or is equivalent."""
    instead = compile_mutant(bench, mutant, coverage)
    if (instead is None or is_same_program(bench, instead) or
            bench.link_with(instead).returncode != 0):
        return None
    bench.publish()
    folder = os.path.dirname(mutant.path)
    able = coverage.tests_of(mutant.path, mutant.line)
    able = {name for name in able if bench.is_sound.get(name, True)}
    order = sorted((t for t in tests if t.name in able), key=lambda t: (
        -caught.get((mutant.path, t.name), 0), -caught.get((folder, t.name), 0),
        t.seconds))
    for test in order:
        if bench.catches(test):
            for where in (mutant.path, folder):
                caught[(where, test.name)] = caught.get((where, test.name),
                                                        0) + 1
            return test.name
    return ""


def look_again(options, live, coverage, seconds):
    """Try mutants that survived under the sanitizers, with the tests that take
    these seconds without.  Returns those that were caught, and by which
    test."""
    bench = Bench(options.build, os.path.join(options.work, "sanitized"),
                  options.verbose, is_sanitized=True)
    able = set()
    for mutant in live:
        able |= coverage.tests_of(mutant.path, mutant.line)
    bench.read_commands()
    prepare_library(bench)
    tests = list(link_tests(bench, able.__contains__))
    for test in tests:
        test.seconds = seconds[test.name]
    caught, found = {}, {}
    for i, mutant in enumerate(live):
        show(i, len(live), "sanitized: " + mutant.name())
        by = try_mutant(bench, mutant, tests, coverage, caught)
        if by:
            found[mutant] = by
            show(i, len(live), "!sanitized: %s %s" % (by, mutant))
    return found


def read_options():
    parser = argparse.ArgumentParser(
        description="Plant small bugs, run the tests on each, list those that "
                    "live.")
    parser.add_argument("build", help="a build folder, with its tests built")
    parser.add_argument("--count", type=int, default=300,
                        help="how many (300)")
    parser.add_argument("--seed", type=int, default=1,
                        help="which ones (1)")
    parser.add_argument("--sources", nargs="+", default=list(SOURCES),
                        help="where: folders or files (%s)" %
                        " ".join(SOURCES))
    parser.add_argument("--allow", type=float, default=10,
                        help="percent that may survive (10)")
    parser.add_argument("--longest", type=float, default=30,
                        help="seconds; longer tests are left out (30)")
    parser.add_argument("--tests", default="", metavar="REGEX",
                        help="only tests whose names match (all)")
    parser.add_argument("--work", help="folder to work in (BUILD/mutants)")
    parser.add_argument("--sanitized", action="store_true",
                        help="try survivors under the sanitizers too")
    parser.add_argument("--list", action="store_true",
                        help="print the mutants and try none")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    options.work = options.work or os.path.join(options.build, "mutants")
    return options


def report(rows, places, seconds):
    """The lines of the report, and the percentage of surviving mutants."""
    rooms = {}
    for mutant, by in rows:
        room = rooms.setdefault(os.path.dirname(mutant.path), [0, 0])
        room[0] += 1
        room[1] += by == ""
    lines = ["%-28s %8s %6s" % ("folder", "planted", "live")]
    lines += ["%-28s %8d %6d" % (room, *rooms[room]) for room in sorted(rooms)]
    live = [m for m, by in rows if by == ""]
    percent = 100.0 * len(live) / max(len(rows), 1)
    lines.append("%d planted, of %d places; %d live (%.1f %%); %.0f s" %
                 (len(rows), places, len(live), percent, seconds))
    for mutant in sorted(live, key=lambda m: (m.path, m.line)):
        lines.append("lives: %s" % mutant)
    return lines, percent


def main():
    options = read_options()
    bench = Bench(options.build, options.work, options.verbose)
    if options.list:
        bench.read_commands()
        for mutant in sample(bench, options)[0]:
            print(mutant)
        return 0
    begin = time.monotonic()
    bench.read_commands()
    chosen, places = sample(bench, options)
    prepare_library(bench)
    tests, coverage = count_lines(
        bench, list(link_tests(bench, re.compile(options.tests).search)),
        options)
    show(0, 1, "!%d tests; prepared in %.0f s" % (len(tests),
                                                   time.monotonic() - begin))
    if not tests:
        sys.exit("mutants: no test passes on what is unchanged")
    caught, rows = {}, []
    for i, mutant in enumerate(chosen):
        show(i, len(chosen), mutant.name())
        by = try_mutant(bench, mutant, tests, coverage, caught)
        if by is not None:
            rows.append((mutant, by))
            show(i, len(chosen), "!%d %s %s" % (i, by or "LIVES", mutant))
    live = [m for m, by in rows if by == ""]
    if options.sanitized and live:
        found = look_again(options, live, coverage,
                           {t.name: t.seconds for t in tests})
        rows = [(m, by or found.get(m, "")) for m, by in rows]
        show(0, 1, "!%d of %d that lived were caught by the sanitizers" %
             (len(found), len(live)))
    lines, percent = report(rows, places, time.monotonic() - begin)
    print("\n".join(lines))
    with open(os.path.join(bench.work, "report.txt"), "w",
              encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    return 0 if percent <= options.allow else 1


if __name__ == "__main__":
    sys.exit(main())
