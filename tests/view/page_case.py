"""page_case.py - what the tests of the page share: the command, one browser for
all of a file's tests, pages of made snapshots."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import browser

ROOT = pathlib.Path(__file__).resolve().parents[2]
SNAPSHOTS = sorted((ROOT / 'tests/data/snapshots').glob('*.pickle'))
SKIPPED = 77


class PageCase(unittest.TestCase):
    """A test with a page, which must not complain."""

    larder = None
    chromium = None
    folder = None

    def open(self, source, *options, **sizes):
        """The page that `larder view` makes of a file."""
        out = self.folder / 'page.html'
        subprocess.run([self.larder, 'view', source, *options, '-o', out],
                       check=True)
        return self.open_file(out, **sizes)

    def open_file(self, path, **sizes):
        page = self.chromium.open(path, **sizes)
        self.addCleanup(page.close)
        self.addCleanup(lambda: self.assertEqual(page.complaints(), []))
        page.settle()
        return page

    def made(self, name, *options):
        """A snapshot of tools/make_snapshot.py, made once."""
        path = self.folder / name
        if not path.exists():
            subprocess.run([sys.executable, ROOT / 'tools/make_snapshot.py',
                            *options, path], check=True)
        return path

    def written(self, snapshot):
        """A snapshot of our own, as JSON."""
        path = self.folder / 'own.json'
        path.write_text(json.dumps(snapshot))
        return path


def run(module, prepare=lambda folder: None):
    """The tests of a file; its argument is the command.  `prepare` is given a
    folder, and says what the browser's environment has besides."""
    if browser.command() is None:
        print('skipped: there is no Chromium (tools/setup.sh installs it '
              'for root)')
        sys.exit(SKIPPED)
    PageCase.larder = sys.argv.pop(1)
    with tempfile.TemporaryDirectory() as folder, \
            browser.Browser(env=prepare(pathlib.Path(folder))) as chromium:
        PageCase.chromium = chromium
        PageCase.folder = pathlib.Path(folder)
        unittest.main(module=module)
