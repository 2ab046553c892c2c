"""Where statements end in lines of text."""

import ast
import codeop
import re
import warnings

from larder.lab.words import find_word


def wants_more(text):
    """Whether a statement that begins with this text is incomplete."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return codeop.compile_command(text) is None
    except (SyntaxError, ValueError, OverflowError):
        return False


_GOES_ON = re.compile(r"(else|elif|except|finally)\b")


def _belongs(begun, line):
    """Whether the line continues the statement."""
    # A blank line ends a block, but no bracket.
    if line[:1].isspace() or wants_more(begun + "\n"):
        return True
    return _GOES_ON.match(line) is not None


def read_lines(prompt, lines):
    """Run statements from a pipe, each as soon as it is complete.  A
    blank line does not end a block here, unlike on a terminal."""
    begun = ""
    for line in lines:
        line = line.rstrip("\r\n")
        if not line.strip() and not _in_string(begun):
            continue
        if begun and not _belongs(begun, line):
            prompt.run(begun)
            begun = ""
        if prompt.status is not None:
            return
        begun = f"{begun}\n{line}" if begun else line
        if find_word(begun, prompt.names.defined()) or not wants_more(begun):
            prompt.run(begun)
            begun = ""
        if prompt.status is not None:
            return
    if begun:
        prompt.run(begun)


def _in_string(text):
    """Whether a string of several lines is open at the end."""
    try:
        ast.parse(text)
    except SyntaxError as error:
        return "triple-quoted" in str(error)
    return False
