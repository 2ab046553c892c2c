"""Whatever the package writes is whole, or what was there stays."""

import os
import unittest

import lab_case
from lab_case import RunCase

from larder import lab
from larder._files import NewFile
from larder.fit.ledger import Ledger
from larder.lab import saving

OLD = "what was there\n"


class Files(RunCase):
    def setUp(self):
        super().setUp()
        self.file = self.path("file")
        self.write(OLD, "file")
        os.chmod(self.file, 0o640)

    def content(self):
        with open(self.file, encoding="utf-8") as file:
            return file.read()

    def test_a_file_takes_its_place_when_all_is_written(self):
        os.symlink("file", self.path("link"))
        with NewFile(self.path("link"), encoding="utf-8") as file:
            file.write("new\n")
            file.flush()
            self.assertEqual(self.content(), OLD)
        self.assertEqual(self.content(), "new\n")
        self.assertEqual(os.stat(self.file).st_mode & 0o777, 0o640)
        self.assertEqual(os.readlink(self.path("link")), "file")

    def test_a_pipe_that_nobody_reads_is_told(self):
        os.mkfifo(self.path("pipe"))
        with self.assertRaisesRegex(OSError, "nobody reads"):
            with NewFile(self.path("pipe")):
                pass

    def test_a_trace_cut_short_leaves_what_was_there(self):
        book = Ledger()
        book.events += ["step", (0, "no", "event")]
        book.records.append(None)
        book.events.append(0)
        with self.assertRaises(TypeError):
            book.write_trace(self.file)
        self.assertEqual(self.content(), OLD)

    def test_a_tensor_that_cannot_be_saved_leaves_what_was_there(self):
        with self.assertRaises(Exception):
            saving.save([lab.ones(4), lambda: None], self.file)
        self.assertEqual(self.content(), OLD)
        saving.save(lab.ones(4), self.file)
        self.assertEqual(saving.load(self.file).tolist(), [1.0] * 4)

    def test_without_the_library_it_is_named(self):
        run = self.python(
            "-c",
            "from larder._files import NewFile\nNewFile('x').__enter__()",
            LARDER_LIBRARY_DIR=self.path("none"),
        )
        self.assertIn("liblarder.so, which writes files", run.stderr)
        self.assertIn("LARDER_LIBRARY_DIR", run.stderr)


if __name__ == "__main__":
    lab_case.main()
