"""The page of `larder top --serve`: who holds what, and a recorded program's run
as it grows."""
import os
import pathlib
import subprocess
import sys
import time

import page_case
from page_case import SNAPSHOTS

sys.path.insert(0, str(page_case.ROOT / 'python'))

from larder._live import Live  # noqa: E402  pylint: disable=C0413

SHOWN = 'document.querySelector("#frames .shown")?.contentDocument'
EVENTS = f'({SHOWN}?.getElementById("figures")?.textContent ?? "")'


def snapshot(name):
    return next(p for p in SNAPSHOTS if p.stem == name).read_bytes()


class LivePage(page_case.PageCase):
    @classmethod
    def setUpClass(cls):
        cls.said = [snapshot('v2.8')]
        # As much as a program of its own may ask for.
        cls.live = Live(lambda: cls.said[0])
        cls.served = subprocess.Popen(
            [cls.larder, 'top', '--serve', '--period', '200'],
            stdout=subprocess.PIPE, encoding='ascii')
        cls.address = cls.served.stdout.readline().strip()
        device = f'sim:8GiB,backing=none,shared=page-{os.getpid()}'
        cls.lab = subprocess.Popen(
            [cls.larder, 'lab', '--device', device], stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, encoding='ascii')
        cls.lab.stdin.write('a = zeros(24, 1024, 1024, device=cuda)\n')
        cls.lab.stdin.flush()

    @classmethod
    def tearDownClass(cls):
        cls.lab.stdin.close()
        cls.lab.wait()
        cls.served.terminate()
        cls.served.wait()
        cls.served.stdout.close()
        cls.live.close()
        # What a prompt that ends with tensors leaves.
        for path in pathlib.Path('/dev/shm').glob(
                f'larder-sim*-page-{os.getpid()}.0'):
            path.unlink()

    def test_who_holds_what_is_told_and_drawn(self):
        page = self.open_file(self.address)
        row = f'[...document.querySelectorAll("tr")].find(r => ' \
              f'r.cells[1].textContent === "{self.lab.pid}")'
        page.wait(f'{row}?.cells[2].textContent.endsWith(" MiB")')
        self.assertIn(' MiB', page.run(f'{row}.cells[2].textContent'))
        page.wait('document.querySelectorAll("svg path").length >= 2')
        # The band of the process is as high as what it holds.
        page.wait('document.querySelector("svg path").getBBox().height > 1')
        label = page.run('document.querySelector("svg").ariaLabel')
        self.assertRegex(label, r'The last \d+ seconds')

    def test_sizes_are_written_as_the_table_writes_them(self):
        page = self.open_file(self.address)
        self.assertEqual(
            page.run('[1023, 10234, 10235, 102349, 1048063, 1048064].map(bytes)'),
            ['1023 B', '9.99 KiB', '10.0 KiB', '100 KiB', '1023 KiB', '1.00 MiB'])

    def test_a_narrow_window_has_it_all(self):
        page = self.open_file(self.address, width=390, height=800)
        page.wait('document.querySelector("table") !== null')
        self.assertLessEqual(
            page.run('document.documentElement.scrollWidth'), 390)

    def test_a_run_grows_and_choices_stay(self):
        page = self.open_file(self.address)
        button = f'document.getElementById("run-{os.getpid()}")'
        page.wait(f'{button} !== null')
        page.run(f'{button}.click()')
        page.wait(f'{EVENTS} !== ""')
        before = page.run(EVENTS)
        page.run(f'''(() => {{
            const colour = {SHOWN}.getElementById("colour");
            colour.value = "size";
            colour.dispatchEvent(new Event("change", {{bubbles: true}}));
        }})()''')
        self.said[0] = snapshot('v2.13')
        page.wait(f'{EVENTS} !== {before!r} && {EVENTS} !== ""')
        self.assertEqual(page.run(f'{SHOWN}.getElementById("colour").value'),
                         'size')
        self.assertEqual(page.run('document.querySelectorAll("iframe").length'),
                         1)
        # Without following it stays as it is, also when the next is due.
        page.run('document.getElementById("follow").click()')
        page.wait('document.querySelectorAll("iframe").length === 1')
        shown = page.run(EVENTS)
        self.said[0] = snapshot('v2.8')
        page.run('''(() => {
            const next = nextRun;
            globalThis.due = 0;
            nextRun = which => { globalThis.due++; next(which); };
            clearTimeout(run.timer);
            nextRun(run);
        })()''')
        page.wait('globalThis.due >= 3')
        self.assertEqual(page.run('document.querySelectorAll("iframe").length'),
                         1)
        self.assertEqual(page.run(EVENTS), shown)
        page.run('document.getElementById("close").click()')
        self.assertTrue(page.run('document.getElementById("live").hidden'))

    def test_a_press_outlasts_a_look(self):
        page = self.open_file(self.address)
        button = f'document.getElementById("run-{os.getpid()}")'
        page.wait(f'{button} !== null')
        left, top, width, height = page.box(f'#run-{os.getpid()}')
        page.slow_click(left + width / 2, top + height / 2, 0.7)
        self.assertFalse(page.run('document.getElementById("live").hidden'))
        # The looks go on.
        page.run(f'{button}.dataset.old = "yes"')
        page.wait(f'{button}.dataset.old === undefined')
        page.run('document.getElementById("close").click()')

    def test_a_run_that_ends_stays_and_is_told(self):
        program = subprocess.Popen(
            [sys.executable, '-c',
             'import sys; sys.path.insert(0, sys.argv[1])\n'
             'from larder._live import Live\n'
             'said = open(sys.argv[2], "rb").read()\n'
             'Live(lambda: said); print(flush=True); input()',
             page_case.ROOT / 'python', SNAPSHOTS[0]],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        program.stdout.readline()
        # What it asks for when the program has gone is answered with an error.
        page = self.chromium.open(self.address)
        self.addCleanup(page.close)
        button = f'document.getElementById("run-{program.pid}")'
        page.wait(f'{button} !== null')
        page.run(f'{button}.click()')
        page.wait(f'{EVENTS} !== ""')
        program.communicate()
        page.wait('document.getElementById("live-why").textContent'
                  '.includes("no longer records")')
        self.assertNotEqual(page.run(EVENTS), '')
        self.assertFalse([c for c in page.complaints() if 'Policy' in c])

    def test_that_the_server_has_gone_is_told(self):
        other = subprocess.Popen([self.larder, 'top', '--serve'],
                                 stdout=subprocess.PIPE, encoding='ascii')
        page = self.chromium.open(other.stdout.readline().strip())
        self.addCleanup(page.close)
        other.terminate()
        other.wait()
        other.stdout.close()
        page.wait('document.getElementById("state").textContent'
                  '.includes("does not answer")')


if __name__ == '__main__':
    page_case.run(__name__)
