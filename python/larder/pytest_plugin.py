"""@pytest.mark.limit_gpu_memory("8 GiB"): a test fails if more of a GPU's memory
than this is in use at any moment of it, and reports who held it.

Without a GPU the test runs in a process of its own on a simulated one, which makes
the same memory requests as on a real one and computes nothing. Exceeding the limit
there is a failure, as it would be on a GPU, and a test that passes counts as
passed; one that fails for another reason, such as a value that was not computed, is
skipped, because its memory is known only up to that point.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

import pytest

from larder._sizes import size

_MARK = "limit_gpu_memory"
_RESULTS = "LARDER_PYTEST_RESULTS"
_PEAK, _OVER = "gpu_memory_peak_bytes", "gpu_memory_over_limit"

_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}

_OUT_OF_MEMORY = "OutOfMemoryError"

# Large enough to measure memory beyond any limit.
_CARD_BYTES = 80 << 30

# Events that are kept, to say who held the memory.
_ENTRIES = 200_000

_measure = pytest.StashKey()


def bytes_of(limit):
    """ "8 GiB", "512MiB", or a number of bytes."""
    if isinstance(limit, int) and limit >= 0:
        return limit
    match = re.fullmatch(
        r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*", str(limit), re.IGNORECASE
    )
    if match is None:
        raise pytest.UsageError(
            f"{_MARK}: '{limit}': expected a size, as '8 GiB'"
        )
    return int(float(match[1]) * (1 << _UNITS[match[2].lower()]))


def _limit_of(item):
    mark = item.get_closest_marker(_MARK)
    if mark is None:
        return None
    if len(mark.args) != 1 or mark.kwargs:
        raise pytest.UsageError(f"{_MARK}: expected one size, as '8 GiB'")
    return bytes_of(mark.args[0])


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        f"{_MARK}(size): fail if more of a GPU's memory is in use at any "
        "moment of the test; without a GPU, on a simulated one",
    )


# ---- on a GPU, or in the process that has a simulated one ---------------------


class _Measure:
    def __init__(self, limit):
        import torch

        self.limit = limit
        self._cuda = torch.cuda
        self._is_open = True
        self._is_recording = False
        torch.cuda._lazy_call(self._begin)

    def _begin(self):
        if not self._is_open:
            return
        self._is_recording = True
        self._cuda.memory._record_memory_history(
            max_entries=_ENTRIES, context="alloc", stacks="python"
        )
        for device in range(self._cuda.device_count()):
            self._cuda.reset_peak_memory_stats(device)

    def end(self):
        """The peak of the fullest device, and who held it if it exceeds the
        limit."""
        self._is_open = False
        if not self._is_recording:
            return 0, ""
        peaks = [
            self._cuda.max_memory_allocated(device)
            for device in range(self._cuda.device_count())
        ]
        peak = max(peaks)
        held = ""
        if peak > self.limit:
            held = _holders(self._cuda.memory._snapshot(), peaks.index(peak))
        self._cuda.memory._record_memory_history(enabled=None)
        return peak, held


def _holders(snapshot, number):
    """The lines that hold most at the peak of a device."""
    import larder

    try:
        devices = larder.report(snapshot, top=5).devices
    except larder.Error as error:
        return f"\n(no report: {error})"
    return "".join(
        f"\n  {size(line.bytes):>10} in {line.count}  {line.frame}"
        for device in devices
        if device.device == number
        for line in device.top
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    limit = _limit_of(item)
    if limit is not None:
        item.stash[_measure] = _Measure(limit)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    measure = item.stash.get(_measure, None)
    if measure is None or call.when != "call":
        return
    report = outcome.get_result()
    peak, held = measure.end()
    report.user_properties.append((_PEAK, peak))
    if peak <= measure.limit:
        return
    report.user_properties.append((_OVER, True))
    why = (
        f"{size(peak)} of a GPU's memory were in use, over the limit of "
        f"{size(measure.limit)}.  At that moment:{held}"
    )
    if report.failed:
        report.sections.append((_MARK, why))
    else:
        report.outcome, report.longrepr = "failed", why


def pytest_runtest_teardown(item):
    """For a test whose body was not reached."""
    measure = item.stash.get(_measure, None)
    if measure is not None and measure._is_open:
        measure.end()


# ---- without a GPU ------------------------------------------------------------


def pytest_runtest_logreport(report):
    """In the process that has the simulated GPU: hand the report up."""
    path = os.environ.get(_RESULTS)
    if path is not None:
        line = json.dumps(report._to_json(), default=str)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(descriptor, line.encode() + b"\n")
        finally:
            os.close(descriptor)


def _why_not():
    """Why the test cannot run; None if there is a GPU, "" if one has to be
    simulated."""
    try:
        import torch
    except ImportError:
        return f"{_MARK}: PyTorch is not installed"
    if torch.cuda.is_available():
        return None
    if not getattr(torch.version, "cuda", None):
        return f"{_MARK}: no GPU, and this PyTorch was built without CUDA"
    return ""


def _report(item, outcome, longrepr, **more):
    return pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords={name: 1 for name in item.keywords},
        outcome=outcome,
        longrepr=longrepr,
        when="call",
        **more,
    )


def _skipped(item, why):
    path, line, _ = item.location
    return _report(item, "skipped", (path, (line or 0) + 1, f"Skipped: {why}"))


def _run_simulated(item, limit, path):
    from larder._command import command

    card = max(_CARD_BYTES, 2 * limit)
    return subprocess.run(
        [command(), "exec", "--quiet", "--sim", f"{card},backing=64KiB", "--"]
        + [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        + ["-p", "larder.pytest_plugin"] * _needs_naming(item.config)
        + ["--rootdir", str(item.config.rootpath), "-o", "addopts="]
        + [f"{item.path}::{item.nodeid.partition('::')[2]}"],
        env={**os.environ, _RESULTS: path},
        cwd=item.config.invocation_params.dir,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )


def _needs_naming(config):
    """Whether the plugin is not installed as an entry point."""
    return not any(
        plugin.__name__ == __name__
        for plugin, _ in config.pluginmanager.list_plugin_distinfo()
        if hasattr(plugin, "__name__")
    )


def _simulate(item, limit):
    """The reports of the test, run in a process with a simulated GPU."""
    with tempfile.TemporaryDirectory(prefix="larder-") as folder:
        path = os.path.join(folder, "reports")
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
        done = _run_simulated(item, limit, path)
        with open(path, encoding="utf-8") as file:
            reports = [
                pytest.TestReport._from_json(json.loads(line)) for line in file
            ]
    if not reports:
        said = f"{done.stdout}\n{done.stderr}".strip()
        return [_report(item, "failed", f"not run on a simulated GPU:\n{said}")]
    return [_judged(item, one) for one in reports]


def _judged(item, report):
    told = dict(report.user_properties)
    used = f"at most {size(told.get(_PEAK, 0))} of a simulated GPU's memory"
    crash = getattr(report.longrepr, "reprcrash", None)
    error = crash.message if crash else str(report.longrepr)
    error = (error.splitlines() or ["an error"])[0]
    is_over = _OVER in told or _OUT_OF_MEMORY in error
    if report.failed and not is_over:
        return _skipped(
            item,
            "no GPU; on a simulated one, which computes nothing, it ended with "
            f"{error}, after using {used}",
        )
    if report.when == "call":
        report.sections.append(("larder", f"{used} in use"))
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    limit = None if _RESULTS in os.environ else _limit_of(item)
    why_not = None if limit is None else _why_not()
    if why_not is None:
        return None
    item.ihook.pytest_runtest_logstart(
        nodeid=item.nodeid, location=item.location
    )
    reports = [_skipped(item, why_not)] if why_not else _simulate(item, limit)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(
        nodeid=item.nodeid, location=item.location
    )
    return True
