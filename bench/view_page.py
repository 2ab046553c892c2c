#!/usr/bin/env python3
"""view_page.py BUILD [FILE] - how long the page of a large snapshot takes in
headless Chromium: until the first picture, and for each step of zooming in and
out, moving along and going through the moments, by the page's own counter.
Without FILE ones of 1 and 5 million events are made and removed again.  Exits
with 77 where there is no Chromium."""
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / 'tests/view'))
import browser  # noqa: E402

# Each step draws at once; the page says how long that took.
STEPS = '''(() => {
  const times = { zoom: [], pan: [], scrub: [] };
  const step = (kind, act) => {
    act();
    draw();
    times[kind].push(Number(document.documentElement.dataset.drawMs));
  };
  for (let i = 0; i < 24; i++) step("zoom", () => zoom(0.6));
  for (let i = 0; i < 24; i++) step("zoom", () => zoom(1 / 0.6));
  for (let i = 0; i < 3; i++) step("zoom", () => zoom(0.5));
  for (let i = 0; i < 20; i++) step("pan", () => pan(i < 10 ? 0.1 : -0.1));
  for (let i = 0; i < 20; i++) step("scrub", () => stepCursor(0.01));
  return times;
})()'''


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
        for kind, times in page.run(STEPS).items():
            times.sort()
            print(f'  {kind:<16}{times[len(times) // 2]:8.1f} ms in the '
                  f'middle, {times[-1]:.1f} ms at most')


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
