"""What `larder run` says of runs, made up here: no PyTorch is needed."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import lab_case
from larder.fit import __main__ as command
from larder.fit import ledger, running, steps, wordings

MIB = lab_case.MIB


def record(size):
    return [size, 0, "", "", "", "", 0, None, 0]


class Book(ledger.Ledger):
    """A ledger filled step by step."""

    def __init__(self):
        super().__init__()
        self.kept = []

    def step(self, temporary, leaks=0):
        if leaks:
            self.kept.append(self.add(record(leaks)))
        self.drop(self.add(record(temporary)))
        self.mark("step")


class Steps(unittest.TestCase):
    def watched(self, *made):
        """The watcher after steps of (temporary, leaked) bytes."""
        book = Book()
        watcher = steps.Watcher(book, None)
        for one in made:
            book.step(*one)
            if watcher.is_steady():
                break
        return watcher

    def test_a_leak_is_not_a_repeated_step_without_growth(self):
        watcher = self.watched(*[(352 * MIB, 16 * MIB)] * 5)
        self.assertTrue(watcher.repeats)
        self.assertEqual(watcher.grows_bytes(), 16 * MIB)

    def test_steps_that_keep_nothing_do_not_grow(self):
        watcher = self.watched(*[(352 * MIB, 0)] * 5)
        self.assertEqual((watcher.steps, watcher.grows_bytes()), (2, 0))

    def test_batches_that_grow_never_repeat_and_are_told(self):
        watcher = self.watched(*[((100 + 8 * n) * MIB, 0) for n in range(6)])
        self.assertFalse(watcher.repeats)
        self.assertEqual((watcher.steps, watcher.grows_bytes()), (6, 8 * MIB))

    def test_what_goes_up_and_down_does_not_grow(self):
        watcher = self.watched((1, 0), (2, 0), (3, 0), (2, 0), (4, 0))
        self.assertEqual(watcher.grows_bytes(), 0)

    def test_the_first_step_shows_no_trend(self):
        self.assertEqual(self.watched((1, 0), (2, 0), (3, 0)).grows_bytes(), 0)


def made_run(sizes, **more):
    """A run that asked for these sizes and kept them."""
    return {
        **running._NOTHING, "sizes": sizes, "how": "steady", "steps": 4,
        "repeats": True, "seconds": 1.0, "requests": len(sizes),
        "peak_requested_bytes": sum(sizes), "kinds": [["parameters", sum(sizes)]],
        "optimizer": "AdamW", **more,
    }


class Runs:
    """In the place of the runner: `runs` are told one after another; a
    function is asked with how the run was to be."""

    def __init__(self, folder, runs):
        self._folder, self._runs = folder, list(runs)
        self.asked = []

    def __call__(self, options, card, engine, kind):
        return self

    def close(self):
        pass

    def file(self, name):
        return os.path.join(self._folder, name)

    def run(self, device, arguments=None, **how):
        self.asked.append({"device": device, "arguments": arguments, **how})
        one = self._runs.pop(0) if len(self._runs) > 1 else self._runs[0]
        told = dict(one(self.asked[-1]) if callable(one) else one)
        told["trace"] = self.file(f"trace{len(self.asked)}")
        with open(told["trace"], "w", encoding="utf-8") as out:
            for number, size in enumerate(told.pop("sizes")):
                out.write(f"a {number} {size}\n")
        told.setdefault("ran_out", told["how"] == "out of memory")
        return {**told, "device": device, "engine": "fake"}


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.script = os.path.join(self.folder, "train.py")
        with open(self.script, "w", encoding="utf-8") as file:
            file.write("rows = 8\n")

    def run_it(self, runs, *words):
        """(exit status, standard output, standard error)"""
        self.runs = Runs(self.folder, runs)
        out, err = io.StringIO(), io.StringIO()
        with mock.patch.object(command, "Runner", self.runs), mock.patch.object(
            command.engines, "of", lambda options, kind: "fake"
        ), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = command.main([*words, self.script])
        return status, out.getvalue(), err.getvalue()

    def report(self, runs, *words):
        """(exit status, the report as JSON, its text)"""
        status, out, _ = self.run_it(runs, "--json", *words)
        return status, json.loads(out), self.run_it(runs, *words)[1]


class Verdicts(Case):
    def no_verdict(self, run, first, status=2):
        got, told, text = self.report([run])
        self.assertEqual(got, status)
        self.assertEqual(text.splitlines()[0], first)
        self.assertNotIn("fit on", text)
        self.assertEqual(told["verdict"], "no verdict")
        self.assertIsNone(told["fits"])
        self.assertNotIn("cards", told)
        self.assertFalse(told["scope"]["ended"])

    def test_a_program_that_failed_has_no_verdict(self):
        run = made_run([MIB], how="failed", steps=3)
        self.no_verdict(run, "no verdict: failed after 3 steps")

    def test_nor_has_one_that_failed_at_once(self):
        run = made_run([], how="failed", steps=0)
        self.no_verdict(run, "no verdict: failed after 0 steps")

    def test_nor_one_that_was_interrupted_and_130_says_so(self):
        run = made_run([MIB], how="interrupted", steps=1)
        self.no_verdict(run, "no verdict: interrupted after 1 step", 130)

    def test_one_that_used_no_gpu_has_none(self):
        run = made_run([], how="ended", steps=0)
        status, told, text = self.report([run])
        self.assertEqual(status, 2)
        self.assertEqual(text.splitlines()[0], "no verdict: the program used no GPU")
        self.assertIsNone(told["fits"])

    def test_each_assumption_is_told_in_a_sentence(self):
        words = [value for name, value in vars(wordings).items() if name.isupper()]
        words.remove(wordings.TEXTS)
        self.assertEqual(words, list(wordings.TEXTS))
        assumed = [[what, "program.py:3", "at most"] for what in words]
        status, told, text = self.report([made_run([MIB], assumed=assumed)])
        self.assertEqual(told["assumed"], assumed)
        for sentence in wordings.TEXTS.values():
            self.assertIn(
                f"at most this is needed, assuming that {sentence} (program.py:3)",
                text.splitlines(),
            )

    def test_what_fits_says_how_far_it_was_looked(self):
        status, told, text = self.report([made_run([MIB])])
        self.assertEqual(status, 0)
        self.assertIn(
            "the first 4 steps; what follows was not run (--steps all)",
            text.splitlines()[0],
        )
        self.assertEqual((told["verdict"], told["fits"]), ("fits", True))
        self.assertEqual(
            told["scope"], {"steps": 4, "ended": False, "grows_bytes_per_step": 0}
        )
        self.assertEqual(told["engine"], "fake")
        self.assertEqual(told["min_capacity_bytes"], 2 * MIB)
        self.assertEqual(told["by_category"], {"parameters": MIB})

    def test_a_run_to_the_end_is_called_one(self):
        _, told, text = self.report([made_run([MIB], how="ended")])
        self.assertIn("to its end, 4 steps", text.splitlines()[0])
        self.assertTrue(told["scope"]["ended"])

    def test_what_grows_is_told_with_the_step_that_fills_the_card(self):
        run = made_run([4 * MIB], grows_bytes_per_step=16 * MIB)
        _, told, text = self.report([run], "--device", "sim:64MiB")
        self.assertEqual(told["scope"]["grows_bytes_per_step"], 16 * MIB)
        room = 64 * MIB - told["min_capacity_bytes"]
        full = 4 + room // (16 * MIB) + 1
        self.assertEqual(told["full_at_step"], full)
        self.assertIn(
            "each step needs 16.00 MiB more than the one before: the card is "
            f"full at step {full}",
            text,
        )

    def test_what_takes_a_million_steps_is_no_growth_worth_a_line(self):
        run = made_run([4 * MIB], grows_bytes_per_step=4)
        self.assertNotIn("each step needs", self.report([run])[2])

    def test_memory_that_ran_out_before_a_failure_does_not_fit(self):
        runs = [
            made_run([MIB], how="out of memory"),
            made_run([900 * MIB], how="failed"),
        ]
        words = ("--device", "sim:64MiB", "--advise", "never")
        status, out, _ = self.run_it(runs, *words)
        self.assertEqual(status, 1)
        first = out.splitlines()[0]
        self.assertTrue(first.startswith("does not fit"), first)
        self.assertIn("at least", first)
        self.assertIn("failed after 4 steps", first)


class Search(Case):
    def test_what_changes_nothing_is_refused(self):
        status, out, err = self.run_it([made_run([MIB])], "--max", "foo=1..8")
        self.assertEqual((status, out), (2, ""))
        self.assertIn("--foo changes nothing: with 1 and with 8", err)

    def test_what_changes_something_is_answered(self):
        def of(how):
            return made_run([int(how["arguments"][-1]) * MIB])

        words = ("--device", "sim:64MiB", "--max", "foo=1..500")
        status, out, _ = self.run_it([of], "--json", *words)
        self.assertEqual(status, 0)
        self.assertEqual(json.loads(out)["largest"], 64)

    def test_the_highest_is_answered_after_two_runs_where_it_fits(self):
        def of(how):
            return made_run([int(how["arguments"][-1]) * MIB])

        words = ("--device", "sim:64MiB", "--max", "foo=1..60")
        self.assertIn("--foo 60 is the largest", self.run_it([of], *words)[1])
        self.assertEqual(len(self.runs.asked), 2)

    def test_a_program_that_fails_is_told_with_its_error(self):
        run = made_run([], how="failed", error="train.py: error: no such --foo")
        status, _, err = self.run_it([run], "--max", "foo=1..8")
        self.assertEqual(status, 2)
        self.assertIn("no such --foo", err)

    def test_one_that_uses_no_gpu_is_refused(self):
        run = made_run([], how="ended")
        status, _, err = self.run_it([run], "--max", "foo=1..8")
        self.assertEqual(status, 2)
        self.assertIn("used no GPU", err)

    def test_ctrl_c_ends_it_with_130(self):
        run = made_run([MIB], how="interrupted")
        self.assertEqual(self.run_it([run], "--max", "foo=1..8")[0], 130)


class Savings(Case):
    def test_a_saving_is_what_the_whole_run_with_the_change_needs_less(self):
        def of(how):
            if not how.get("changes"):
                return made_run([800 * MIB])
            made = dict.fromkeys(how["changes"], "it")
            return made_run([400 * MIB], changes_made=made)

        _, out, _ = self.run_it([of], "--json", "--advise", "always")
        told = json.loads(out)
        for one in told["advice"]:
            self.assertEqual(one["need"], 400 * MIB)
            self.assertEqual(
                one["saves"], told["min_capacity_bytes"] - one["need"]
            )
        self.assertTrue(told["advice"])

    def test_a_change_is_run_as_far_as_the_program_was(self):
        for run, steps_asked in (
            (made_run([MIB]), 4),
            (made_run([MIB], how="ended"), 0),
        ):
            self.run_it([run], "--advise", "always")
            self.assertGreater(len(self.runs.asked), 1)
            for asked in self.runs.asked[1:]:
                self.assertEqual(asked["steps"], steps_asked)

    def test_a_change_that_failed_saves_nothing(self):
        def of(how):
            if how.get("changes"):
                return made_run([1], how="failed", changes_made={"half": "x"})
            return made_run([MIB])

        _, out, _ = self.run_it([of], "--json", "--advise", "always")
        self.assertEqual(json.loads(out)["advice"], [])


class Words(Case):
    def test_a_report_of_its_own_leaves_the_output_to_the_program(self):
        path = os.path.join(self.folder, "report.json")
        status, out, _ = self.run_it([made_run([MIB])], f"--json={path}")
        self.assertEqual((status, out), (0, ""))
        with open(path, encoding="utf-8") as file:
            self.assertTrue(json.load(file)["fits"])

    def test_the_words_of_the_program_are_not_ours(self):
        read = command.reading.read
        told = read(["--max", "a=1..2", "--json", "train.py", "--json=x", "-m"])
        self.assertEqual((told.json, told.json_file), (True, None))
        self.assertEqual(told.arguments, ["--json=x", "-m"])

    def test_a_card_and_a_device_are_one_too_many(self):
        err = io.StringIO()
        with contextlib.redirect_stderr(err), self.assertRaises(SystemExit) as end:
            command.reading.read(["--gpu", "a10", "--device", "sim:1GiB", "x.py"])
        self.assertEqual(end.exception.code, 2)
        self.assertIn("not allowed with", err.getvalue())


# In the place of PyTorch.
TORCH = """
import os, sys, time
print("said by the program")
sys.stdout.flush()
if "LARDER_TEST_SLEEP" in os.environ:
    with open(os.environ["LARDER_TEST_SLEEP"] + "/pid", "w") as file:
        print(os.getpid(), file=file)
    time.sleep(600)
raise ImportError("a torch that cannot work")
"""


class Processes(Case):
    def start(self, *words, **environment):
        place = os.path.join(self.folder, "torch")
        os.makedirs(place)
        with open(os.path.join(place, "__init__.py"), "w", encoding="utf-8") as file:
            file.write(TORCH)
        self.temporary = os.path.join(self.folder, "tmp")
        os.makedirs(self.temporary)
        path = os.pathsep.join([self.folder, lab_case.PACKAGE_DIR])
        return subprocess.Popen(
            [sys.executable, "-B", "-m", "larder.fit", *words, self.script],
            env={**os.environ, **environment, "PYTHONPATH": path,
                 "TMPDIR": self.temporary},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )

    def test_json_has_the_standard_output_to_itself(self):
        out, err = self.start("--json").communicate(timeout=60)
        self.assertEqual(out, "")
        self.assertIn("said by the program", err)
        self.assertIn("a torch that cannot work", err)

    def test_a_file_of_json_leaves_it_to_the_program(self):
        path = os.path.join(self.folder, "report.json")
        out, _ = self.start(f"--json={path}").communicate(timeout=60)
        self.assertEqual(out, "said by the program\n")

    def pid(self):
        path = os.path.join(self.folder, "pid")
        for _ in range(600):
            with contextlib.suppress(OSError, ValueError):
                with open(path, encoding="utf-8") as file:
                    return int(file.read())
            time.sleep(0.1)
        self.fail("the program did not begin")

    def test_a_signal_ends_the_program_and_removes_its_files(self):
        run = self.start(LARDER_TEST_SLEEP=self.folder)
        program = self.pid()
        self.assertTrue(os.listdir(self.temporary))
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=60)
        self.assertEqual(run.returncode, 128 + signal.SIGTERM)
        self.assertEqual(os.listdir(self.temporary), [])
        with self.assertRaises(ProcessLookupError):
            os.kill(program, 0)


if __name__ == "__main__":
    unittest.main()
