"""test_app.py LARDER - the page that reads snapshots itself: what its reader,
in JavaScript, makes of a file is what the command's makes of it."""
import base64
import hashlib
import pathlib
import pickle
import random
import shutil
import subprocess

import app_case
import page_case
from page_case import ROOT, SNAPSHOTS

MADE = {
    'plain': (),
    'oom': ('--oom', '--streams', '3'),
    'expandable': ('--expandable', '--pools'),
    'old': ('--version', '2.0'),
    'protocol5': ('--protocol', '5', '--devices', '3'),
}


class App(app_case.AppCase):

    def test_snapshots_are_read_as_the_command_reads_them(self):
        page = self.app()
        others = sorted((ROOT / 'tests/data/snapshots').glob('*.json'))
        for path in [*SNAPSHOTS, *others]:
            with self.subTest(path.name):
                self.assert_same(page, path)

    def test_large_ones_are_read_as_the_command_reads_them(self):
        page = self.app()
        for name, options in MADE.items():
            for ending in ('pickle', 'json'):
                with self.subTest(f'{name}.{ending}'):
                    self.assert_same(page, self.made(
                        f'{name}.{ending}', '--events', '1500', *options))

    def test_stacks_by_number_are_read(self):
        """As `larder convert` writes JSON."""
        page = self.app()
        for path in (SNAPSHOTS[-1], self.made(
                'oom.pickle', '--events', '1500', *MADE['oom'])):
            with self.subTest(path.name):
                numbered = self.folder / 'numbered.json'
                subprocess.run([self.larder, 'convert', path, numbered],
                               check=True)
                self.assert_same(page, numbered)

    def test_zstd_is_unpacked(self):
        page = self.app()
        packed = self.folder / 'packed.pickle.zst'
        for path in (SNAPSHOTS[-1],
                     self.made('plain.pickle', '--events', '1500')):
            with self.subTest(path.name):
                subprocess.run([self.larder, 'convert', path, packed],
                               check=True)
                self.assert_same(page, packed)
        whole = packed.read_bytes()
        for end in (3, 20, len(whole) // 2, len(whole) - 5):
            packed.write_bytes(whole[:end])
            with self.subTest(end):
                self.choose(page, packed)
                self.assertNotEqual(page.text('#drop-said'), '')

    def test_every_level_of_zstd_is_unpacked(self):
        if not shutil.which('zstd'):
            self.skipTest('there is no zstd')
        page = self.app()
        content = (self.made('short.pickle', '--events', '600').read_bytes() +
                   bytes(200000) + random.Random(1).randbytes(9000))
        for options in ((), ('-1',), ('-12',), ('-19',), ('--no-check',),
                        ('--content-size', '-3'), ('-B128K', '--long=20')):
            with self.subTest(options):
                packed = subprocess.run(['zstd', '-c', *options],
                                        input=content, check=True,
                                        stdout=subprocess.PIPE).stdout
                said = page.run(
                    'crypto.subtle ? crypto.subtle.digest("SHA-256", '
                    'new ZstdReader(Uint8Array.from(atob("%s"), (c) => '
                    'c.charCodeAt(0))).read()).then((h) => [...new '
                    'Uint8Array(h)]) : null' %
                    base64.b64encode(packed * 2).decode())
                self.assertEqual(bytes(said), hashlib.sha256(
                    content * 2).digest())

    def test_every_protocol_is_read(self):
        value = pickle.loads((ROOT / 'tests/data/snapshots/v2.13.pickle')
                             .read_bytes())
        value['device_traces'][0][0]['addr'] = -(1 << 40)
        value['device_traces'][0][1]['stream'] = (1 << 63) + (1 << 40)
        value['external_annotations'][0]['name'] = 'a "quoted"\n\\name é €'
        page = self.app()
        for protocol in range(1, 6):
            path = self.folder / f'protocol{protocol}.pickle'
            path.write_bytes(pickle.dumps(value, protocol))
            with self.subTest(protocol):
                self.assert_same(page, path)

    def test_what_makes_no_sense_is_unknown(self):
        page = self.app()
        path = self.folder / 'nonsense.pickle'
        for number in (-2, 1 << 32, (1 << 64) - 1, 1 << 70, 1.5, '12', [3]):
            value = pickle.loads((ROOT / 'tests/data/snapshots/v2.13.pickle')
                                 .read_bytes())
            for frame in value['device_traces'][0][0]['frames']:
                frame['line'] = number
            block = value['segments'][0]['blocks'][0]
            block['requested_size'] = number if number != 1 << 32 else -1
            value['device_traces'][0][1]['time_us'] = (
                number if number != -2 else 'never')
            path.write_bytes(pickle.dumps(value))
            with self.subTest(number):
                self.assert_same(page, path)

    def test_what_is_none_is_said(self):
        page = self.app()
        for content, said in (
                (b'', 'the file ends here'),
                (b'\x1f\x8b\x08....', 'gzip'),
                (b'PK\x03\x04....', 'torch.save'),
                (b'{"a": 1}', 'no key "segments"'),
                (b'{"segments": [', 'JSON'),
                (pickle.dumps({'segments': 3}), '"segments" is no list'),
                (pickle.dumps(pathlib.PurePosixPath('/')), 'opcode'),
                (b'cos\nsystem\n(S"true"\ntR.', 'byte 0: opcode 0x63')):
            path = self.folder / 'bad.pickle'
            path.write_bytes(content)
            with self.subTest(said):
                self.choose(page, path)
                self.assertIn(said, page.text('#drop-said'))
                self.assertTrue(page.run('$("main").hidden'))

    def test_it_names_no_setting_that_was_not_replayed(self):
        def event(action, at, mib):
            return {'action': action, 'addr': (1 << 40) + (at << 20),
                    'size': mib << 20, 'stream': 0, 'frames': [], 'time_us': 1}
        events = [event('segment_alloc', 0, 60)]
        events += [event('alloc', at, 20) for at in (0, 20, 40)]
        events += [event(action, at, 20) for at in (0, 40)
                   for action in ('free_requested', 'free_completed')]
        events.append(dict(event('oom', 0, 30), addr=4 << 20))
        page = self.app()
        self.choose(page, self.written({'segments': [],
                                        'device_traces': [events]}))
        told = page.run('state.device.verdict[2]')
        self.assertIn('or find a setting that can use it: `larder tune` replays '
                      'them.', told)
        self.assertNotIn('Set ', told)

    def test_the_first_step_alone_is_told_as_the_command_tells_it(self):
        def event(action, at, mib, name):
            return {'action': action, 'addr': (1 << 40) + (at << 20),
                    'size': mib << 20, 'stream': 0, 'time_us': 1,
                    'frames': [{'filename': f'{name}.py', 'name': name,
                                'line': 7}]}
        events = [event('alloc', 0, 60, '__init__'),
                  event('alloc', 128, 100, 'forward')]
        events += [event(action, 128, 100, 'backward')
                   for action in ('free_requested', 'free_completed')]
        events.append(event('alloc', 256, 90, 'Optimizer.step'))
        path = self.written({'segments': [], 'device_traces': [events]})
        page = self.app()
        self.assert_same(page, path)
        self.assertIn('That is the first step alone: the next begins with '
                      '90.0 MiB of optimizer state more.',
                      page.run('state.device.verdict[0]'))

    def test_the_first_screen_fits_a_narrow_window(self):
        page = self.app(width=390, height=800)
        self.assertLessEqual(
            page.run('document.documentElement.scrollWidth'), 390)

    def test_the_first_screen_says_what_to_do(self):
        page = self.app()
        steps = page.run('[...document.querySelectorAll("#drop li")]'
                         '.map((step) => step.innerText)')
        self.assertEqual(len(steps), 3)
        self.assertIn('_record_memory_history(', steps[0])
        self.assertIn('_dump_snapshot("snapshot.pickle")', steps[1])
        self.assertIn('Open snapshot.pickle here', steps[2])
        self.assertFalse(page.run('$("search").checkVisibility()'))
        self.choose(page, SNAPSHOTS[0])
        self.assertFalse(page.run('$("drop").querySelector("ol")'
                                  '.checkVisibility()'))

    def test_a_bad_file_is_told_of_in_words(self):
        page = self.app()
        path = self.folder / 'holiday.jpg'
        path.write_bytes(b'\xff\xd8\xff\xe0')
        self.choose(page, path)
        self.assertRegex(page.text('#drop-said'),
                         r'holiday.jpg cannot be read as a memory snapshot '
                         r'\(.*\)\. +Expected a file that '
                         r'torch.cuda.memory._dump_snapshot\(\) wrote')

    def test_a_file_is_dropped(self):
        page = self.app()
        data = {'items': [], 'files': [str(SNAPSHOTS[-1])],
                'dragOperationsMask': 1}
        for kind in ('dragEnter', 'dragOver', 'drop'):
            page.send('Input.dispatchDragEvent', type=kind, x=400, y=300,
                      data=data)
        page.wait('state.device !== null')
        page.settle()
        self.assertEqual(page.text('#title'), SNAPSHOTS[-1].name)
        self.assertFalse(page.run('$("main").hidden'))
        self.assertIn('was requested on', page.text('#panel'))

    def test_the_next_file_takes_the_place_of_the_last(self):
        page = self.app()
        self.choose(page, SNAPSHOTS[0])
        self.choose(page, self.made('plain.pickle', '--events', '1500'))
        self.assertEqual(page.text('#title'), 'plain.pickle')
        self.assertEqual(page.run('state.device.events'), 1500)
        self.assertEqual(page.run('$("device").options.length'), 1)


if __name__ == '__main__':
    page_case.run('__main__')
