#!/usr/bin/env python3
"""view_page.py BUILD [FILE] - measures the page of a large snapshot in headless
Chromium: the time to the first picture, and of each step of zooming, panning and
moving through the moments, by the page's own counter; and the processor time of
each of these frames from a trace, because the counter includes the load of other
programs.
Without FILE, files with 1 and 5 million events are created and removed again.
Exits with 77 if Chromium is not installed."""
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / 'tests/view'))
import browser  # noqa: E402

STEPS = (['zoom(0.6)'] * 24 + ['zoom(1 / 0.6)'] * 24 + ['zoom(0.5)'] * 3 +
         ['pan(0.1)'] * 10 + ['pan(-0.1)'] * 10 + ['stepCursor(0.01)'] * 20)
# A step is drawn in the next frame; the page says how long that took.
STEP = '''new Promise((done) => { %s; requestAnimationFrame(() =>
    done(Number(document.documentElement.dataset.drawMs))); })'''


def spread(what, times):
    times.sort()
    print(f'  {what:<16}{times[len(times) // 2]:8.1f} ms in the '
          f'middle, {times[-1]:.1f} ms at most')


def walk(page):
    """Milliseconds of each step, by kind."""
    times = {}
    for step in STEPS:
        times.setdefault(step.split('(')[0], []).append(page.run(STEP % step))
    return times


def frames(events):
    """CPU milliseconds of each frame that drew something."""
    times = [event.get('tdur', 0) / 1000 for event in events
             if event.get('name') == 'FireAnimationFrame']
    return [ms for ms in times if ms > 1]


def measure(larder, snapshot, folder):
    out = folder / 'page.html'
    begin = time.monotonic()
    subprocess.run([larder, 'view', snapshot, '-o', out], check=True)
    written = time.monotonic() - begin
    print(f'{snapshot.name}: {out.stat().st_size / 1e6:.1f} MB, written in '
          f'{written:.1f} s')
    with browser.Browser() as chromium:
        page = chromium.open(out)
        page.settle()
        first = page.run('performance.now()')
        print(f'  first picture   {first:8.0f} ms after it was opened, at most')
        times = {}
        events = page.traced(lambda: times.update(walk(page)))
        for kind in times:
            spread(kind, times[kind])
        spread('processor', frames(events))


def main():
    if browser.command() is None:
        sys.exit(77)
    larder = pathlib.Path(sys.argv[1]) / 'larder'
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if len(sys.argv) > 2:
            measure(larder, pathlib.Path(sys.argv[2]), folder)
            return
        for events in (1000000, 5000000):
            path = folder / f'{events}.pickle'
            subprocess.run([sys.executable, ROOT / 'tools/make_snapshot.py',
                            '--events', str(events), path], check=True)
            measure(larder, path, folder)


main()
