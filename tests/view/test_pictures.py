"""test_pictures.py LARDER - each tab and each view of the page looks as in the
pictures that are kept (tests/view/pictures).  They are in a font of boxes, so
that no machine's fonts matter.

LARDER_PICTURES=FOLDER in the environment writes what is seen there: to look at
where a test fails, or, for this folder, to keep anew."""
import os
import pathlib

import box_font
import page_case
import picture

KEPT = pathlib.Path(__file__).parent / 'pictures'
SCALE = 0.25
# Of the pixels; another tab, an entry less or a colour changes more.
TOLERATED = 0.004

# What is pressed for a picture, after the page came up.
SHOWN = {
    'flame_details': 'f1', 'tree_alive': 't3', 'segments_events': 'm5',
    'flame_failures': 'f6', 'tree_findings': 't7',
}


class Pictures(page_case.PageCase):

    def page(self):
        return self.open(self.made('oom.pickle', '--events', '4000', '--oom',
                                   '--stacks', '30'))

    def assert_looks(self, page, name):
        page.settle()
        data = page.small_picture(SCALE)
        folder = os.environ.get('LARDER_PICTURES')
        if folder:
            pathlib.Path(folder, f'{name}.png').write_bytes(data)
        kept = picture.Picture((KEPT / f'{name}.png').read_bytes())
        apart = picture.difference(kept, picture.Picture(data))
        self.assertLess(apart, TOLERATED, name)

    def test_tabs_and_views_look_as_they_did(self):
        page = self.page()
        for name, keys in SHOWN.items():
            with self.subTest(name):
                for key in keys:
                    page.key(key)
                self.assert_looks(page, name)

    def test_a_marked_stretch_looks_as_it_did(self):
        page = self.page()
        left, top, width, _ = page.box('#timeline')
        page.drag((left + width * 0.4, top + 90), (left + width * 0.6, top + 90))
        page.key('2')
        self.assert_looks(page, 'span')

    def test_what_was_found_looks_as_it_did(self):
        page = self.page()
        page.run('search("attention")')
        page.key('4')
        self.assert_looks(page, 'found')

    def test_the_dark_page_looks_as_it_did(self):
        page = self.page()
        page.press('#theme')
        page.move(5, 5)
        self.assert_looks(page, 'dark')

    def test_pictures_differ(self):
        """Each from the next by more than is tolerated."""
        kept = [picture.Picture(path.read_bytes())
                for path in sorted(KEPT.glob('*.png'))]
        self.assertGreater(len(kept), 6)
        for one, other in zip(kept, kept[1:]):
            self.assertGreater(picture.difference(one, other), 2 * TOLERATED)


if __name__ == '__main__':
    page_case.run('__main__', box_font.install)
