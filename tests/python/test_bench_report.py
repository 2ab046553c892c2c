#!/usr/bin/env python3
"""test_bench_report.py LIBRARIES - the page that bench/report.py makes of figures."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

FILES = {
    "machine.txt": "processor: a slow one, 2 cores\n",
    "tests.txt": "fuzz_conf: 12 inputs\n",
    "alloc.csv": "name,ns_per_op,baseline,baseline_ns_per_op\n"
                 "pair,10,empty loop,0.3\npair,10,pytorch,40\n"
                 "mix <all>,20,direct,30\n",
    "replay.csv": "name,policy,conf,ns_per_op,pytorch_2_4_ns_per_op\n"
                  "gpt,larder,,20,206\ngpt,pytorch,,60,123-206\n",
    "capacity.csv": "name,policy,conf,requested_bytes,min_capacity_bytes\n"
                    "gpt,larder,,1000,1100\ngpt,pytorch,a:b,1000,1250\n",
}


class BenchReport(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.source = os.path.join(self.folder.name, "figures")
        os.mkdir(self.source)
        for name, text in FILES.items():
            with open(os.path.join(self.source, name), "w",
                      encoding="utf-8") as f:
                f.write(text)

    def tearDown(self):
        self.folder.cleanup()

    def make(self, out, status=0):
        done = subprocess.run(
            [sys.executable, "bench/report.py", "--from", self.source, "--out",
             os.path.join(self.folder.name, out)], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr.decode()

    def read(self, out, name):
        with open(os.path.join(self.folder.name, out, name),
                  encoding="utf-8") as f:
            return f.read()

    def test_the_same_figures_make_the_same_files(self):
        self.make("one")
        self.make("two")
        names = sorted(os.listdir(os.path.join(self.folder.name, "one")))
        self.assertEqual(len(names), len(FILES) + 4)
        for name in names:
            self.assertEqual(self.read("one", name), self.read("two", name))

    def test_the_page_has_the_machine_the_figures_and_the_tests(self):
        self.make("out")
        page = self.read("out", "report.md")
        for words in ("a slow one", "fuzz_conf: 12 inputs",
                      "| pair | 10 | 40 |  |", "| gpt | 1.1 | 1.25 |",
                      "| gpt | 20 | 206 | 60 |", "Not measured: RMM"):
            self.assertIn(words, page)
        self.assertNotIn("empty loop", page)

    def test_bars_are_as_long_as_their_figures(self):
        self.make("out")
        plot = self.read("out", "alloc.svg")
        self.assertIn("mix &lt;all&gt;", plot)
        widths = [int(w) for w in re.findall(r'<rect x="250" y="\d+" width="(\d+)"',
                                             plot)]
        self.assertEqual(widths[3:], [130, 520, 260, 390])

    def test_figures_that_are_missing_are_named(self):
        os.remove(os.path.join(self.source, "replay.csv"))
        self.assertIn("replay.csv is missing", self.make("out", 2))
        os.remove(os.path.join(self.source, "machine.txt"))
        self.assertIn("there is no machine.txt", self.make("out", 2))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
