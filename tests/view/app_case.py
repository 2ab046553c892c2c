"""app_case.py - what the tests of the page that reads snapshots itself share:
what its reader, in JavaScript, makes of a file is what the command's makes of
it."""
import json
import subprocess

import page_case

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


class AppCase(page_case.PageCase):
    """A test with such a page."""

    def app(self, **sizes):
        path = self.folder / 'app.html'
        subprocess.run([self.larder, 'view', '--app', '-o', path], check=True)
        return self.open_file(path, **sizes)

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
