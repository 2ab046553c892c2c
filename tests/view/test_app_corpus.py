"""test_app_corpus.py LARDER - the fuzzer's files in the page that reads snapshots
itself."""
import subprocess

import app_case
import page_case
from page_case import ROOT

# Of the fuzzer's files: numbers above 2^53, which are not exact in a browser.
INEXACT = {'long', 'huge_sizes.json', 'top_of_space.json'}


class Corpus(app_case.AppCase):

    def test_what_the_command_reads_the_page_reads(self):
        """Of the fuzzer's files: no page may be broken by any, and what the
        command can read is the same here."""
        page = self.app()
        corpus = ROOT / 'tests/fuzz/corpus'
        for path in sorted([*(corpus / 'pickle').iterdir(),
                            *(corpus / 'snapshot_json').iterdir(),
                            *(corpus / 'report').iterdir()]):
            with self.subTest(path.name):
                known = subprocess.run(
                    [self.larder, 'view', path, '-o', self.folder / 'x.html'],
                    capture_output=True, check=False).returncode == 0
                if known and path.name not in INEXACT:
                    self.assert_same(page, path)
                else:
                    self.choose(page, path)


if __name__ == '__main__':
    page_case.run('__main__')
