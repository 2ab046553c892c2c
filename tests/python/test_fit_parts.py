"""The parts of `larder run` that need no PyTorch."""

import ctypes
import importlib
import os
import sys
import tempfile
import types
import unittest
from unittest import mock

import lab_case  # noqa: F401  the package is found beside the tests
from larder._finding import candidates
from larder._plain import plain
from larder.fit import (
    advice, assignments, cards, engines, programs, search, sizes, verdict,
)


def made_file(case, text, suffix):
    """The path of a file that is gone after the test."""
    file = tempfile.NamedTemporaryFile("w", suffix=suffix, delete=False)
    case.addCleanup(os.unlink, file.name)
    with file:
        file.write(text)
    return file.name


def _total_bytes(name):
    """Of the simulated GPU of this name, as the library has it."""
    library = ctypes.CDLL(next(p for p in candidates(("liblarder.so.0",)) if os.path.exists(p)))
    device = ctypes.c_void_p()
    free, total = ctypes.c_uint64(), ctypes.c_uint64()
    spec = f"sim:{name},backing=none".encode()
    assert library.larder_device_open(spec, 0, ctypes.byref(device)) == 0
    library.larder_device_mem_info(device, ctypes.byref(free), ctypes.byref(total))
    library.larder_device_close(device)
    return total.value


class Plain(unittest.TestCase):
    def test_a_terminal_obeys_nothing_of_a_text(self):
        for text, shown in (
            ("a\x1b[31m\x07\x9b\x7fb", "a?[31m???b"),
            ("a\tb\nc", "a b c"),
            ("\u202eturned\u2066\u061c\u200e\u2028", "?turned????"),
            ("\u00e9 \u2027\u202f \U0001f600", "\u00e9 \u2027\u202f \U0001f600"),
        ):
            self.assertEqual(plain(text), shown)


class Sizes(unittest.TestCase):
    def test_a_spec_has_its_bytes(self):
        self.assertEqual(sizes.of_spec("sim:24GiB"), 24 << 30)
        self.assertEqual(sizes.of_spec("sim:512"), 512)
        self.assertEqual(sizes.of_spec("sim:3m,vmm=off"), 3 << 20)

    def test_what_is_no_spec_is_refused(self):
        for spec in ("24GiB", "cuda:0", "sim:", "sim:many", "sim:1XiB"):
            with self.assertRaises(ValueError, msg=spec):
                sizes.of_spec(spec)


class Cards(unittest.TestCase):
    def table(self, text):
        return made_file(self, text, ".tsv")

    def test_the_bundled_table_can_be_read(self):
        known = cards.read()
        self.assertGreater(len(known), 5)
        card = cards.find(known, "RTX4090")
        self.assertEqual(card.capability, (8, 9))
        self.assertTrue(23 << 30 < card.total_bytes < 24 << 30)

    def test_a_wrong_line_is_named(self):
        path = self.table("# a table\nx\ta card\t10\n")
        with self.assertRaisesRegex(cards.CardError, ":2: 3 columns"):
            cards.read(path)
        path = self.table("x\ta card\tmany\t1\t8.0\t10\there\n")
        with self.assertRaisesRegex(cards.CardError, ":1: expected numbers"):
            cards.read(path)

    def test_groups_are_rows_of_their_own(self):
        path = self.table("nccl\t2\t10\there\nnccl\t4\t30\there\n")
        self.assertEqual(cards.read(path), [])
        for sizes, taken in (([], 0), ([1], 0), ([2], 10), ([3, 8], 40)):
            self.assertEqual(cards.groups_bytes(sizes, path), taken << 20)
        path = self.table("nccl\ttwo\t10\there\n")
        with self.assertRaisesRegex(cards.CardError, ":1: expected nccl"):
            cards.groups_bytes([2], path)

    def test_groups_count_on_cards_alone(self):
        card = cards.find(cards.read(), "a10")
        self.assertEqual(cards.with_groups(card, 5).nccl_bytes, 5)
        asked = card._replace(id="")
        self.assertEqual(cards.with_groups(asked, 5), asked)

    def test_each_name_is_the_library_s_too(self):
        for card in cards.read():
            for name in (card.id, *card.other_ids, card.id.upper(), "NVIDIA " + card.id):
                self.assertEqual(cards.find(cards.read(), name), card, msg=name)
                self.assertEqual(_total_bytes(name), card.total_bytes, msg=name)
        self.assertEqual(cards.named(cards.read(), "sim:4090,vmm=off").id, "rtx4090")
        self.assertIsNone(cards.named(cards.read(), "sim:24GiB"))

    def test_a_typo_is_told_the_nearest(self):
        for name, nearest in (("rtx4900", "rtx4090"), ("a100", "a100-40")):
            with self.assertRaisesRegex(cards.CardError, f"did you mean {nearest}?"):
                cards.find(cards.read(), name)

    def test_an_unknown_card_is_told_the_known_ones(self):
        with self.assertRaisesRegex(cards.CardError, "rtx4090"):
            cards.find(cards.read(), "rtx9999")


class Search(unittest.TestCase):
    def test_a_range_is_read(self):
        self.assertEqual(search.parse("batch_size=4..512"), ("batch_size", 4, 512))
        for text in ("batch", "b=4", "b=9..4", "b=0..4", "b=a..b"):
            with self.assertRaises(search.SearchError, msg=text):
                search.parse(text)

    def test_an_argument_is_replaced_where_it_stands(self):
        change = search.with_value
        self.assertEqual(change(["--bs", "4", "x"], "bs", 8), ["--bs", "8", "x"])
        self.assertEqual(change(["--bs=4"], "bs", 8), ["--bs=8"])
        self.assertEqual(
            change(["--batch-size", "4"], "batch_size", 8), ["--batch-size", "8"]
        )
        self.assertEqual(change(["x"], "bs", 8), ["x", "--bs", "8"])

    def test_the_largest_that_fits_is_found_in_few_runs(self):
        for most in (4, 5, 77, 511, 512):
            looking = search.Search(None, None, None)
            looking._fits = lambda name, value, most=most: (
                looking.tried.setdefault(value, 0) == 0 and value <= most
            )
            self.assertEqual(looking.largest("b", 4, 512), most)
            self.assertLess(len(looking.tried), 12)
        self.assertIsNone(looking.largest("b", 513, 600))


class Commands(unittest.TestCase):
    def test_each_process_of_a_launcher_has_a_card(self):
        for words, count in (
            (["--nproc-per-node", "2", "x.py"], 2),
            (["--nproc_per_node=4", "x.py"], 4),
            (["serve", "m", "--tensor-parallel-size", "8"], 8),
            (["--nproc-per-node=gpu", "x.py"], 1),
            (["nproc-per-node", "2"], 1),
            ([], 1),
        ):
            self.assertEqual(programs.card_count(words), count, words)

    def kind(self, path, module=False):
        return programs.kind_of(types.SimpleNamespace(script=path, module=module))

    def test_a_program_is_what_its_file_is(self):
        self.assertEqual(self.kind("train.py"), "script")
        self.assertEqual(self.kind("x.ipynb"), "notebook")
        self.assertEqual(self.kind("timeit", True), "module")
        self.assertEqual(self.kind("sh"), "command")
        self.assertEqual(self.kind("/bin/sh"), "binary")
        self.assertEqual(self.kind(made_file(self, "print(1)", "")), "script")
        launcher = made_file(self, "#!/bin/sh\n", "")
        self.assertEqual(self.kind(launcher), "script")
        os.chmod(launcher, 0o755)
        self.assertEqual(self.kind(launcher), "command")
        self.assertEqual(self.kind("nothing-of-this-name"), "script")


class Engines(unittest.TestCase):
    def build(self, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        place = os.path.join(folder.name, "torch")
        os.makedirs(place)
        for name, content in (("__init__.py", "1/0"), ("version.py", text)):
            with open(os.path.join(place, name), "w", encoding="utf-8") as file:
                file.write(content)
        with mock.patch.object(sys, "path", [folder.name]):
            importlib.invalidate_caches()
            return engines.torch_build()

    def test_what_pytorch_was_built_for_is_read_without_importing_it(self):
        text = "__version__ = '2.8.0'\ncuda: Optional[str] = {}\nhip = None\n"
        self.assertEqual(self.build(text.format("'12.8'")), ("2.8.0", "12.8"))
        self.assertEqual(self.build(text.format("None")), ("2.8.0", None))
        with self.assertRaisesRegex(engines.EngineError, "ROCm"):
            self.build("__version__ = '2.8.0'\ncuda = None\nhip: str = '6.2'\n")

    def chosen(self, build, kind="script", **given):
        options = types.SimpleNamespace(
            **{
                "engine": None, "real_cpu": False, "on_item": None, "module": False,
                "script": "train.py", **given,
            }
        )
        with mock.patch.object(engines, "torch_build", lambda: build), mock.patch.object(
            engines, "_is_here", lambda library: True
        ):
            engine = engines.of(options, kind)
            engines.check(options, engine)
            return engine

    def test_the_engine_is_that_of_the_build_unless_one_is_named(self):
        self.assertEqual(self.chosen(("2.8", "12.8")), "stand-in")
        self.assertEqual(self.chosen(("2.8", "12.8"), engine="fake"), "fake")
        self.assertEqual(self.chosen(("2.8", "12.8"), real_cpu=True), "fake")
        self.assertEqual(self.chosen(("2.8", None)), "fake")
        with self.assertRaisesRegex(engines.EngineError, "is CPU-only"):
            self.chosen(("2.8", None), engine="stand-in")
        with self.assertRaisesRegex(engines.EngineError, "pip install torch"):
            self.chosen(None)


    def test_a_launcher_needs_the_other_engine(self):
        run = {"kind": "command", "script": "/usr/bin/torchrun"}
        self.assertEqual(self.chosen(("2.8", "12.8"), **run), "stand-in")
        self.assertEqual(self.chosen(None, engine="stand-in", **run), "stand-in")
        module = {"kind": "module", "module": True, "script": "torch.distributed.run"}
        for words in (run, module):
            with self.assertRaisesRegex(engines.EngineError, "--world-size N SCRIPT"):
                self.chosen(("2.8", None), **words)


class Script(unittest.TestCase):
    def script(self, text):
        return made_file(self, text, ".py")

    def test_its_own_numbers_are_those_it_gives_at_its_top(self):
        path = self.script(
            "rows = 8\nrows = 9\nwide: int = 3\nrate = 0.1\nok = True\n"
            "a = b = 4\nif rows:\n    inner = 5\ndef f():\n    own = 6\n"
        )
        self.assertEqual(assignments.numbers(path), {"rows": 8, "wide": 3})

    def test_what_is_no_python_has_none(self):
        self.assertEqual(assignments.numbers(self.script("rows = =\n")), {})
        self.assertEqual(assignments.numbers("/nowhere.py"), {})

    def test_other_numbers_take_their_place(self):
        path = self.script("rows = 8\nwide = 3\nboth = rows * wide\n")
        names = {}
        exec(assignments.compiled(path, {"rows": 5}), names)
        self.assertEqual((names["rows"], names["both"]), (5, 15))

    def options(self, text, *arguments):
        return types.SimpleNamespace(
            script=self.script(text), module=False, arguments=list(arguments)
        )

    def test_an_argument_goes_before_a_number(self):
        given = self.options("rows = 8\n", "--rows", "4")
        self.assertIsNone(search.number_of(given, "rows"))
        self.assertEqual(search.number_of(self.options("rows = 8\n"), "rows"), "rows")
        self.assertIsNone(search.number_of(self.options(""), "rows"))

    def test_the_batch_is_found_where_it_is_told(self):
        for arguments, half in (
            (["--batch-size", "8"], ["--batch-size", "4"]),
            (["--batch_size=8", "x"], ["--batch_size=4", "x"]),
            (["-b", "9", "x"], ["-b", "4", "x"]),
        ):
            found = advice.batch_of(self.options("batch_size = 32\n", *arguments))
            self.assertEqual(found[:2], (half, {}))
        found = advice.batch_of(self.options("BATCH_SIZE = 32\n", "x"))
        self.assertEqual(found[:2], (["x"], {"BATCH_SIZE": 16}))
        for given in (
            self.options("batch_size = 1\n"),
            self.options("", "--batch-size"),
            self.options("", "--batch-size", "1"),
            self.options("", "batch", "8"),
        ):
            self.assertIsNone(advice.batch_of(given))


class Verdict(unittest.TestCase):
    def card(self, name):
        return cards.Card(name, name, 1 << 30, 100 << 20, (8, 0), 1, "")

    def test_a_card_keeps_its_context_and_a_margin(self):
        card = self.card("x")
        room = (1 << 30) - (100 << 20) - verdict.MARGIN_BYTES
        self.assertTrue(verdict.fits(room, card))
        self.assertFalse(verdict.fits(room + 1, card))

    def test_a_size_that_was_asked_for_is_all_the_allocator_s(self):
        card = self.card("")._replace(context_bytes=0)
        self.assertTrue(verdict.fits(1 << 30, card))


if __name__ == "__main__":
    unittest.main()
