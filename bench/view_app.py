#!/usr/bin/env python3
"""view_app.py APP [EVENTS...] - how long the page that analyses snapshots in a
browser (`make app`) takes for made-up ones, and the memory of its processes."""
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'tests/view'))

import browser  # noqa: E402

SHOWN = ('state.job === null && state.shown !== null && '
         'state.shown.view === state.view')
DRAWN = ('$("page").contentDocument?.documentElement?.dataset.ready === "yes"')


def children(pid):
    told = subprocess.run(['pgrep', '-P', str(pid)], capture_output=True,
                          text=True, check=False).stdout.split()
    return [int(child) for child in told] + [
        below for child in told for below in children(int(child))]


def peak_mib(pid):
    """The peak of its largest child process."""
    peak = 0
    for child in children(pid):
        try:
            status = pathlib.Path(f'/proc/{child}/status').read_text()
        except FileNotFoundError:
            continue
        for line in status.splitlines():
            if line.startswith('VmHWM'):
                peak = max(peak, int(line.split()[1]) // 1024)
    return peak


def measure(app, path):
    with browser.Browser(seconds=120) as chromium:
        page = chromium.open(app)
        times = {}
        begin = time.monotonic()
        page.choose_files('#files', [path])
        page.wait(SHOWN)
        page.wait(DRAWN)
        times['view'] = time.monotonic() - begin
        for view in ('report', 'tune', 'fit', 'replay'):
            page.run('state.shown = null')
            begin = time.monotonic()
            page.run(f'$("tabs").querySelector("[data-view={view}]").click()')
            page.wait(SHOWN)
            times[view] = time.monotonic() - begin
        return times, peak_mib(chromium.process.pid)


def main():
    app = sys.argv[1]
    counts = [int(word) for word in sys.argv[2:]] or [100000, 1000000]
    with tempfile.TemporaryDirectory() as folder:
        for events in counts:
            path = pathlib.Path(folder) / f'{events}.pickle'
            subprocess.run([sys.executable, ROOT / 'tools/make_snapshot.py',
                            '--events', str(events), path], check=True)
            times, mib = measure(app, path)
            print(f'{events} events:', ', '.join(
                f'{view} {seconds:.2f} s' for view, seconds in times.items()),
                f'; at most {mib} MiB in a process')


if __name__ == '__main__':
    main()
