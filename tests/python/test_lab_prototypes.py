"""What the package believes of the library's functions is what the headers
say."""

import os
import re
import unittest

import lab_case
from larder._library import (
    PROTOTYPES,
    DeviceProperties,
    Frame,
    Function,
    HistoryOptions,
    Memory,
    Options,
    RandomState,
    Rnn,
    RnnGrads,
    Window,
)

ROOT = os.path.dirname(lab_case.PACKAGE_DIR)
HEADERS = (
    "lab/include/larder/lab.h",
    "lab/include/larder/lab_raw.h",
    "include/larder/larder.h",
    "include/larder/history.h",
    "include/larder/device.h",
)

LETTERS = {
    "void": "v",
    "bool": "b",
    "int": "i",
    "unsigned": "u",
    "double": "d",
    "size_t": "z",
    "int64_t": "q",
    "uint64_t": "Q",
    "larder_result": "i",
    "larder_policy": "i",
    "lab_dtype": "i",
    "lab_place": "i",
    "lab_optimizer_kind": "i",
    "lab_reduction": "i",
    "larder_stream": "Q",
}
# What is called from Python in no way: its optimizers are its own.
NOT_BOUND = {
    "lab_set_observer",
    "lab_optimizer_options_init_sized",
    "lab_optimizer_create",
    "lab_optimizer_destroy",
    "lab_optimizer_step",
    "lab_optimizer_zero_grad",
    "lab_optimizer_lr",
    "lab_optimizer_set_lr",
}


def text():
    found = ""
    for name in HEADERS:
        with open(os.path.join(ROOT, name), encoding="utf-8") as file:
            found += file.read()
    found = re.sub(r"/\*.*?\*/", " ", found, flags=re.S)
    shape = re.search(r"#define LAB_SHAPE((?:.*\\\n)*.*)\n", found).group(1)
    found = re.sub(r"^[ \t]*#(?:.*\\\n)*.*$", " ", found, flags=re.M)
    return re.sub(r"\bLAB_SHAPE\b", shape.replace("\\\n", " "), found)


def letter(declared, returned=False):
    """The letter of `const int64_t *sizes`; names may be left out."""
    declared = re.sub(r"\bconst\b", " ", declared)
    if "*" in declared or "[" in declared:
        if returned and re.match(r"\s*char\s*\*", declared):
            return "s"
        if returned and re.match(r"\s*int64_t\s*\*", declared):
            return "n"
        return "s" if re.match(r"\s*char\s*\*\s*(?!buf|out)\w", declared) else "p"
    word = declared.split()[0]
    # Functions, under the names of their types.
    return LETTERS.get(word, "p")


def declared():
    """{name: (returns, takes)} of every function of the headers."""
    found = {}
    pattern = r"LARDER_API\s+([^;()]*?)(\w+)\(([^;]*)\);"
    for returns, name, takes in re.findall(pattern, text()):
        if takes.strip() == "void":
            parts = []
        else:
            # A function among the arguments is one pointer.
            plain = re.sub(
                r"\w+\s*\(\s*\*\s*\w+\s*\)\s*\([^()]*\)", "void *fn", takes
            )
            parts = plain.split(",")
        letters = "".join(letter(part) for part in parts)
        found[name] = (letter(returns, True), letters or "-")
    return found


def bound():
    words = PROTOTYPES.split()
    return {
        name: (returns, takes)
        for name, returns, takes in zip(words[::3], words[1::3], words[2::3])
    }


class Prototypes(unittest.TestCase):
    maxDiff = None

    def test_they_are_the_headers(self):
        headers = declared()
        expected = {name: headers.get(name) for name in bound()}
        self.assertEqual(bound(), expected)

    def test_none_of_the_labs_is_forgotten(self):
        labs = {name for name in declared() if name.startswith("lab_")}
        self.assertEqual(labs - set(bound()), NOT_BOUND)

    def test_structs_have_the_headers_fields(self):
        for struct, name in (
            (Memory, "lab_memory"),
            (Options, "lab_options"),
            (RandomState, "lab_random_state"),
            (Function, "lab_function"),
            (Window, "lab_window"),
            (Rnn, "lab_rnn"),
            (RnnGrads, "lab_rnn_grads"),
            (HistoryOptions, "larder_history_options"),
            (Frame, "larder_frame"),
            (DeviceProperties, "larder_device_props"),
        ):
            body = re.search(
                rf"typedef struct {name} \{{([^}}]*)\}} {name};", text(), re.S
            ).group(1)
            fields = [
                field
                for line in body.split(";")
                for field in re.findall(
                    r"(\w+)(?:\[\w+\]|\)\([^()]*\))?\s*(?:,|$)", line
                )
            ]
            self.assertEqual([field for field, _ in struct._fields_], fields)


if __name__ == "__main__":
    lab_case.main()
