"""The prompt on a terminal: editing, history, completion."""

import code
import os
import rlcompleter
import sys

from larder.lab.reading import wants_more
from larder.lab.words import WORDS, find_word

try:
    import readline
except ImportError:  # some builds of Python
    readline = None

_HISTORY_LINES = 1000


class _Ended(Exception):
    """The prompt was told to end."""


class _Console(code.InteractiveConsole):
    """Reads lines until a statement is complete, and gives it to the prompt."""

    def __init__(self, prompt):
        super().__init__(prompt.names.space)
        self._prompt = prompt

    def runsource(self, source, filename=None, symbol=None):
        """Returns whether more lines are needed."""
        prompt = self._prompt
        if not find_word(source, prompt.names.defined()):
            if not source.strip():
                return False
            if wants_more(source):
                return True
        prompt.run(source)
        if prompt.status is not None:
            raise _Ended
        return False


class _Completer(rlcompleter.Completer):
    """Python's, with the prompt's words and without its parentheses."""

    def complete(self, text, state):
        found = super().complete(text, state)
        return found and found.rstrip("()")

    def global_matches(self, text):
        words = [word for word in WORDS if word.startswith(text)]
        return sorted({*super().global_matches(text), *words})


def _history_path():
    path = os.environ.get("LARDER_HISTORY")
    if path is not None:
        return path
    state = os.environ.get("XDG_STATE_HOME", "")
    if not state.startswith("/"):
        state = os.path.expanduser("~/.local/state")
    return os.path.join(state, "larder", "lab_history")


def _save_history(path):
    before = os.umask(0o077)
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        readline.write_history_file(path)
    except OSError:
        pass  # not worth a report
    finally:
        os.umask(before)


def _prepare(prompt):
    readline.set_completer(_Completer(prompt.names.space).complete)
    readline.parse_and_bind("tab: complete")
    # A paste would arrive as one line, whatever it has.
    readline.parse_and_bind("set enable-bracketed-paste off")
    readline.set_history_length(_HISTORY_LINES)


def converse(prompt):
    """Read statements from the terminal and run them, to the end."""
    path = _history_path() if readline else ""
    if readline:
        _prepare(prompt)
    if path:
        try:
            readline.read_history_file(path)
        except OSError:
            pass  # none yet
    sys.ps1, sys.ps2 = "> ", ". "
    try:
        _Console(prompt).interact(banner="", exitmsg="")
    except _Ended:
        pass
    finally:
        if path:
            _save_history(path)
