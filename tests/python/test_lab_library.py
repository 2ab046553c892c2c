"""The library is found, and where it is not, that is told."""

import os
import shutil
import sys
import unittest

import lab_case
from lab_case import PACKAGE_DIR, RunCase

SAY = "import larder; print(larder.__version__)"


class Finding(RunCase):
    def test_a_folder_without_it_is_named(self):
        run = self.python("-c", SAY, LARDER_LIBRARY_DIR=self.path("none"))
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("ImportError", run.stderr)
        self.assertIn(self.path("none"), run.stderr)
        self.assertIn("LARDER_LIBRARY_DIR", run.stderr)

    def test_what_is_no_library_is_told(self):
        self.write("not an object", "liblarder_lab.so")
        run = self.python(
            "-c", SAY, LARDER_LIBRARY_DIR=self.path("")
        )
        self.assertIn("ImportError", run.stderr)
        self.assertIn("liblarder_lab.so: ", run.stderr)

    def test_an_installed_tree_finds_its_own(self):
        given = os.environ.get("LARDER_LIBRARY_DIR")
        if not given:
            self.skipTest("no library folder was given")
        package = self.path("share/larder/python/larder")
        shutil.copytree(os.path.join(PACKAGE_DIR, "larder"), package)
        os.mkdir(self.path("lib"))
        for name in os.listdir(given):
            if name.startswith(("liblarder.so", "liblarder_lab.so")):
                os.symlink(
                    os.path.abspath(os.path.join(given, name)),
                    self.path("lib/" + name),
                )
        run = self.python(
            "-c",
            SAY + "; from larder._library import library; print(library._name)",
            PYTHONPATH=os.path.dirname(package),
            LARDER_LIBRARY_DIR="",
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn(self.path("lib"), run.stdout)

    @unittest.skipIf(sys.version_info < (3, 10), "no list of the library")
    def test_nothing_but_the_standard_library_is_imported(self):
        run = self.python(
            "-c",
            "import sys; import larder.lab.run\n"
            "print({n.partition('.')[0] for n in sys.modules})",
            **{"PYTHONNOUSERSITE": "1"},
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        # What this interpreter has imported at its start is none of ours.
        ours = eval(run.stdout) - {n.partition(".")[0] for n in sys.modules}
        self.assertEqual(ours - sys.stdlib_module_names, {"larder"})


if __name__ == "__main__":
    lab_case.main()
