"""test_page.py LARDER - the page that `larder view` makes, used as a person
uses it: clicks, drags and keys come from the browser, not from the page."""
import json
import subprocess

import browser
import page_case
from page_case import ROOT, SNAPSHOTS

TABS = 7
# How many colours a canvas has.
COLOURS = '''((id) => { const c = document.getElementById(id);
const data = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
const seen = new Set(); for (let i = 0; i < data.length; i += 4)
if (data[i + 3] > 0) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
return seen.size; })'''


# Levels of detail against going through everything, at a prime step: how many
# moments and stretches differ.
LEVELS = '''(() => {
  const d = state.device, a = d.alloc, { lengths } = d;
  const alive = (from, to) => [...a.start.keys()].filter((i) =>
    a.start[i] < to && a.end[i] >= from).join();
  const { allocated } = d.curve;
  const peak = allocated.indexOf(Math.max(...allocated));
  let wrong = d.pyramid.allocated.range(0, d.events).highest !== peak;
  for (let k = 0; k <= d.events; k += 61) {
    wrong += aliveAt(d, k).join() !== alive(k, k);
    const found = [], to = Math.min(d.events, k + 97);
    lengths.forAlive(k, to, 0, (at) => found.push(lengths.order[at]));
    wrong += found.sort((x, y) => x - y).join() !== alive(k, to);
    const curve = [...d.curve.allocated.subarray(k, to + 1)];
    const { least, most, highest } = d.pyramid.allocated.range(k, to);
    wrong += least !== Math.min(...curve) || most !== Math.max(...curve) ||
      highest !== k + curve.indexOf(most);
  }
  return wrong;
})()'''


# What can be pressed and is smaller than a finger or a shaky hand needs.
SMALL = '''[...document.querySelectorAll('button, select, input, tr.choice, ' +
  '.tree-row:not(.tree-head), .rows .row')]
  .filter((e) => e.checkVisibility())
  .map((e) => [e, e.getBoundingClientRect()])
  .filter(([e, box]) => box.width < 24 || box.height < 24)
  .map(([e, box]) => `${e.tagName} ${e.id || e.textContent} ` +
    `${box.width} ${box.height}`)'''


class Page(page_case.PageCase):
    """What most of the tests look at: a run on two devices, the second of
    which runs out of memory."""

    def run_out(self):
        return self.open(self.made('oom.pickle', '--events', '4000', '--oom',
                                   '--stacks', '30'))

    def colours(self, page, canvas):
        return page.run(f'{COLOURS}("{canvas}")')

    def state(self, page, what):
        return page.run(f'state.{what}')

    def at_state(self, page, k):
        """Where on the screen the timeline has a state, and its middle."""
        x = page.run(f'state.drawn.view.x(state.axis.at({k}))')
        y = page.run('state.drawn.view.y(state.device.curve.allocated'
                     f'[{k}] / 2)')
        left, top, _, _ = page.box('#timeline')
        return left + x, top + y

    def find(self, page, text):
        page.key('/')
        page.run('$("search").value = ""')
        page.type(text)
        page.wait(f'state.searched === {json.dumps(text)}')
        page.settle()

    # ---- it comes up ----

    def test_every_version_of_a_snapshot_is_drawn(self):
        for path in SNAPSHOTS:
            with self.subTest(path.name):
                page = self.open(path)
                for canvas in ('timeline', 'overview', 'flame'):
                    self.assertGreater(self.colours(page, canvas), 2, canvas)
                self.assertIn('peak', page.text('#figures'))

    def test_the_absurd_comes_up(self):
        for name in ('huge_sizes', 'overlaps', 'words'):
            with self.subTest(name):
                self.open(ROOT / f'tests/fuzz/corpus/report/{name}.json')

    def test_events_are_those_of_the_snapshot(self):
        # Most of an event is not in the page, but worked out of lifetimes.
        path = self.made('oom.json', '--events', '4000', '--oom')
        events = json.loads(path.read_text())['device_traces'][0]
        page = self.open(path)
        said = page.run('[...state.device.event.action].map((action, n) => '
                        '[ACTIONS[action], state.device.event.bytes[n], '
                        'state.device.event.address[n]])')
        self.assertEqual(said, [
            [e['action'], e['size'], 0 if e['action'] == 'oom' else e['addr']]
            for e in events])

    def test_sizes_are_written_as_the_report_writes_them(self):
        page = self.open(SNAPSHOTS[0])
        self.assertEqual(
            page.run('[1023, 1048063, 1048064, -1048064, 2 ** 64].map(bytesText)'),
            ['1023 B', '1023 KiB', '1.00 MiB', '−1.00 MiB', '16.0 EiB'])

    def test_levels_of_detail_lose_nothing(self):
        self.assertEqual(self.run_out().run(LEVELS), 0)

    def test_two_runs_share_an_axis(self):
        page = self.open(SNAPSHOTS[0], SNAPSHOTS[-1])
        self.assertIn('the other run', page.text('#figures'))
        self.assertIn(SNAPSHOTS[-1].name, page.text('#legend'))

    def test_annotations_stand_for_call_paths(self):
        path = self.folder / 'noted.trace'
        path.write_text('m first(1, 2)\na 0 30000000\nm second\n' + ''.join(
            f'a {i} {i * 100000}\nf {i}\n' for i in range(1, 99)))
        page = self.open(path)
        page.run('setGroups("stack")')
        page.settle()
        self.assertIn('first(1, 2)', page.text('#legend'))
        self.find(page, 'FIRST(1')
        page.click(*self.at_state(page, 2))
        self.assertIn('Annotationfirst(1, 2)', page.text('#panel'))

    # ---- along the run ----

    def test_keys_and_wheel_move_the_picture(self):
        page = self.run_out()
        whole = self.state(page, 'axis.end')
        page.key('+')
        self.assertLess(page.run('state.to - state.from'), whole)
        before = self.state(page, 'from')
        page.key('ArrowRight')
        self.assertGreater(self.state(page, 'from'), before)
        page.key('0')
        self.assertEqual(page.run('state.to - state.from'), whole)
        left, top, _, _ = page.box('#timeline')
        page.wheel(left + 600, top + 100, -300)
        self.assertLess(page.run('state.to - state.from'), whole)

    def test_keys_move_the_moment(self):
        page = self.run_out()
        peak = self.state(page, 'device.peak')
        page.key('p')
        self.assertEqual(self.state(page, 'cursor'), peak)
        page.key('.')
        self.assertEqual(self.state(page, 'cursor'), peak + 1)
        page.key(',')
        self.assertEqual(self.state(page, 'cursor'), peak)
        page.key('Home')
        self.assertEqual(self.state(page, 'cursor'), 0)
        page.key('>')
        self.assertGreater(self.state(page, 'cursor'), 1)

    def test_the_line_is_dragged_through_the_moments(self):
        page = self.run_out()
        page.run('moveCursor(1000)')
        page.settle()
        x, y = self.at_state(page, 1000)
        page.drag((x, y), (x + 300, y))
        self.assertGreater(self.state(page, 'cursor'), 1500)
        self.assertIsNone(self.state(page, 'span'))

    def test_dragging_marks_a_stretch(self):
        page = self.run_out()
        begin, end = self.at_state(page, 1000), self.at_state(page, 2000)
        page.drag(begin, (end[0], begin[1]))
        span = self.state(page, 'span')
        self.assertAlmostEqual(span['from'], 1000, delta=5)
        self.assertAlmostEqual(span['to'], 2000, delta=5)
        self.assertIn('Made and still there', page.text('#panel'))
        self.assertEqual(self.state(page, 'what'), 'grew')
        self.assertIn('Grew over', page.text('#view-title'))
        page.key('z')
        self.assertAlmostEqual(self.state(page, 'from'), 960, delta=10)
        self.assertAlmostEqual(self.state(page, 'to'), 2040, delta=10)
        page.key('Escape')
        self.assertIsNone(self.state(page, 'span'))
        self.assertEqual(self.state(page, 'what'), 'alive')

    def test_figures_of_a_stretch_are_those_of_its_events(self):
        page = self.run_out()
        made = page.run('''(() => { markSpan(1000, 2000);
            const f = spanFigures(state.device, 1000, 2000); let bytes = 0;
            const e = state.device.event; let count = 0;
            for (let n = 1000; n < 2000; n++) if (e.action[n] === 0) count++;
            return { count, said: f.made.count, grown: f.grown,
              sum: f.made.bytes - f.freed.bytes }; })()''')
        self.assertEqual(made['said'], made['count'])
        self.assertEqual(made['grown'], made['sum'])

    def test_shift_and_drag_moves_the_picture(self):
        page = self.run_out()
        page.run('setWindow(1000, 2000)')
        page.settle()
        left, top, _, _ = page.box('#timeline')
        page.drag((left + 600, top + 100), (left + 400, top + 100),
                  browser.SHIFT)
        self.assertGreater(self.state(page, 'from'), 1100)
        self.assertIsNone(self.state(page, 'span'))

    def test_the_overview_chooses_a_part(self):
        page = self.run_out()
        left, top, width, _ = page.box('#overview')
        page.drag((left + width / 4, top + 20), (left + width / 2, top + 20))
        end = self.state(page, 'axis.end')
        self.assertAlmostEqual(self.state(page, 'from') / end, 0.25, delta=0.01)
        self.assertAlmostEqual(self.state(page, 'to') / end, 0.5, delta=0.01)

    # ---- what is chosen ----

    def test_a_click_chooses_an_allocation(self):
        page = self.run_out()
        page.key('p')
        x, y = self.at_state(page, self.state(page, 'device.peak'))
        page.move(x + 20, y)
        self.assertFalse(page.run('$("tip").hidden'))
        page.click(x + 20, y)
        self.assertGreaterEqual(self.state(page, 'selected'), 0)
        self.assertIn('Requested size', page.text('#panel'))

    def test_a_legend_entry_hides_and_shows(self):
        page = self.run_out()
        entry = '#legend button:nth-child(4)'  # after the three curves
        page.press(entry)
        self.assertEqual(page.run('[...state.hidden]'), [0])
        shown = page.run('[...state.drawn.chosen].every((i) => '
                         'state.groups.of[i] !== 0)')
        self.assertTrue(shown)
        page.press(entry)
        self.assertEqual(page.run('[...state.hidden]'), [])
        self.assertTrue(page.run('[...state.drawn.chosen].some((i) => '
                                 'state.groups.of[i] === 0)'))
        page.press('#legend button:nth-child(1)')
        self.assertEqual(page.run('[...state.hiddenCurves]'), ['reserved'])

    def test_the_filter_is_over_everything(self):
        page = self.run_out()
        size = page.run('Math.max(...state.device.alloc.size)')
        self.find(page, f'>={size}')
        page.key('Enter')
        count = page.run('state.found.list.length')
        self.assertGreater(count, 0)
        self.assertEqual(page.run(
            'state.found.list.every((i) => state.device.alloc.size[i] === '
            f'{size})'), True)
        page.key('p')  # still in the box: a letter of the search, no command
        self.find(page, f'>={size}')
        page.run('$("search").blur()')
        alive = page.run('aliveAt(state.device, state.cursor)'
                         '.filter((i) => state.found.mask[i]).length')
        self.assertEqual(page.run('state.tree.root.count'), alive)
        page.key('3')
        page.wait('document.querySelector("#panel").innerText'
                  f'.includes("{alive} alive")')
        page.key('5')
        page.wait('document.querySelectorAll("#panel .row").length > 0')
        events = page.run('[...document.querySelectorAll("#panel .row")]'
                          '.map((row) => Number(row.textContent.split(" ")[0]))')
        self.assertTrue(events)
        self.assertTrue(page.run(f'{json.dumps(events)}.every((n) => '
                                 'state.found.mask[state.device.event.owner[n]])'))

    def test_addresses_frames_and_nonsense_are_searched_for(self):
        page = self.run_out()
        where = page.run('addressText(state.device.alloc.address[9])')
        self.find(page, where)
        self.assertTrue(page.run('state.found.list.includes(9)'))
        name = page.run('frameText(state.device.run, ownFrame(state.device.run,'
                        'state.device.alloc.stack[9])).split("  ")[1]')
        self.find(page, name)
        self.assertTrue(page.run('state.found.list.includes(9)'))
        self.find(page, 'no such thing anywhere')
        self.assertEqual(page.text('#found'), 'nothing found')
        page.key('Escape')
        self.assertIsNone(self.state(page, 'found'))

    # ---- flame graph and tree ----

    def test_the_flame_graph_weighs_what_is_alive(self):
        page = self.run_out()
        for key in ('p', 'Home', 'End'):
            page.key(key)
            self.assertEqual(
                page.run('state.tree.root.total'),
                page.run('state.device.curve.allocated[state.cursor]'))

    def test_growth_is_the_difference_of_two_moments(self):
        page = self.run_out()
        page.run('markSpan(500, 1500)')
        page.settle()
        self.assertEqual(page.run('state.tree.root.total'), page.run(
            'state.device.curve.allocated[1500] - '
            'state.device.curve.allocated[500]'))
        page.run('setWhat("made")')
        page.settle()
        self.assertEqual(page.run('state.tree.root.total'), page.run(
            'spanFigures(state.device, 500, 1500).made.bytes'))

    def test_children_add_up_to_their_caller(self):
        page = self.run_out()
        for by in ('line', 'function', 'module', 'library'):
            page.run(f'$("tree-by").value = "{by}"; setForm()')
            page.settle()
            self.assertTrue(page.run('''(() => { const check = (node) => {
                let sum = node.self; for (const child of
                node.children.values()) { if (!check(child)) return false;
                sum += child.total; } return sum === node.total; };
                return check(state.tree.root); })()'''), by)

    def test_a_frame_is_entered_and_left(self):
        page = self.run_out()
        page.key('p')
        page.key('f')
        box = page.run('(({x, width, depth}) => [x, width, depth])'
                       '(state.boxes.find((b) => b.depth === 2))')
        left, top, _, _ = page.box('#flame')
        page.click(left + box[0] + box[1] / 2, top + (box[2] + 0.5) * 21)
        self.assertEqual(page.run('state.focus.length'), 2)
        self.assertIn('Allocations', page.text('#panel'))
        # The timeline shows what came through it.
        bright = page.run('[...state.mask].filter((m) => m).length')
        self.assertGreater(bright, 0)
        page.run('$("view-flame").focus()')
        page.key('ArrowUp')
        self.assertEqual(page.run('state.focus.length'), 1)
        left, top, _, _ = page.box('#flame')
        page.click(left + 40, top + 8)
        self.assertEqual(page.run('state.focus.length'), 0)
        self.assertIsNone(self.state(page, 'mask'))

    def test_frames_of_cpp_and_the_framework_are_folded(self):
        frames = [{'filename': name, 'line': 7, 'name': function} for
                  name, function in (
                      ('/build/c10/CUDACachingAllocator.cpp', 'c10::malloc'),
                      ('/build/aten/Linear.cpp', 'at::linear(at::Tensor)'),
                      ('/opt/lib/python3.10/site-packages/torch/nn/linear.py',
                       'forward'),
                      ('/home/me/model.py', 'forward'),
                      ('/home/me/train.py', '<module>'))]
        event = {'action': 'alloc', 'addr': 1 << 30, 'size': 1 << 20,
                 'stream': 0, 'time_us': 5, 'frames': frames}
        page = self.open(self.written({'segments': [],
                                       'device_traces': [[event]]}))
        page.key('End')
        page.key('t')
        rows = ('[...document.querySelectorAll(".tree-row .name")].slice(2)'
                '.map((name) => name.lastChild.textContent)')
        self.assertEqual(page.run(rows), ['train.py:7 <module>',
                                          'model.py:7 forward'])
        page.press('#with-torch')
        self.assertEqual(page.run(rows)[2:], ['linear.py:7 forward'])
        page.press('#with-cpp')
        self.assertEqual(page.run(rows)[3:], [
            'Linear.cpp:7 at::linear', 'CUDACachingAllocator.cpp:7 c10::malloc'])
        page.press('#inside-out')
        self.assertEqual(page.run(rows)[-1], 'train.py:7 <module>')
        page.run('$("tree-by").value = "library"; setForm()')
        page.settle()
        self.assertEqual(page.run(rows), ['(no Python)', 'torch', 'the program itself'])

    def test_the_tree_opens_and_closes(self):
        page = self.run_out()
        page.key('p')
        page.key('t')
        many = page.run('state.treeRows.length')
        page.run('$("view-tree").focus()')
        page.key('ArrowLeft')
        self.assertEqual(page.run('state.treeRows.length'), 1)
        page.key('ArrowRight')
        self.assertGreater(page.run('state.treeRows.length'), 1)
        self.assertLessEqual(page.run('state.treeRows.length'), many)
        page.key('ArrowDown')
        self.assertEqual(page.run('state.focus.length'), 1)

    def test_the_reports_three_lines_are_on_top(self):
        path = self.made('oom.pickle', '--events', '4000', '--oom',
                         '--stacks', '30')
        said = subprocess.run([self.larder, 'report', path, '--json'],
                              check=True, capture_output=True).stdout
        page = self.open(path)
        verdict = json.loads(said.splitlines()[0])['devices'][0]['verdict']
        for line in verdict.values():
            if isinstance(line, str):
                self.assertIn(line, page.text('#verdict'))

    def test_the_verdict_keeps_its_labels(self):
        labels = self.run_out().run(
            '[...document.querySelectorAll("#verdict dt")]'
            '.map((label) => label.textContent)')
        self.assertEqual(labels, ['What happened', 'Who holds it',
                                  'What to do'])

    def test_the_device_of_the_verdict_is_opened(self):
        bad = self.made('devices.pickle', '--events', '900', '--devices', '3')
        for path in [*SNAPSHOTS, bad]:
            with self.subTest(path.name):
                said = subprocess.run([self.larder, 'report', path],
                                      check=True, capture_output=True).stdout
                device = said.split(b'\n')[0].split(b', device ')[1]
                self.assertEqual(self.open(path).run('state.device.device'),
                                 int(device))

    # ---- a small window ----

    def test_it_fits_a_narrow_window(self):
        page = self.open(self.made('oom.pickle', '--events', '4000', '--oom',
                                   '--stacks', '30'), width=390, height=800)
        page.key('p')
        for key in 'ftm1234567':
            page.key(key)
            with self.subTest(key):
                self.assertLessEqual(
                    page.run('document.documentElement.scrollWidth'), 390)
        page.key('t')
        self.assertGreater(page.run('document.querySelector(".tree-row .name")'
                                    '.getBoundingClientRect().width'), 120)
        labels = self.state(page, 'drawn.labels')
        self.assertGreater(len(labels), 1)
        for (_, end), (begin, _) in zip(labels, labels[1:]):
            self.assertLess(end, begin)

    def test_what_is_pressed_is_large_enough(self):
        page = self.run_out()
        page.key('p')
        for key in 'ftm1234567':
            page.key(key)
            with self.subTest(key):
                self.assertEqual(page.run(SMALL), [])

    # ---- segments, tabs, boxes ----

    def test_segments_are_to_scale(self):
        page = self.run_out()
        page.key('m')
        self.assertGreater(self.colours(page, 'map'), 2)
        scales = page.run('state.rows.filter((row) => row.bytes / row.scale > '
                          'SEGMENT_MIN).map((row) => row.scale)')
        self.assertEqual(len(set(scales)), 1)
        page.key('[')
        self.assertEqual(page.run('state.rows[0].scale'), scales[0] / 2)
        self.assertIn('B', page.text('#map-key'))

    def test_a_block_is_chosen_in_its_segment(self):
        page = self.run_out()
        page.key('p')
        page.key('m')
        x, y = page.run('''(() => { const row = state.rows.find((row) =>
            row.blocks.length > 0), block = row.blocks[0], piece =
            row.pieces[0]; return [piece.x + (block.address - row.address) /
            row.scale + 1, piece.y + 5]; })()''')
        left, top, _, _ = page.box('#map')
        page.click(left + x, top + y)
        self.assertGreaterEqual(self.state(page, 'selected'), 0)

    def test_tabs_keep_their_own_place(self):
        page = self.run_out()
        page.key('p')
        page.key('3')
        page.run('$("panel").scrollTop = 140')
        page.key('7')
        page.run('$("panel").scrollTop = 0')
        page.key('3')
        self.assertEqual(page.run('$("panel").scrollTop'), 140)

    def test_every_tab_shows_something(self):
        page = self.run_out()
        for tab in range(1, TABS + 1):
            page.key(str(tab))
            self.assertNotEqual(page.text('#panel'), '')

    def test_colours_are_by_category_first(self):
        page = self.run_out()
        self.assertEqual(page.run('state.by'), 'category')
        self.assertIn('weights', page.text('#legend'))

    def test_more_than_nine_call_paths_have_colours(self):
        page = self.open(self.written({'segments': [], 'device_traces': [[
            {'action': 'alloc', 'addr': line << 20, 'size': 1 << 20,
             'stream': 0, 'frames': [{'filename': 'a.py', 'line': line,
                                      'name': 'f'}]}
            for line in range(1, 13)]]}))
        page.run('setGroups("stack")')
        self.assertGreater(page.run('new Set([...Array(state.groups.rest)'
                                    '.keys()].map((group) => groupColour('
                                    'state.groups, group))).size'), 9)

    def test_colours_axis_and_theme(self):
        page = self.run_out()
        for by in ('category', 'stream', 'size', 'stack'):
            page.run(f'$("colour").value = "{by}"; '
                     '$("colour").dispatchEvent(new Event("change"))')
            page.settle()
            self.assertGreater(page.run('state.groups.names.length'), 0)
        page.run('$("axis").value = "time"; '
                 '$("axis").dispatchEvent(new Event("change"))')
        page.settle()
        self.assertGreater(self.colours(page, 'timeline'), 5)
        page.press('#theme')
        self.assertGreater(self.colours(page, 'timeline'), 5)

    def test_the_failure_comes_first(self):
        page = self.run_out()
        self.assertEqual(page.run('state.device.ooms[0].event + 1'),
                         self.state(page, 'cursor'))
        self.assertIn('Why:', page.text('#panel'))
        page.key('Home')
        page.key('o')
        self.assertEqual(page.run('state.device.ooms[0].event + 1'),
                         self.state(page, 'cursor'))

    def test_it_opens_the_failure_that_the_verdict_is_about(self):
        """The last of 23, of which the first 20 are explained too."""
        events = [{'action': 'oom', 'addr': 0, 'size': (n + 1) << 21, 'stream': 0,
                   'device_free': 1 << 20, 'time_us': n, 'frames': []}
                  for n in range(23)]
        file = self.folder / 'often.json'
        file.write_text(json.dumps({'segments': [], 'device_traces': [events]}))
        page = self.open(file)
        self.assertIn('46.0 MiB', page.text('#verdict'))
        self.assertEqual(self.state(page, 'cursor'), 23)
        self.assertEqual(page.run('state.device.ooms.filter((o) => '
                                  '!o.text.includes("Why:")).length'), 2)
        self.assertTrue(page.run('''(() => {
            const at = (item) => item.getBoundingClientRect(), panel = $("panel");
            const last = [...panel.querySelectorAll("button")].at(-1);
            return panel.scrollHeight > panel.clientHeight &&
              last.textContent.includes("46.0 MiB") &&
              at(last).top >= at(panel).top &&
              at(last).bottom <= at(panel).bottom; })()'''))
        # Scrolled by hand it stays there, and goes to the next that is chosen.
        page.run('$("panel").scrollTop = 0; redraw()')
        page.settle()
        self.assertEqual(page.run('$("panel").scrollTop'), 0)

    def test_the_device_that_failed_stands_before_the_others(self):
        event = {'action': 'alloc', 'addr': 1 << 30, 'size': 1 << 20,
                 'stream': 0, 'time_us': 5, 'frames': []}
        failed = {'action': 'oom', 'addr': 512, 'size': 1 << 30, 'stream': 0,
                  'device_free': 512, 'time_us': 6, 'frames': []}
        # Others hold more, and have more events.
        more = {'action': 'segment_alloc', 'addr': 1 << 30, 'size': 1 << 21,
                'stream': 0, 'time_us': 4, 'frames': []}
        again = dict(event, addr=(1 << 30) + (1 << 20))
        page = self.open(self.written({'segments': [], 'device_traces': [
            [more, event, again], [event], [failed]]}))
        self.assertEqual(self.state(page, 'device.device'), 2)
        self.assertEqual(page.run('[...$("device").options].map((o) => '
                                  'o.textContent)'),
                         ['2, out of memory', '0', '1'])

    def test_nothing_is_wider_than_the_page(self):
        page = self.open(self.made('oom.pickle', '--events', '4000', '--oom',
                                   '--stacks', '30'), width=700)
        for tab in range(1, TABS + 1):
            page.key(str(tab))
            self.assertLessEqual(page.run('$("panel").scrollWidth'),
                                 page.run('$("panel").clientWidth'))
        self.assertLessEqual(
            page.run('document.documentElement.scrollWidth'), 700)


if __name__ == '__main__':
    page_case.run('__main__')
