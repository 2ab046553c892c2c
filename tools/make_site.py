#!/usr/bin/env python3
"""make_site.py BUILD FOLDER - writes a website, for any host of static files and
for file://: a page that says what Larder does, and the page of `make app`."""
import pathlib
import shutil
import sys

from make_app import ROOT, WEB, hash_of


def main(build, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    style = (WEB / 'app.css').read_text()
    policy = (f"default-src 'none'; style-src {hash_of(style)}; img-src 'self' "
              "file:; base-uri 'none'; form-action 'none'")
    (folder / 'index.html').write_text(
        (WEB / 'site.html').read_text().replace('@POLICY@', policy)
        .replace('@STYLE@', style))
    shutil.copyfile(pathlib.Path(build) / 'app.html', folder / 'app.html')
    shutil.copyfile(ROOT / 'docs/view.png', folder / 'view.png')
    print(folder / 'index.html')


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit(__doc__.splitlines()[0])
    main(*sys.argv[1:])
