"""test_app.py LARDER - the page that analyses snapshots in a browser (`make
app`): it writes what the command writes, byte for byte; files, folders and
keys; hostile files; nothing leaves it."""
import base64
import json
import os
import pathlib
import pickle
import re
import subprocess
import sys

import box_font
import looks
import page_case
from page_case import ROOT, SNAPSHOTS

import test_hostile

PAGE = pathlib.Path(sys.argv[1]).parent / 'app.html'

MADE = {
    'plain': (),
    'oom': ('--oom', '--streams', '3'),
    'expandable': ('--expandable', '--pools'),
    'old': ('--version', '2.0'),
    'protocol5': ('--protocol', '5', '--devices', '3'),
}

COMMANDS = (
    ('report',), ('report', '--json'), ('view', '-o', '-'),
    ('tune', '--json', '--no-cache'),
    ('fit', '--json', '--no-cache', '--gpu', 'rtx4090'),
)

# Refused in other words: a length that a 32-bit memory cannot have.
REFUSED_OTHERWISE = {'big_length'}

# How long it took.
TIMES = re.compile(rb'"(ops_per_second|ns_per_op|seconds)":[^,}]*')

RUN = '''new Job(%s).run(state.files, () => {}).then((r) => r.error ?
  { error: r.error } : { status: r.status, said: r.said, bytes: btoa(
  [...r.bytes].map((b) => String.fromCharCode(b)).join("")) })'''


class App(looks.Looks):

    def app(self, **sizes):
        return self.open_file(PAGE, **sizes)

    def give(self, page, *paths, field='#files'):
        """The files are chosen; what is shown for them is waited for."""
        page.run('state.shown = null')
        page.choose_files(field, paths)
        self.wait_shown(page)

    def wait_shown(self, page):
        page.wait('state.job === null && state.shown !== null &&'
                  ' state.shown.view === state.view')
        page.settle()

    def show(self, page, view):
        page.run('state.shown = null')
        page.press(f'#tabs [data-view={view}]')
        self.wait_shown(page)

    def in_frame(self, page, script):
        page.wait('$("page").contentDocument?.documentElement?'
                  '.dataset.ready === "yes"')
        return page.run(f'$("page").contentWindow.eval === undefined ? null :'
                        f' $("page").contentDocument.{script}')

    def command(self, args, *paths):
        """The same in a terminal, in the files' folder."""
        return subprocess.run(
            [pathlib.Path(self.larder).resolve(), *args,
             *(path.name for path in paths)],
            cwd=paths[0].parent, capture_output=True, check=False,
            env={**os.environ, 'XDG_CACHE_HOME': str(self.folder)})

    def assert_same(self, page, args, *paths):
        names = [path.name for path in paths]
        ours = page.run(RUN % json.dumps([*args, *names]))
        theirs = self.command(args, *paths)
        self.assertNotIn('error', ours)
        self.assertEqual(ours['status'], theirs.returncode, ours['said'])
        self.assertEqual(TIMES.sub(b'', base64.b64decode(ours['bytes'])),
                         TIMES.sub(b'', theirs.stdout))
        if paths[0].name not in REFUSED_OTHERWISE:
            self.assertEqual(ours['said'],
                             theirs.stderr.decode().rstrip('\n'))

    # ---- the same as the command --------------------------------------------

    def test_it_writes_what_the_command_writes(self):
        page = self.app()
        others = sorted((ROOT / 'tests/data/snapshots').glob('*.json'))
        made = [self.made(f'{name}.{ending}', '--events', '1500', *options)
                for name, options in MADE.items()
                for ending in ('pickle', 'json')]
        for path in [*SNAPSHOTS, *others, *made, *self.third_parties()]:
            self.give(page, path)
            for args in COMMANDS:
                with self.subTest(path.name, args=args):
                    self.assert_same(page, args, path)

    @staticmethod
    def third_parties():
        """Snapshots that are not ours to keep, where LARDER_SNAPSHOTS says."""
        folder = os.environ.get('LARDER_SNAPSHOTS')
        return sorted(pathlib.Path(folder).glob('*.pickle')) if folder else []

    def test_the_fuzzers_files_give_what_the_command_gives(self):
        page = self.app()
        corpus = ROOT / 'tests/fuzz/corpus'
        for path in sorted([*(corpus / 'pickle').iterdir(),
                            *(corpus / 'snapshot_json').iterdir(),
                            *(corpus / 'report').iterdir()]):
            if path.stat().st_size == 0:
                continue  # a browser hands out no such file
            self.give(page, path)
            with self.subTest(path.name):
                self.assert_same(page, ('report', '--json'), path)
                self.assert_same(page, ('view', '-o', '-'), path)

    def test_zstd_is_unpacked(self):
        page = self.app()
        packed = self.folder / 'packed.pickle.zst'
        subprocess.run([self.larder, 'convert', SNAPSHOTS[-1], packed],
                       check=True)
        self.give(page, packed)
        self.assert_same(page, ('report', '--json'), packed)

    def test_two_are_compared(self):
        page = self.app()
        self.give(page, SNAPSHOTS[-1])
        self.assertTrue(page.run(
            'document.querySelector("[data-view=diff]").hidden'))
        pair = (self.made('plain.pickle', '--events', '1500'),
                self.made('oom.pickle', '--events', '1500', *MADE['oom']))
        self.give(page, *pair)
        self.show(page, 'diff')
        self.assertEqual(page.run('$("text").textContent'),
                         self.command(('diff',), *pair).stdout.decode())

    def test_a_folder_of_ranks_is_one_table(self):
        folder = self.folder / 'ranks'
        folder.mkdir(exist_ok=True)
        for rank in range(4):
            subprocess.run([sys.executable, ROOT / 'tools/make_snapshot.py',
                            '--seed', str(rank), '--events', '600',
                            folder / f'rank{rank}.pickle'], check=True)
        (folder / 'notes.txt').write_text('not one of them')
        page = self.app()
        self.give(page, folder, field='#folder')
        self.show(page, 'report')
        told = page.run('$("text").textContent')
        for rank in range(4):
            self.assertIn(f'rank{rank}', told)

    # ---- what is seen --------------------------------------------------------

    def test_the_example_is_one_click(self):
        page = self.app()
        page.press('#example')
        self.wait_shown(page)
        self.assertIn('It ran out of memory on a request for 733 MiB', self.in_frame(
            page, 'getElementById("verdict").innerText'))
        self.show(page, 'fit')
        self.assertIn('larder fit --gpu rtx4090 oom.pickle',
                      page.text('#command'))
        page.run('state.shown = null; $("card").value = "all";'
                 '$("card").dispatchEvent(new Event("change"))')
        self.wait_shown(page)
        self.assertRegex(page.run('$("text").textContent'),
                         'rtx4090  *23.6 GiB  *yes')
        page.run('state.shown = null; for (const card of ["l4", "h100"]) {'
                 '$("card").value = card;'
                 '$("card").dispatchEvent(new Event("change")); }')
        self.wait_shown(page)  # of the two the later
        self.assertIn('--gpu h100', page.text('#command'))
        self.assertEqual(page.text('#said'), '')

    def test_the_timeline_stays_as_it_was_left(self):
        page = self.app()
        page.press('#example')
        self.wait_shown(page)
        self.in_frame(page, 'title')
        page.run('$("page").contentWindow.left = "so"')
        self.show(page, 'report')
        self.show(page, 'page')
        self.assertEqual(page.run('$("page").contentWindow.left'), 'so')

    def test_a_setting_is_replayed(self):
        page = self.app()
        page.press('#example')
        self.wait_shown(page)
        self.show(page, 'replay')
        page.run('state.shown = null; $("conf").value = '
                 '"expandable_segments:True"; $("form").requestSubmit()')
        self.wait_shown(page)
        self.assertEqual(page.text('#command'), 'larder replay --conf '
                         'expandable_segments:True oom.pickle')
        page.run('state.shown = null; $("conf").value = "nonsense:1";'
                 '$("form").requestSubmit()')
        self.wait_shown(page)
        self.assertIn('nonsense', page.text('#said'))
        self.assertEqual(page.run('$("said").className'), 'alarm')

    def test_a_long_run_shows_progress_and_stops(self):
        page = self.app()
        self.give(page, self.made('long.pickle', '--events', '300000'))
        page.press('#tabs [data-view=tune]')
        page.wait('$("progress").value > 0')
        page.press('#stop')
        page.wait('$("said").textContent === "Stopped."')
        self.assertTrue(page.run('$("progress").hidden && $("stop").hidden'))
        self.show(page, 'report')  # and the page goes on
        self.assertFalse(page.run('$("text").hidden'))

    def test_a_file_is_dropped_also_on_the_frame(self):
        page = self.app()
        for path in SNAPSHOTS[:2]:
            page.run('state.shown = null')
            for kind in ('dragEnter', 'dragOver', 'drop'):
                page.send('Input.dispatchDragEvent', type=kind, x=400, y=500,
                          data={'items': [], 'files': [str(path)],
                                'dragOperationsMask': 1})
            self.wait_shown(page)
            self.assertEqual(page.text('#names'), path.name)
            self.in_frame(page, 'title')

    def test_the_keyboard_is_enough(self):
        page = self.app()
        page.to_front()
        for _ in range(3):
            page.key('Tab')
        self.assertEqual(page.run('document.activeElement.id'), 'example')
        page.key('Enter')
        self.wait_shown(page)
        page.key('Tab')
        self.assertEqual(page.run('document.activeElement.dataset.view'),
                         'page')
        page.run('state.shown = null')
        page.key('ArrowRight')
        self.wait_shown(page)
        self.assertEqual(page.run('state.view.id'), 'report')
        page.key('ArrowLeft')
        self.assertEqual(page.run('state.view.id'), 'page')

    def test_a_narrow_window_is_enough(self):
        page = self.app(width=390, height=800)
        page.press('#example')
        for view in (None, 'report', 'tune', 'fit', 'replay'):
            if view is None:
                self.wait_shown(page)
            else:
                self.show(page, view)
            with self.subTest(view):
                self.assertLessEqual(page.run(
                    'document.documentElement.scrollWidth'), 390)

    def test_it_is_dark_where_the_reader_wants_it(self):
        page = self.app()
        page.send('Emulation.setEmulatedMedia', features=[
            {'name': 'prefers-color-scheme', 'value': 'dark'}])
        page.press('#example')
        self.wait_shown(page)
        back = 'getComputedStyle(document.body).backgroundColor'
        self.assertEqual(page.run(back), 'rgb(20, 23, 27)')
        self.in_frame(page, 'title')
        self.assertEqual(page.run(
            'getComputedStyle($("page").contentDocument.body).backgroundColor'),
            'rgb(20, 23, 27)')

    def test_the_site_leads_to_it(self):
        site = self.folder / 'site'
        subprocess.run([sys.executable, '-B', ROOT / 'tools/make_site.py',
                        PAGE.parent, site], check=True, capture_output=True)
        page = self.app()
        page.send('Page.navigate', url=(site / 'index.html').as_uri())
        page.wait('document.images[0]?.naturalWidth > 0')
        page.run('document.querySelector("img").closest("a").click()')
        page.wait('typeof state !== "undefined" && state.shown !== null')
        self.assertEqual(page.text('#names'), 'oom.pickle')

    def test_it_looks_as_it_did(self):
        page = self.app(width=1000, height=800)
        self.assert_looks(page, 'app_start')
        page.press('#example')
        self.wait_shown(page)
        self.in_frame(page, 'title')
        page.move(5, 5)
        self.assert_looks(page, 'app_timeline')
        for view in ('report', 'tune', 'fit'):
            self.show(page, view)
            page.move(5, 5)
            self.assert_looks(page, f'app_{view}')

    # ---- hostile files -------------------------------------------------------

    def test_what_is_no_snapshot_is_told_in_words(self):
        page = self.app()
        for content, said in (
                (b'\xff\xd8\xff\xe0', 'holiday.jpg'),
                (b'\x1f\x8b\x08....', 'gzip'),
                (b'PK\x03\x04....', 'torch.save'),
                (b'{"a": 1}', 'without the key "segments"'),
                (pickle.dumps({'segments': 3}), '"segments" is an integer'),
                (b'\x80\x04cos\nsystem\n(S"true"\ntR.', 'opcode')):
            path = self.folder / 'holiday.jpg'
            path.write_bytes(content)
            with self.subTest(said):
                self.give(page, path)
                self.assertIn(said, page.text('#said'))
                self.assertEqual(page.run('$("said").className'), 'alarm')
                self.assertTrue(page.run('$("page").hidden'))

    def test_names_are_text(self):
        page = self.app()
        path = self.folder / "<img src=x onerror='window.taken = 1'>.json"
        path.write_text(json.dumps(test_hostile.snapshot()))
        self.give(page, path)
        self.in_frame(page, 'title')
        for view in ('report', 'tune', 'fit'):
            self.show(page, view)
        self.assertIsNone(page.run('window.taken ?? null'))
        self.assertIsNone(page.run('$("page").contentWindow.taken ?? null'))
        self.assertEqual(page.run('document.querySelectorAll("img").length'), 0)

    def test_nothing_leaves_the_page(self):
        page = self.app()
        policy = page.run('document.querySelector("meta[http-equiv]").content')
        self.assertTrue(policy.startswith("default-src 'none'; "))
        self.assertNotRegex(policy, 'https?:|connect-src|unsafe-(eval|inline)'
                            .replace('unsafe-(eval', "'unsafe-(eval"))
        self.assertEqual(page.run('fetch("data:,x").then(() => "fetched", '
                                  '() => "refused")'), 'refused')
        self.assertEqual(page.run('''new Promise((done) => {
            const address = URL.createObjectURL(new Blob([
              `fetch("data:,x").then(() => postMessage("fetched"),
                () => postMessage("refused"))`]));
            new Worker(address).onmessage = ({ data }) => done(data); })'''),
            'refused')
        page.browser.events.clear()  # that was wanted


if __name__ == '__main__':
    if not PAGE.exists():
        print('skipped: there is no app.html (`make app` builds it)')
        sys.exit(page_case.SKIPPED)
    page_case.run('__main__', box_font.install)
