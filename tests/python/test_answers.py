"""larder.report() and its like: the command's answers as objects."""

import contextlib
import dataclasses
import glob
import html
import io
import json
import os
import pathlib
import pickle
import re
import subprocess
import sys
import types
import typing
import unittest

import lab_case
from lab_case import HERE, RunCase

import larder
from larder import _results
from larder._command import command
from larder._typed import read

DATA = os.path.join(os.path.dirname(HERE), "data", "snapshots")
TRACE = os.path.join(os.path.dirname(os.path.dirname(HERE)), "data", "traces", "mlp_sgd.trace.zst")
OOM = os.path.join(DATA, "v2.8.pickle")
OTHER = os.path.join(DATA, "v2.6.pickle")
SMALL = {"capacity": "100MiB"}


def told(*words):
    run = subprocess.run(
        [command(), *words],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        check=False,
    )
    return run.stdout


def unknown(kind, value, where=""):
    """Keys of the JSON that the annotation does not know."""
    inside = typing.get_args(kind)
    if typing.get_origin(kind) is typing.Union:
        return unknown(inside[0], value, where)
    if isinstance(value, list) and inside:
        return [k for v in value for k in unknown(inside[0], v, where + "[]")]
    if not isinstance(value, dict) or not dataclasses.is_dataclass(kind):
        return []
    hints = typing.get_type_hints(kind)
    found = [f"{where}.{key}" for key in value if key not in hints]
    for key in value:
        found += unknown(hints.get(key), value[key], f"{where}.{key}")
    return found


class Answers(unittest.TestCase):
    def test_all_keys_of_the_command_are_fields(self):
        for path in glob.glob(os.path.join(DATA, "v2.*.pickle")) + [
            os.path.join(DATA, "two_devices.pickle"),
            TRACE,
        ]:
            answers = [larder.report(path), larder.replay(path, repeat=2)]
            answers.append(larder.replay(path, repeat=2, min_capacity=True))
            answers.append(larder.fit(path, **SMALL))
            answers.append(larder.diff(path, OTHER))
            if path != TRACE:  # which takes seconds
                answers.append(larder.tune(path))
            for one in answers:
                with self.subTest(path=path, kind=type(one).__name__):
                    self.assertEqual(unknown(type(one), one.json), [])

    def test_fields_are_the_command_s_figures(self):
        said = json.loads(told("report", OOM, "--json"))
        report = larder.report(OOM)
        self.assertEqual(report.json, said)
        device = said["devices"][0]
        self.assertEqual(report.verdict.what, device["verdict"]["what"])
        self.assertEqual(
            report.devices[0].top[1].frame, device["top"][1]["frame"]
        )
        self.assertEqual(report.devices[0].ooms[0].asked_bytes, 3 << 30)
        fit = larder.fit(OOM, **SMALL)
        self.assertIs(fit.fits, False)
        self.assertEqual(fit.capacity_bytes, 100 << 20)
        self.assertIs(larder.fit(OOM, capacity=80 << 30).fits, True)
        self.assertEqual(larder.fit(OOM, gpu="rtx4090").verdict, "fits")
        self.assertFalse(larder.diff(OOM, OTHER).same)
        self.assertTrue(larder.diff(OOM, OOM).same)
        self.assertEqual(larder.replay(OOM).runs[0].oom_op, 38)
        self.assertIsNone(larder.tune(OOM).best.conf)

    def test_several_are_ranks(self):
        for many in (larder.report(OOM, OTHER, OOM), larder.report(DATA)):
            self.assertEqual(unknown(type(many), many.json), [])
            self.assertIsInstance(many, larder.Ranks)
        many = larder.report(OOM, OTHER, OOM)
        self.assertEqual([one.file for one in many.ranks], [OOM, OTHER, OOM])
        self.assertEqual((many.failed, many.worst), (3, 0))
        self.assertEqual(many.common.cause_ranks, 2)
        self.assertEqual(many.allocated_bytes.max, 94518784)
        self.assertEqual(many.outliers[0].rank, 1)
        self.assertLess(many.outliers[0].over_bytes, 0)
        self.assertIn("<title>v2.8.pickle</title>", many.page)
        self.assertEqual(
            str(many), told("report", OOM, OTHER, OOM).rstrip("\n")
        )

    def test_text_is_the_command_s(self):
        for one, words in (
            (larder.report(OOM), ["report", OOM]),
            (larder.report(OOM, by="module", top=3), ["report", OOM, "--by", "module", "--top", "3"]),
            (larder.fit(OOM, **SMALL), ["fit", OOM, "--capacity", "100MiB"]),
            (larder.tune(OOM), ["tune", OOM]),
            (larder.diff(OOM, OTHER), ["diff", OOM, OTHER]),
            (larder.replay(OOM), ["replay", OOM, "--repeat", "0"]),
        ):
            self.assertEqual(str(one), told(*words).rstrip("\n"), words)

    def test_the_verdict_is_of_the_device_that_failed(self):
        def device(number, ooms, reserved):
            made = dict(larder.report(OOM).json["devices"][0])
            made.update(device=number, oom_events=ooms)
            made["peak_reserved_bytes"] = reserved
            made["verdict"] = dict(made["verdict"], what=str(number))
            return made

        def what(*devices):
            said = {"file": "", "devices": list(devices), "lost_events": 0}
            return read(_results.Report, said).verdict.what

        self.assertEqual(what(device(0, 0, 9), device(1, 1, 5)), "1")
        self.assertEqual(what(device(0, 0, 9), device(1, 0, 10)), "1")

    def test_they_do_not_change_and_travel_with_their_text(self):
        with open(OOM, "rb") as file:
            report = larder.report(file)
        with self.assertRaises(dataclasses.FrozenInstanceError):
            report.events = 3
        sent = pickle.dumps(report)
        text = str(report)
        del report
        again = pickle.loads(sent)
        self.assertEqual(str(again), text)
        self.assertEqual(again.peak_reserved_bytes, 120 << 20)
        self.assertIn("<pre>", again._repr_html_())

    def test_a_notebook_shows_the_page(self):
        shown = larder.report(OOM)._repr_html_()
        self.assertTrue(shown.startswith('<iframe sandbox="allow-scripts"'))
        page = re.search(r'srcdoc="([^"]*)"', shown).group(1)
        self.assertEqual(html.unescape(page), told("view", OOM, "-o", "-"))
        shown = larder.fit(OOM, **SMALL)._repr_html_()
        self.assertTrue(shown.startswith("<pre>"))
        self.assertNotIn("<larder", shown)

    def test_answers_of_another_version_are_refused(self):
        with self.assertRaisesRegex(larder.Error, "lost_events.*same version"):
            read(_results.Report, {"file": "a", "devices": []})
        with self.assertRaisesRegex(larder.Error, r"devices\[0\].*an object"):
            read(_results.Report, {"file": "", "devices": [1], "lost_events": 0})
        with self.assertRaisesRegex(larder.Error, "of type int.*True"):
            read(_results.Report, {"file": "", "devices": [], "lost_events": True})


class Sources(RunCase):
    def setUp(self):
        super().setUp()
        self.expected = larder.report(OOM)

    def same(self, source, name):
        report = larder.report(source)
        self.assertEqual(report.devices, self.expected.devices)
        self.assertEqual(report.file, name)
        self.assertTrue(str(report).startswith(name + ", device 0"))

    def test_a_snapshot_may_be_anywhere(self):
        with open(OOM, "rb") as file:
            data = file.read()
        self.same(pathlib.Path(OOM), OOM)
        self.same(data, "snapshot")
        self.same(bytearray(data), "snapshot")
        self.same(io.BytesIO(data), "snapshot")
        self.same(pickle.loads(data), "snapshot")
        with open(OOM, "rb") as file:
            self.same(file, "v2.8.pickle")

    def test_a_url_is_opened_by_fsspec(self):
        opened = []

        @contextlib.contextmanager
        def file(url):
            with open(OOM, "rb") as source:
                yield source

        def open_files(url, mode):
            opened.append((url, mode))
            return [file(url)] * url.count("ranks") or [file(url)]

        sys.modules["fsspec"] = types.SimpleNamespace(open_files=open_files)
        self.addCleanup(sys.modules.pop, "fsspec")
        self.same("s3://bucket/oom.pickle", "v2.8.pickle")
        self.assertEqual(opened, [("s3://bucket/oom.pickle", "rb")])
        open_files = sys.modules["fsspec"]
        open_files.open_files = lambda url, mode: [file(url), file(url)]
        inputs = larder.fit("s3://bucket/*.pickle", **SMALL).inputs
        self.assertEqual(
            [one.file for one in inputs], ["v2.8.pickle", "1-v2.8.pickle"]
        )
        open_files.open_files = lambda url, mode: []
        with self.assertRaisesRegex(larder.Error, "no such file"):
            larder.report("s3://bucket/none.pickle")

    def test_without_fsspec_that_is_told(self):
        sys.modules["fsspec"] = None
        self.addCleanup(sys.modules.pop, "fsspec")
        with self.assertRaisesRegex(larder.Error, "pip install fsspec"):
            larder.report("s3://bucket/oom.pickle")

    def test_errors_are_the_command_s_words(self):
        def why(source):
            with self.assertRaises(larder.Error) as caught:
                larder.report(source)
            return str(caught.exception)

        self.assertEqual(
            why("none.pickle"),
            "none.pickle: cannot be opened: No such file or directory",
        )
        self.assertTrue(why(b"nonsense").startswith("snapshot: this is text"))
        self.assertIn("_snapshot()", why({"a": 1}))
        self.assertTrue(why("--json").startswith("./--json: cannot be opened"))
        with self.assertRaises(TypeError):
            larder.report(3)
        with self.assertRaisesRegex(larder.Error, "rtx4090"):
            larder.fit(OOM, gpu="rtx4091")

    def test_what_was_kept_for_a_report_goes_with_it(self):
        run = self.python(
            "-c",
            "import larder, tempfile, os, sys\n"
            "report = larder.report(open(sys.argv[1], 'rb').read())\n"
            "print(len(os.listdir(tempfile.gettempdir())))\n"
            "del report\n"
            "print(len(os.listdir(tempfile.gettempdir())))\n",
            OOM,
            TMPDIR=self.path(""),
        )
        self.assertEqual(run.stdout, "1\n0\n", run.stderr)


class Module(RunCase):
    def test_fit_stays_a_function_when_its_package_is_loaded(self):
        run = self.python(
            "-c",
            "import sys, larder\n"
            "import larder.fit.verdict\n"
            "print(larder.fit(sys.argv[1], capacity='100MiB').fits)\n",
            OOM,
        )
        self.assertEqual(run.stdout, "False\n", run.stderr)

    def test_importing_it_loads_next_to_nothing(self):
        run = self.python(
            "-c",
            "import sys, larder\n"
            "print([n for n in sys.modules if n.startswith('larder.')],"
            " 'ctypes' in sys.modules)",
        )
        self.assertEqual(run.stdout, "[] False\n", run.stderr)

    def test_all_names_are_there(self):
        for name in larder.__all__:
            self.assertIsNotNone(getattr(larder, name))
        with self.assertRaises(AttributeError):
            larder.nothing

    def test_a_program_is_estimated(self):
        estimate = larder.estimate("true", gpu="rtx4090")
        self.assertEqual(estimate.verdict, "no verdict")
        self.assertIsNone(estimate.fits)
        self.assertTrue(str(estimate).startswith("no verdict: the program used no GPU"))
        with self.assertRaisesRegex(larder.Error, "^none.py: there is no"):
            larder.estimate("none.py")


if __name__ == "__main__":
    lab_case.main()
