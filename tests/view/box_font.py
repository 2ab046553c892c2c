"""box_font.py - a font of boxes: every letter is the same one.  Pictures of pages
that are written in it do not depend on the fonts of a machine."""
import struct

EM, ADVANCE = 1000, 560
# Left, bottom, right, top of the box.
BOX = 60, 0, 500, 520
BLANKS = (0x20, 0xa0)

CONFIG = '''<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{0}</dir><cachedir>{0}/cache</cachedir></fontconfig>
'''


def _glyph():
    left, bottom, right, top = BOX
    xs = (left, 0, right - left, 0)
    ys = (bottom, top - bottom, 0, bottom - top)
    return struct.pack('>hhhhhHH4B4h4h', 1, *BOX, 3, 0, 1, 1, 1, 1, *xs, *ys)


def _cmap():
    """Everything is glyph 1, but for blanks."""
    groups, first = [], 0x21
    for blank in BLANKS:
        if blank >= first:
            groups.append((first, blank - 1, 1))
        groups.append((blank, blank, 2))
        first = max(first, blank + 1)
    groups.append((first, 0xfffd, 1))
    table = b''.join(struct.pack('>LLL', *group) for group in groups)
    return struct.pack('>HHHHLHHLLL', 0, 1, 3, 10, 12, 13, 0,
                       16 + len(table), 0, len(groups)) + table


def _name():
    texts = {1: 'Box', 2: 'Regular', 4: 'Box', 6: 'Box'}
    records, data = b'', b''
    for number, text in texts.items():
        coded = text.encode('utf-16-be')
        records += struct.pack('>HHHHHH', 3, 1, 0x409, number, len(coded),
                               len(data))
        data += coded
    return struct.pack('>HHH', 0, len(texts),
                       6 + len(records)) + records + data


def _tables():
    left, bottom, right, top = BOX
    glyph = _glyph()
    return {
        b'OS/2': struct.pack(
            '>hHHHH10hh10B4L4sHHHhhhHHLLhhHHH', 4, ADVANCE, 400, 5, 0,
            *[0] * 10, 0, *[0] * 10, 1, 0, 0, 0, b'test', 0x40, 0x20, 0xfffd,
            800, -200, 0, 800, 200, 1, 0, top, top, 0, 0x20, 1),
        b'cmap': _cmap(),
        b'glyf': glyph + glyph,
        b'head': struct.pack('>LLLLHHqqhhhhHHhhh', 0x10000, 0x10000, 0,
                             0x5f0f3cf5, 3, EM, 0, 0, left, bottom, right, top,
                             0, 8, 2, 1, 0),
        b'hhea': struct.pack('>LhhhHhhhhhhhhhhhH', 0x10000, 800, -200, 0,
                             ADVANCE, left, left, right, 1, 0, 0, 0, 0, 0, 0, 0,
                             3),
        b'hmtx': struct.pack('>HhHhHh', ADVANCE, left, ADVANCE, left, ADVANCE,
                             0),
        b'loca': struct.pack('>LLLL', 0, len(glyph), 2 * len(glyph),
                             2 * len(glyph)),
        b'maxp': struct.pack('>LHHHHHHHHHHHHHH', 0x10000, 3, 4, 1, 0, 0, 2, 0,
                             0, 0, 0, 0, 0, 0, 0),
        b'name': _name(),
        b'post': struct.pack('>LLhhLLLLL', 0x30000, 0, -100, 50, 0, 0, 0, 0, 0),
    }


def _sum(data):
    data += bytes(-len(data) % 4)
    return sum(struct.unpack(f'>{len(data) // 4}L', data)) & 0xffffffff


def font():
    """The bytes of a TrueType file."""
    tables = _tables()
    at = 12 + 16 * len(tables)
    head, body = struct.pack('>LHHHH', 0x10000, len(tables), 128, 3, 32), b''
    for tag, data in sorted(tables.items()):
        head += tag + struct.pack('>LLL', _sum(data), at + len(body), len(data))
        body += data + bytes(-len(data) % 4)
    return head + body


def install(folder):
    """Into a folder of its own; what the environment has to say of it."""
    (folder / 'box.ttf').write_bytes(font())
    config = folder / 'fonts.conf'
    config.write_text(CONFIG.format(folder))
    return {'FONTCONFIG_FILE': str(config)}
