"""test_hostile.py LARDER - whatever a snapshot calls its functions, files and
categories, nothing of it runs as script: the page shows it as text, and its
policy lets no script in but its own."""
import re

import page_case

CONTROLS = re.compile('[\0-\x08\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f'
                      '\u2028-\u202e\u2066-\u2069]')
HOSTILE = [
    '</script><script>window.taken = 1</script>',
    '<img src=x onerror="window.taken = 1">',
    '"><svg onload="window.taken = 1">',
    "'-window.taken=1-'",
    '<!--<script>window.taken = 1</script>',
    '&lt;b&gt;\u2028window.taken = 1\u2029',
    'javascript:window.taken=1',
    '${window.taken = 1}`',
    '@SCRIPT@', '@DATA@',
    '\x1b[31m\x9b\u202eturned\u2066\u061c\u200f',
    '__proto__', 'constructor', 'toString',
]


def event(n, name):
    return {'action': 'alloc', 'addr': (n + 1) << 30, 'size': 1 << 20,
            'stream': 0, 'time_us': n, 'user_metadata': name, 'category': name,
            'compile_context': name,
            'frames': [{'filename': f'{name}.py', 'line': 1, 'name': name},
                       {'filename': name, 'line': 2, 'name': name}]}


def snapshot():
    events = [event(n, name) for n, name in enumerate(HOSTILE)]
    events.append({'action': 'oom', 'size': 1 << 40, 'stream': 0,
                   'device_free': 512, 'time_us': 99,
                   'frames': events[0]['frames']})
    return {
        'segments': [], 'device_traces': [events],
        'external_annotations': [
            {'name': name, 'stage': 'START', 'device': 0, 'time_us': n}
            for n, name in enumerate(HOSTILE)]}


class Hostile(page_case.PageCase):

    def page(self):
        return self.open(self.written(snapshot()),
                         '--title', HOSTILE[0] + HOSTILE[1])

    def test_names_are_text_everywhere(self):
        self.assert_text(self.page())

    def test_what_is_not_utf8_is_shown_as_far_as_it_is(self):
        odd = 'caf\udce9.py'  # as Python names a file of a Latin-1 name
        said = snapshot()
        said['external_annotations'][0]['name'] = odd
        said['device_traces'][0][0]['frames'][0]['filename'] = odd
        page = self.open(self.written(said))
        shown = 'caf\ufffd\ufffd\ufffd.py'
        self.assertEqual(page.run('state.device.marks[0].label'), shown)
        self.assertIn(shown, page.run('state.device.run.strings'))

    def assert_text(self, page):
        """Through all that the page can show."""
        for view in 'ftm':
            page.key(view)
            for tab in '1234567':
                page.key(tab)
        for by in ('line', 'function', 'module', 'library'):
            page.run(f'$("tree-by").value = "{by}"; setForm()')
            page.key('t')
            page.key('f')
        for i in range(len(HOSTILE)):
            page.run(f'select({i})')
            page.settle()
            self.assertIn(re.sub(CONTROLS, '?', HOSTILE[i]),
                          page.text('#panel'))
        page.run('search("onerror")')
        page.settle()
        self.assertIsNone(page.run('window.taken'))
        self.assertNotRegex(page.run('document.body.innerText'), CONTROLS)
        self.assertEqual(page.run(
            'document.querySelectorAll("img, svg, script").length'), 3)

    def test_no_script_but_the_pages_own_runs(self):
        page = self.page()
        page.run('''(() => {
            const script = document.createElement("script");
            script.textContent = "window.taken = 1";
            document.body.append(script);
            const holder = document.createElement("div");
            holder.innerHTML = '<img src="data:," onerror="window.taken = 2">' +
                '<button id="taker" onclick="window.taken = 3">x</button>';
            document.body.append(holder);
            document.getElementById("taker").click();
            try { eval("window.taken = 4"); } catch (refused) { }
        })()''')
        page.settle()
        self.assertIsNone(page.run('window.taken'))
        self.assertTrue(page.complaints())
        page.browser.events.clear()  # that was wanted

    def test_nothing_is_fetched(self):
        page = self.page()
        self.assertEqual(page.run('fetch("data:,x").then(() => "fetched", '
                                  '() => "refused")'), 'refused')
        page.browser.events.clear()

    def test_the_policy_names_this_script_and_style(self):
        page = self.page()
        policy = page.run('document.querySelector("meta[http-equiv]").content')
        for piece in ("default-src 'none'", 'script-src', 'style-src',
                      "base-uri 'none'", "form-action 'none'"):
            self.assertIn(piece, policy)
        self.assertNotIn('unsafe', policy)
        hashes = page.run('''(async () => {
            const of = async (element) => { const bytes = await
                crypto.subtle.digest("SHA-256",
                new TextEncoder().encode(element.textContent));
                return "'sha256-" + btoa(String.fromCharCode(
                ...new Uint8Array(bytes))) + "'"; };
            return [await of(document.querySelector("style")),
                await of(document.querySelector("script:not([type])"))];
        })()''') if page.run('window.isSecureContext') else []
        for one in hashes:
            self.assertIn(one, policy)


if __name__ == '__main__':
    page_case.run('__main__')
