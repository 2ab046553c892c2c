"""Listings: Python files divided into cells that run one after another."""

import __future__

import ast
import collections
import io
import os
import re
import sys
import tokenize
import traceback
import types

from larder.lab.stacks import is_own

_MARK = re.compile(r"#\s?%%")

# Statements that run together, the number of the first line, their text, and
# the name of the file or of the part of it.
Cell = collections.namedtuple("Cell", "nodes line text path")


def _marks(source):
    """The lines that begin a cell: comments in the first column, but not
    inside strings."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [
        token.start[0]
        for token in tokens
        if token.type == tokenize.COMMENT
        and token.start[1] == 0
        and _MARK.match(token.string)
    ]


def _first_line(node):
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno] + [one.lineno for one in decorators])


def _text(nodes, lines):
    """The statements as one line of text."""
    first, last = _first_line(nodes[0]), nodes[-1].end_lineno
    text = lines[first - 1].strip()
    if len(nodes) == 1 and first == last:
        # Alone, even if others are on the same line.
        line = lines[first - 1].encode()
        text = line[nodes[0].col_offset : nodes[0].end_col_offset].decode()
    return text if first == last else f"{text} ... ({last - first + 1} lines)"


def cells(source, path, each_statement=False):
    """The cells of a listing.  Raises SyntaxError if it is not Python."""
    tree = ast.parse(source, path)
    marks = collections.deque(_marks(source))
    groups = [[]]
    for node in tree.body:
        new = each_statement
        while marks and marks[0] < _first_line(node):
            marks.popleft()
            new = True
        if new:
            groups.append([])
        groups[-1].append(node)
    lines = source.splitlines() or [""]
    return [
        Cell(nodes, _first_line(nodes[0]), _text(nodes, lines), path)
        for nodes in groups
        if nodes
    ]


def future_flags(nodes):
    """Compiler flags of `from __future__ import …`, which apply to all later
    cells."""
    flags = 0
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for name in node.names:
                feature = getattr(__future__, name.name, None)
                flags |= getattr(feature, "compiler_flag", 0)
    return flags


class Listing:
    """A file that runs as a program: as __main__, with sys.argv."""

    def __init__(self, path, arguments, each_statement=False):
        self.cells = self._read(path, each_statement)
        self._flags = 0
        self._module = types.ModuleType("__main__")
        self._module.__file__ = path
        self._module.__builtins__ = __builtins__
        sys.modules["__main__"] = self._module
        sys.argv = [path, *arguments]
        sys.path[0] = os.path.dirname(os.path.abspath(path))

    def _read(self, path, each_statement):
        with tokenize.open(path) as file:
            return cells(file.read(), path, each_statement)

    def run(self, cell):
        """Run a cell.  Raises what the listing raises."""
        self._flags |= future_flags(cell.nodes)
        code = compile(
            ast.Module(body=cell.nodes, type_ignores=[]),
            cell.path,
            "exec",
            flags=self._flags,
            dont_inherit=True,
        )
        exec(code, self._module.__dict__)


def _without_our_frames(error, seen):
    """The traceback without lines of this package, which would not help."""
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    error.stack[:] = [
        frame
        for frame in error.stack
        if not is_own(frame.filename)
    ]
    _without_our_frames(error.__cause__, seen)
    _without_our_frames(error.__context__, seen)


def describe(error):
    """The traceback of an exception, as shown to the author of the listing."""
    told = traceback.TracebackException.from_exception(error)
    _without_our_frames(told, set())
    return "".join(told.format())
