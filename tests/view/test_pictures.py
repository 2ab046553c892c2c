"""test_pictures.py LARDER - each tab and each view of the page looks as in the
pictures that are kept (looks.py)."""
import box_font
import looks
import page_case
import picture

# What is pressed for a picture, after the page came up.
SHOWN = {
    'flame_details': 'f1', 'tree_alive': 't3', 'segments_events': 'm5',
    'flame_failures': 'f6', 'tree_findings': 't7',
}


class Pictures(looks.Looks):

    def page(self):
        return self.open(self.made('oom.pickle', '--events', '4000', '--oom',
                                   '--stacks', '30'))

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
                for path in sorted(looks.KEPT.glob('*.png'))]
        self.assertGreater(len(kept), 6)
        for one, other in zip(kept, kept[1:]):
            self.assertGreater(picture.difference(one, other), 2 * looks.TOLERATED)


if __name__ == '__main__':
    page_case.run('__main__', box_font.install)
