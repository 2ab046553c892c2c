"""Runs a script with other numbers at its top level, or a notebook, in place of the
Python interpreter: python3 -m larder.fit.changed SETTINGS"""

import json
import os
import sys
import types


def _as_main(path):
    program = types.ModuleType("__main__")
    program.__file__ = path
    sys.modules["__main__"] = program
    return vars(program)


def run_script(path, numbers):
    from larder.fit import assignments

    exec(assignments.compiled(path, numbers), _as_main(path))


def run_notebook(path, arguments):
    """Run the cells one after another."""
    from larder.lab.notebook import Notebook

    book = Notebook(path, arguments)
    for cell in book.cells:
        book.run(cell)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        settings = json.load(file)
    path = settings["script"]
    sys.argv = [path, *settings["arguments"]]
    sys.path[0] = os.path.dirname(os.path.abspath(path))
    if settings["kind"] == "notebook":
        run_notebook(path, settings["arguments"])
    else:
        run_script(path, settings["numbers"])


if __name__ == "__main__":
    main()
