"""python3 -m larder.lab.prompt [options]

The prompt of `larder lab`: Python with the lab in place of torch, which shows the
memory after every statement.
"""

import argparse
import ast
import contextlib
import difflib
import io
import json
import linecache
import os
import sys

from larder._leaving import exit_status
from larder._plain import plain
from larder.lab import LabError, Session, use
from larder.lab.listing import describe, future_flags
from larder.lab.names import Names
from larder.lab.reading import read_lines
from larder.lab.torch_stand_in.installing import install
from larder.lab.words import WordError, find_word

# The figures of --json.
_FIELDS = (
    "host_bytes",
    "context_bytes",
    "smi_bytes",
    "reserved_bytes",
    "allocated_bytes",
    "requested_bytes",
)


def _parser():
    parser = argparse.ArgumentParser(prog="larder lab")
    add = parser.add_argument
    add("--device", metavar="SPEC", default="sim:24GiB,backing=memory")
    add("--policy", metavar="NAME")
    add("--conf", metavar="SETTINGS")
    add("--seed", type=int, default=1, metavar="N")
    add("--snapshot", metavar="FILE")
    add("--json", action="store_true")
    add("--width", type=int, default=0, metavar="N")
    add("--colour", action="store_true")
    add("--ascii", action="store_true")
    return parser


def _show_value(value):
    """Print the value of an expression.  Unlike Python's own hook this keeps no
    `_`, which would hold the last tensor's memory."""
    if value is not None:
        print(repr(value))


class _Statement:
    """A statement, or a command of the prompt, and how it ended."""

    def __init__(self, text, memory, is_word):
        self.text = text
        self.memory = memory  # before it
        self.is_word = is_word
        # Texts: an exception would hold on to tensors.
        self.error = None
        self.told = ""


class Prompt:
    """A session, the names in it, and how statements are reported."""

    def __init__(self, options, interactive=False):
        self.options = options
        self.device = options.device
        self.interactive = interactive
        self.names = Names()
        self.failed = False
        self.status = None  # set once the prompt is to end
        self._flags = 0
        self._count = 0
        self.session = self._open(self.device)

    # The session.

    def _open(self, device):
        options = self.options
        session = Session(device, options.policy, options.conf, options.seed)
        # A session without a history is still useful.
        with contextlib.suppress(LabError):
            session.record()
        return use(session)

    def begin_anew(self, device):
        """Forget every name and continue with a fresh session."""
        fresh, old = self._open(device), self.session
        self.names.forget()
        self.session, self.device = fresh, device
        # It stays open as long as something else holds a tensor of it.
        with contextlib.suppress(LabError):
            old.close()

    # Running.

    def run(self, text):
        """Run a text of one or more lines that belong together."""
        word = find_word(text, self.names.defined())
        if word is not None:
            self._run_word(word, text)
            return
        self._count += 1
        path = f"<input {self._count}>"
        # So that a traceback can show its lines.
        lines = (text + "\n").splitlines(True)
        linecache.cache[path] = len(text), None, lines, path
        try:
            nodes = ast.parse(text, path).body
        except (SyntaxError, ValueError) as error:
            statement = self._begin(text, True)
            self._fail(statement, error.with_traceback(None))
            self._end(statement)
            return
        self.session.note(text)
        for node in nodes:
            if not self._run_node(node, path, text, len(nodes) == 1):
                break
        self.session.end_note()

    def _run_word(self, word, text):
        statement = self._begin(text, True, is_word=True)
        with self._output() as output:
            try:
                word(self)
            except (WordError, LabError) as error:
                self._fail(statement, error)
        self._end(statement, output)

    def _run_node(self, node, path, text, alone):
        """Run a statement.  Returns whether the next one may run."""
        source = text if alone else ast.get_source_segment(text, node)
        statement = self._begin(source, alone)
        with self._output() as output:
            self._execute(statement, node, path)
        self._end(statement, output)
        return statement.error is None and self.status is None

    def _execute(self, statement, node, path):
        self._flags |= future_flags([node])
        try:
            code = compile(
                ast.Interactive([node]), path, "single", self._flags, True
            )
            exec(code, self.names.space)
        except SystemExit as stop:
            self.status = exit_status(stop)
        except (Exception, KeyboardInterrupt) as error:
            self._fail(statement, error)

    def _fail(self, statement, error):
        self.failed = True
        statement.error = f"{type(error).__name__}: {error}"
        statement.told = self._tell(error)

    @contextlib.contextmanager
    def _output(self):
        """With --json the output becomes a field."""
        if not self.options.json:
            yield None
            return
        kept = io.StringIO()
        with contextlib.redirect_stdout(kept):
            yield kept

    # Reporting.

    def _begin(self, text, alone, is_word=False):
        text = text.strip()
        is_typed = self.interactive and alone
        if not is_typed and not is_word and not self.options.json:
            self._print_statement(text)
        return _Statement(text, self.session.memory_struct(), is_word)

    def _print_statement(self, text):
        bold, off = ("\033[1m", "\033[0m") if self.options.colour else ("", "")
        for number, line in enumerate(text.split("\n")):
            print(f"{bold}{'. ' if number else '> '}{line}{off}")

    def _end(self, statement, output=None):
        if self.options.json:
            self._print_json(statement, output)
        else:
            sys.stdout.flush()
            sys.stderr.write(statement.told)
            sys.stderr.flush()
            self._print_panel(statement)
        sys.stdout.flush()

    def _tell(self, error):
        if isinstance(error, KeyboardInterrupt):
            return "\nKeyboardInterrupt\n"
        if isinstance(error, WordError):
            return f"error: {error}\n"
        told = describe(error)
        name = getattr(error, "name", None)
        # Python itself says so only in some versions and places.
        if isinstance(error, NameError) and name and "Did you mean" not in told:
            near = difflib.get_close_matches(name, self.names.space, 1)
            if near:
                told = f"{told.rstrip()}. Did you mean: '{near[0]}'?\n"
        return told

    def _print_panel(self, statement):
        before, now = statement.memory, self.session.memory_struct()
        same = all(getattr(before, f) == getattr(now, f) for f in _FIELDS)
        # A statement that failed may have had effects.
        if statement.is_word or (statement.error is not None and same):
            return
        options = self.options
        panel = self.session.panel(
            None,
            before,
            options.width,
            colour=options.colour,
            ascii=options.ascii,
        )
        sys.stdout.write(panel)

    def _print_json(self, statement, output):
        memory = self.session.memory()
        fields = {
            "statement": statement.text,
            "ok": statement.error is None,
            "error": statement.error,
            "output": output.getvalue() if output else "",
        }
        fields.update((name, memory[name]) for name in _FIELDS)
        print(json.dumps(fields))


def _greet(device):
    print(
        f"Tensors on a simulated GPU, {device}.\n"
        "Python, with the lab as torch; 'help' lists commands, Ctrl-D exits.\n"
    )


def _is_terminal():
    return (
        sys.stdin.isatty()
        and sys.stdout.isatty()
        and os.environ.get("TERM", "dumb") not in ("", "dumb")
    )


def _run(prompt):
    """Run the prompt to its end.  Returns the exit status."""
    if prompt.interactive:
        # Here, as a pipe needs none of it.
        from larder.lab.terminal import converse

        _greet(prompt.device)
        converse(prompt)
        return prompt.status or 0
    read_lines(prompt, iter(sys.stdin.readline, ""))
    return prompt.status or int(prompt.failed)


def _refuse(why):
    print(f"larder lab: {plain(why)}", file=sys.stderr)
    return 2


def main():
    options = _parser().parse_args()
    install()
    sys.displayhook = _show_value
    sys.argv = [""]
    try:
        prompt = Prompt(options, _is_terminal() and not options.json)
    except LabError as error:
        return _refuse(error)
    try:
        status = _run(prompt)
    except KeyboardInterrupt:
        status = 130
    except BrokenPipeError:
        # The reader is gone; nothing must be written when Python exits, either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    if options.snapshot:
        try:
            prompt.session.write_snapshot(options.snapshot)
        except LabError as error:
            return _refuse(error)
    return status


if __name__ == "__main__":
    # What is typed becomes __main__, but this module must stay alive.
    _kept = sys.modules["__main__"]
    sys.exit(main())
