"""looks.py - compares what a page looks like with pictures that are kept
(tests/view/pictures).  They are in a font of boxes (box_font.py), so that no
machine's fonts matter.

LARDER_PICTURES=FOLDER in the environment writes what is seen there: to look at
where a test fails, or, for this folder, to keep anew."""
import os
import pathlib

import page_case
import picture

KEPT = pathlib.Path(__file__).parent / 'pictures'
SCALE = 0.25
# Of the pixels; another tab, an entry less or a colour changes more.
TOLERATED = 0.004


class Looks(page_case.PageCase):
    """A test that looks."""

    def assert_looks(self, page, name):
        page.settle()
        data = page.small_picture(SCALE)
        folder = os.environ.get('LARDER_PICTURES')
        if folder:
            pathlib.Path(folder, f'{name}.png').write_bytes(data)
        kept = picture.Picture((KEPT / f'{name}.png').read_bytes())
        apart = picture.difference(kept, picture.Picture(data))
        self.assertLess(apart, TOLERATED, name)
