"""Notebooks: runs the code cells one after another."""

import ast
import json
import linecache
import sys

from larder.lab.listing import Cell, Listing, cells

# The beginnings of cells in other languages; %%time and the like are Python.
_PYTHON = ("%%time", "%%timeit", "%%capture", "%%prun", "%%python", "%%py")


class NotebookError(Exception):
    """The file is not a notebook; the message says what was expected, and where."""


def _sources(path):
    """The text of each code cell, with its index among all cells."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        content = json.loads(text)
    except ValueError as error:
        raise NotebookError(f"not a notebook: {error}") from None
    found = content.get("cells") if isinstance(content, dict) else None
    if not isinstance(found, list):
        raise NotebookError(
            "not a notebook of version 4: an object with a list `cells` was "
            "expected"
        )
    for number, cell in enumerate(found, 1):
        if not isinstance(cell, dict) or "cell_type" not in cell:
            raise NotebookError(f"cell {number}: no cell_type")
        if cell["cell_type"] == "code":
            source = cell.get("source", "")
            yield number, source if isinstance(source, str) else "".join(source)


def _say(path, number, what):
    print(f"{path}: cell {number}: {what}", file=sys.stderr)


def _without_magics(path, number, source):
    """The cell as Python.  IPython and shell commands become comments, and a
    warning names them."""
    lines = source.splitlines()
    first = next((line for line in lines if line.strip()), "")
    if first.startswith("%%") and not first.startswith(_PYTHON):
        _say(path, number, f"left out, not Python: {first.split()[0]}")
        return ""
    for i, line in enumerate(lines):
        if line.lstrip().startswith(("%", "!", "?")):
            _say(path, number, f"left out: {line.strip()}")
            indent = line[: len(line) - len(line.lstrip())]
            # It may be the only statement of a block.
            lines[i] = f"{indent}pass" if indent else ""
    return "\n".join(lines) + "\n"


def _shown(nodes, source):
    """Print the value of a last line that is an expression, as notebooks do,
    unless it ends in a semicolon."""
    last = nodes[-1]
    if not isinstance(last, ast.Expr) or source.rstrip().endswith(";"):
        return nodes
    call = ast.parse("__import__('sys').displayhook()").body[0]
    for node in ast.walk(call):
        ast.copy_location(node, last)
    call.value.args = [last.value]
    return [*nodes[:-1], call]


class Notebook(Listing):
    """An .ipynb file; each of its cells is called PATH[NUMBER]."""

    def _read(self, path, each_statement):
        found = []
        for number, source in _sources(path):
            source = _without_magics(path, number, source)
            name = f"{path}[{number}]"
            # So that a traceback can show its lines.
            linecache.cache[name] = (
                len(source),
                None,
                source.splitlines(True),
                name,
            )
            parts = cells(source, name, each_statement)
            if not parts:
                continue
            if not each_statement:
                nodes = [node for part in parts for node in part.nodes]
                first = parts[0]
                parts = [Cell(nodes, first.line, _headed(parts), name)]
            *others, last = parts
            shown = last._replace(nodes=_shown(last.nodes, source))
            found += [*others, shown]
        return found


def _headed(parts):
    """The cell's first line, and its number of lines."""
    first, last = parts[0], parts[-1]
    end = last.nodes[-1].end_lineno
    text = first.text.partition(" ... (")[0]
    lines = end - first.line + 1
    return text if lines == 1 else f"{text} ... ({lines} lines)"
