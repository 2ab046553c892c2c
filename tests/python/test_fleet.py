"""larder.fleet, with a double of Ray that runs tasks at once: ranks are read
apart and judged together.  tests/stack/fleet.py has Ray itself."""

import contextlib
import io
import json
import os
import shutil
import sys
import types

import lab_case
from lab_case import HERE, RunCase

from larder import fleet
from larder._command import ask

DATA = os.path.join(os.path.dirname(HERE), "data", "snapshots")


class Ray:
    """What larder.fleet asks of it."""

    exceptions = types.SimpleNamespace(RayError=ZeroDivisionError)
    is_broken = False

    def __init__(self, is_initialized):
        self._is_initialized = is_initialized
        self.log = []
        self.options = {}

    def is_initialized(self):
        return self._is_initialized

    def init(self, address, log_to_driver):
        self.log.append(("init", address))

    def shutdown(self):
        self.log.append("shutdown")

    def remote(self, **options):
        self.options.update(options)
        return lambda function: types.SimpleNamespace(remote=function)

    def get(self, results):
        if self.is_broken:
            raise ZeroDivisionError("a worker died")
        return json.loads(json.dumps(results))


class Fleet(RunCase):
    def setUp(self):
        super().setUp()
        for name in ("v2.6", "v2.8", "v2.4"):
            shutil.copy(os.path.join(DATA, f"{name}.pickle"), self.path(""))
        self.names = [self.path(f"v{n}.pickle") for n in ("2.6", "2.8", "2.4")]

    def run_fleet(self, *words, is_initialized=False):
        ray = sys.modules["ray"] = Ray(is_initialized)
        self.addCleanup(sys.modules.pop, "ray", None)
        out, err = io.StringIO(), io.StringIO()
        words, sys.argv = sys.argv, ["fleet", *words]
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = fleet.main()
        finally:
            sys.argv = words
        return status, out.getvalue(), err.getvalue(), ray

    def test_it_says_what_report_says_of_all(self):
        status, out, err, ray = self.run_fleet("--json", *self.names)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(out, ask("report", "--json", *self.names))
        self.assertEqual(ray.log, [("init", None), "shutdown"])
        self.assertGreater(ray.options["max_retries"], 0)
        _, out, _, _ = self.run_fleet("--address", "auto", *self.names)
        self.assertEqual(out, ask("report", *self.names))

    def test_a_cluster_that_is_there_is_kept(self):
        ray = self.run_fleet(*self.names, is_initialized=True)[3]
        self.assertEqual(ray.log, [])

    def test_urls_are_read_where_the_task_is(self):
        fs = types.SimpleNamespace(
            glob=lambda path: [f"{path[:-1]}/{n}" for n in ("b", "a")],
            unstrip_protocol=lambda path: f"s3://{path}",
        )
        names = {"s3://ranks/a": self.names[0], "s3://ranks/b": self.names[1]}
        sys.modules["fsspec"] = types.SimpleNamespace(
            core=types.SimpleNamespace(url_to_fs=lambda url: (fs, "ranks*")),
            open_files=lambda url, mode: [contextlib.closing(open(names[url], mode))],
        )
        self.addCleanup(sys.modules.pop, "fsspec")
        status, out, err, _ = self.run_fleet("s3://ranks/*")
        self.assertEqual((status, err), (0, ""))
        self.assertIn("Worst          s3://ranks/b\nWhat happened  It ran", out)
        self.assertIn("by layers.py:847", out)
        self.assertNotIn("not here", out)
        ranks = json.loads(self.run_fleet("--json", "s3://ranks/*")[1])["ranks"]
        self.assertEqual(
            [one["file"] for one in ranks], ["s3://ranks/a", "s3://ranks/b"]
        )

    def test_what_cannot_be_read_is_named_and_the_rest_reported(self):
        status, out, err, _ = self.run_fleet("none.pickle", *self.names)
        self.assertEqual(status, 2)
        self.assertEqual(out, ask("report", *self.names))
        self.assertIn("larder.fleet: none.pickle: none.pickle: cannot", err)
        status, out, _, _ = self.run_fleet("none.pickle")
        self.assertEqual((status, out), (2, ""))

    def test_what_ray_cannot_do_is_told(self):
        Ray.is_broken = True
        self.addCleanup(setattr, Ray, "is_broken", False)
        status, out, err, ray = self.run_fleet(*self.names)
        self.assertEqual((status, out), (2, ""))
        self.assertEqual(err, "larder.fleet: Ray: a worker died\n")
        self.assertEqual(ray.log[-1], "shutdown")

    def test_without_ray_that_is_told(self):
        run = self.python(
            "-c",
            "import sys; sys.modules['ray'] = None; sys.argv[0] = 'fleet'\n"
            "from larder import fleet\nsys.exit(fleet.main())",
            self.names[0],
        )
        self.assertEqual(run.returncode, 2)
        self.assertIn("ray", run.stderr)
        self.assertNotIn("Traceback", run.stderr)


if __name__ == "__main__":
    lab_case.main()
