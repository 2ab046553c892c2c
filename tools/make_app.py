#!/usr/bin/env python3
"""make_app.py BUILD PAGE OUT - joins web/ and the command that BUILD has as
WebAssembly into one file, the page that analyses snapshots in a browser.

PAGE is a page that `larder view` wrote: the app shows such pages in a frame,
which inherits its policy, so that their style and script have to be permitted.
"""
import base64
import gzip
import hashlib
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WEB = ROOT / 'web'
sys.path.insert(0, str(ROOT / 'python'))

from larder.fit import cards  # noqa: E402


def hash_of(text):
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def permitted(page, kind):
    """The hashes in the directive of the page's policy."""
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    return re.search(kind + r' ([^;]*);', policy)[1]


def policy_of(style, script, page):
    return '; '.join((
        "default-src 'none'",
        f"script-src {hash_of(script)} {permitted(page, 'script-src')} "
        "'wasm-unsafe-eval'",
        f"style-src {hash_of(style)} {permitted(page, 'style-src')}",
        'worker-src blob:', "base-uri 'none'", "form-action 'none'"))


def card_names():
    """[[id, name], ...] of the cards, by memory."""
    table = sorted(cards.read(), key=lambda c: (c.total_bytes, c.name))
    return [[c.id, f'{c.name}, {c.total_bytes / (1 << 30):.1f} GiB']
            for c in table]


def base64_of(content):
    return base64.b64encode(content).decode()


def main(build, page, out):
    build = pathlib.Path(build)
    style = (WEB / 'app.css').read_text()
    script = (WEB / 'app.js').read_text()
    worker = ((build / 'larder.js').read_text() +
              (WEB / 'worker.js').read_text())
    if '</script' in worker.lower():
        sys.exit('make_app.py: the worker would end its element')
    wasm = gzip.compress((build / 'larder.wasm').read_bytes(), mtime=0)
    texts = {
        'POLICY': policy_of(style, script, pathlib.Path(page).read_text()),
        'STYLE': style,
        'CARDS': json.dumps(card_names()),
        'WASM': base64_of(wasm),
        'EXAMPLE': base64_of((ROOT / 'examples/oom.pickle').read_bytes()),
        'WORKER': worker,
        'SCRIPT': script,
    }
    whole = re.sub('@([A-Z]+)@', lambda m: texts[m[1]],
                   (WEB / 'app.html').read_text())
    pathlib.Path(out).write_text(whole)


if __name__ == '__main__':
    if len(sys.argv) != 4:
        sys.exit(__doc__.splitlines()[0])
    main(*sys.argv[1:])
