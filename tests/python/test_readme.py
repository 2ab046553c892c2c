"""What README.md and docs/LIBRARY.md tell a reader to type is run, word for
word, and prints what they show.

A block of `sh` is run line by line, unless the comment before it says what it
needs (`<!-- readme: needs torch -->`) and that is not here: then it is skipped,
with a word.  What runs `until stopped` says an address, and is stopped.  A block of `text` is in the output of the block before it, or, if
it begins with `$ COMMAND`, of that command with the lines after `> ` for its
input.  A block of `python` is run.  $LARDER_README_PYTHON is a Python with PyTorch.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request

import lab_case

ROOT = os.path.dirname(os.path.dirname(lab_case.HERE))
BUILD = os.path.abspath(os.environ.get("LARDER_LIBRARY_DIR", ROOT + "/build"))
PYTHON = os.environ.get("LARDER_README_PYTHON", sys.executable)
DOCUMENTS = ("README.md", "docs/LIBRARY.md")

_MARK = re.compile(r"<!-- readme: (.*) -->$")
_FENCE = re.compile(r"```(\w*)$")

# How to know without importing it, which may want CUDA's libraries.
_VERSION = """
from importlib.util import find_spec
with open(find_spec("torch").submodule_search_locations[0] + "/version.py") as file:
    exec(file.read())
"""
_TORCH = {
    "needs torch": _VERSION,
    "needs torch with CUDA": _VERSION + "assert cuda",
}

# In place of a GPU, as README says.
SIMULATED = ["larder", "exec", "--sim", "24GiB,backing=none", "--quiet", "--"]


class Block:
    def __init__(self, kind, mark, number):
        self.kind = kind
        self.mark = mark
        self.number = number
        self.lines = []


def blocks_of(text):
    """The fenced blocks of a document, with the marks before them."""
    found, inside, mark = [], None, None
    for number, line in enumerate(text.splitlines(), 1):
        fence = _FENCE.match(line)
        if inside is not None:
            if fence:
                found.append(inside)
                inside = None
            else:
                inside.lines.append(line)
        elif fence:
            inside, mark = Block(fence[1], mark, number), None
        else:
            said = _MARK.match(line)
            mark = said[1] if said else mark if not line else None
    return found


class Reader:
    """Somebody who types what a document says, in the source folder; what they
    write is not left there."""

    def __init__(self, folder):
        self._folder = folder
        self._said = ""
        for name in os.listdir(ROOT):
            if name != "build":
                os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
        os.symlink(BUILD, os.path.join(folder, "build"))
        bin_folder = os.path.join(folder, ".bin")
        os.mkdir(bin_folder)
        python = os.path.join(bin_folder, "python3")
        with open(python, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec "{PYTHON}" "$@"\n')
        os.chmod(python, 0o755)
        self._environment = {
            **os.environ,
            "PATH": os.pathsep.join(
                [bin_folder, BUILD, os.environ["PATH"]]
            ),
            "PYTHONPATH": lab_case.PACKAGE_DIR,
            "PYTHONDONTWRITEBYTECODE": "1",
            "LARDER_PYTHON": PYTHON,
            "LC_ALL": "C.UTF-8",
            "BROWSER": "true",
            "TMPDIR": folder,
            "XDG_CACHE_HOME": os.path.join(folder, ".cache"),
        }
        self._environment.pop("LARDER_CONF", None)

    def _run(self, words, typed="", patience=240):
        done = subprocess.run(
            words,
            cwd=self._folder,
            env=self._environment,
            input=typed,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=patience,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def lacks(self, mark):
        """Why a block with this mark is not run, or None."""
        if mark in (None, "until stopped"):
            return None
        if mark not in _TORCH:
            return mark
        has_it = self._run([PYTHON, "-c", _TORCH[mark]])[0] == 0
        return None if has_it else f"{mark}, which is not here"

    def follow(self, block):
        """What is wrong with the block, or None."""
        if block.mark == "until stopped":
            return self._stop_commands(block)
        if block.kind == "sh":
            return self._follow_commands(block)
        if block.kind == "text":
            return self._compare(block)
        if block.kind == "python":
            code, _, error = self._run([PYTHON, "-c", "\n".join(block.lines)])
            return error or f"status {code}" if code else None
        if block.kind == "c":  # tests/lint/readme.sh
            return None
        return f"a block of '{block.kind}': expected sh, text, python or c"

    def _follow_commands(self, block):
        self._said = ""
        before = SIMULATED if block.mark == "needs torch with CUDA" else []
        for line in block.lines:
            code, said, error = self._run([*before, "bash", "-c", line])
            if code:
                return f"'{line}' ended with status {code}: {error or said}"
            self._said += said
        return None

    def _stop_commands(self, block):
        for line in block.lines:
            with subprocess.Popen(
                ["bash", "-c", f"exec {line}"],
                cwd=self._folder,
                env=self._environment,
                stdout=subprocess.PIPE,
                encoding="utf-8",
            ) as process:
                address = process.stdout.readline().strip()
                try:
                    with urllib.request.urlopen(address, timeout=30):
                        pass
                except (OSError, ValueError) as error:
                    return f"'{line}' said '{address}': {error}"
                finally:
                    process.terminate()
        return None

    def _compare(self, block):
        lines, said = block.lines, self._said
        if lines[0].startswith("$ "):
            words = ["bash", "-c", lines[0][2:]]
            typed = [line for line in lines if line.startswith("> ")]
            said = self._run(words, "".join(f"{t[2:]}\n" for t in typed))[1]
            lines = lines[1 + len(typed) :]
        if "\n".join(lines) in said:
            return None
        return f"not what is printed, which is:\n{said}"


def check(text):
    """What is wrong with a document: one line for each block."""
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        reader = Reader(folder)
        for block in blocks_of(text):
            why = reader.lacks(block.mark)
            if why is not None:
                print(f"line {block.number}: skipped: {why}")
                continue
            found = reader.follow(block)
            if found is not None:
                wrong.append(f"line {block.number}: {found}")
    return wrong


def document(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


class Documents(unittest.TestCase):
    maxDiff = None

    def test_what_they_tell_to_type_works(self):
        for name in DOCUMENTS:
            with self.subTest(name):
                print(f"{name}:")
                self.assertEqual(check(document(name)), [])

    def test_what_is_not_so_is_found(self):
        for planted, word in (
            ("```sh\nlarder reprot x\n```\n", "ended with status 2"),
            ("```sh\ntrue\nfalse\n```\n", "'false' ended with status 1"),
            ("```\nlarder --help\n```\n", "a block of ''"),
            ("```sh\necho 1\n```\n\n```text\n2\n```\n", "not what is printed"),
            ("```text\n$ cat\n> 1\n2\n```\n", "not what is printed"),
            ("<!-- readme: until stopped -->\n```sh\necho x\n```\n", "said 'x'"),
            ("```python\nimport lardr\n```\n", "No module named 'lardr'"),
        ):
            wrong = check(planted)
            self.assertEqual(len(wrong), 1, planted)
            self.assertIn(word, wrong[0])
        whole = "```sh\necho 1\n```\nSo:\n```text\n1\n```\n```text\n$ cat\n> 1\n1\n```\n"
        self.assertEqual(check(whole), [])

    def test_each_command_is_in_a_block_that_is_run(self):
        """Most of README's blocks run everywhere."""
        blocks = [b for b in blocks_of(document("README.md")) if b.kind == "sh"]
        run = sum(len(b.lines) for b in blocks if b.mark is None)
        self.assertGreaterEqual(run, 6)


if __name__ == "__main__":
    if shutil.which("bash") is None:
        print("skipped: no bash")
        sys.exit(77)
    lab_case.main()
