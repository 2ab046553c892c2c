"""test_app.py LARDER - the page that reads snapshots itself: what its reader,
in JavaScript, makes of a file is what the command's makes of it."""
import json
import pathlib
import pickle
import subprocess

import page_case
from page_case import ROOT, SNAPSHOTS

# All that a page knows, without the numbers that each reader gives to
# strings, stacks and streams in its own order, and without what only the
# command works out.
KNOWN = '''(() => { const plain = (run) => run.devices.map((d) => {
  const a = d.alloc, s = d.segment, e = d.event, n = (i) => i;
  const stack = (i) => [...stackFrames(run, i)].map((f) => frameText(run, f));
  return { device: d.device, marks: d.marks, verdict: d.verdict,
    categories: [...a.category].map((c) => d.categories[c]),
    own: [...a.stack].map((i) => run.own[i] ? frameText(run, run.own[i] - 1)
      : ""),
    words: Object.fromEntries([...run.kind].map((kind, id) => [
      frameText(run, id), [kind, ...Object.keys(run.by).map((by) =>
        frameLabel(run, id, by))]])),
    why: d.ooms.map((o) => o.text.split("\\n")), ooms: d.ooms.map((o) =>
      [o.event, o.bytes]), note: d.note, peak: d.peak,
    event: [e.action, e.bytes, e.address, e.time].map((c) => [...c]),
    alloc: [a.start, a.end, a.done, a.address, a.size, a.rounded]
      .map((c) => [...c]),
    stacks: [...a.stack].map(stack), notes: [...a.start].map((_, i) =>
      noteText(d, i)),
    streams: [...a.stream, ...s.stream].map((i) => d.streams[i]),
    segment: [s.address, s.size, s.start, s.end, s.kind].map((c) => [...c]) };
  }); return JSON.stringify(plain(state.data.runs[0])); })()'''

# Of the fuzzer's files: numbers above 2^53, which are not exact in a browser.
INEXACT = {'long', 'huge_sizes.json', 'top_of_space.json'}

MADE = {
    'plain': (),
    'oom': ('--oom', '--streams', '3'),
    'expandable': ('--expandable', '--pools'),
    'old': ('--version', '2.0'),
    'protocol5': ('--protocol', '5', '--devices', '3'),
}


class App(page_case.PageCase):

    def app(self):
        path = self.folder / 'app.html'
        subprocess.run([self.larder, 'view', '--app', '-o', path], check=True)
        return self.open_file(path)

    def choose(self, page, path):
        page.to_front()
        document = page.send('DOM.getDocument')['root']['nodeId']
        node = page.send('DOM.querySelector', nodeId=document,
                         selector='#file')['nodeId']
        page.run('$("drop-said").textContent = "…"')
        page.send('DOM.setFileInputFiles', nodeId=node, files=[str(path)])
        page.wait('!$("drop-said").textContent.includes("…")')
        page.settle()

    def assert_same(self, page, path):
        self.choose(page, path)
        self.assertEqual(page.text('#drop-said'), '')
        ours = json.loads(page.run(KNOWN))
        other = self.open(path)
        theirs = json.loads(other.run(KNOWN))
        self.assertEqual(len(ours), len(theirs))
        for mine, other in zip(ours, theirs):
            self.assert_advice(mine['verdict'], other['verdict'])
            self.assert_why(mine.pop('why'), other.pop('why'))
            for name in other:
                self.assertEqual(mine[name], other[name], name)

    def assert_advice(self, mine, theirs):
        """The command knows more: it replays, and sees iterations."""
        if any(words in theirs[2] for words in ('replayed', 'iteration')):
            mine[2] = theirs[2]

    def assert_why(self, mine, theirs):
        """Each line, but for where to read on, is one of the command's."""
        for ours, full in zip(mine, theirs):
            rest = iter(full)
            for line in [line for line in ours if '`larder' not in line]:
                self.assertIn(line, rest)

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
                        f'{name}.{ending}', '--events', '3000', *options))

    def test_stacks_by_number_are_read(self):
        """As `larder convert` writes JSON."""
        page = self.app()
        for path in [*SNAPSHOTS, self.made('oom.pickle', '--events', '3000',
                                           *MADE['oom'])]:
            with self.subTest(path.name):
                numbered = self.folder / 'numbered.json'
                subprocess.run([self.larder, 'convert', path, numbered],
                               check=True)
                self.assert_same(page, numbered)

    def test_zstd_is_unpacked_where_the_browser_can(self):
        page = self.app()
        packed = self.folder / 'packed.pickle.zst'
        subprocess.run([self.larder, 'convert', SNAPSHOTS[-1], packed],
                       check=True)
        known = page.run('(() => { try { new DecompressionStream("zstd"); '
                         'return true; } catch { return false; } })()')
        if known:
            self.assert_same(page, packed)
            whole = packed.read_bytes()
            packed.write_bytes(whole[:len(whole) // 2])
            self.choose(page, packed)
            self.assertIn('cut short', page.text('#drop-said'))
        page.run('window.DecompressionStream = class { constructor() { '
                 'throw new TypeError("format"); } }')
        self.choose(page, packed)
        self.assertIn('does not unpack: unpack it first',
                      page.text('#drop-said'))

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
        self.assertIn('was asked for', page.text('#panel'))

    def test_the_next_file_takes_the_place_of_the_last(self):
        page = self.app()
        self.choose(page, SNAPSHOTS[0])
        self.choose(page, self.made('plain.pickle', '--events', '3000'))
        self.assertEqual(page.text('#title'), 'plain.pickle')
        self.assertEqual(page.run('state.device.events'), 3000)
        self.assertEqual(page.run('$("device").options.length'), 1)


if __name__ == '__main__':
    page_case.run('__main__')
