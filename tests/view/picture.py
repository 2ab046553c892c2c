"""picture.py - small PNG files as rows of pixels, and how far two are apart."""
import struct
import zlib

MAGIC = b'\x89PNG\r\n\x1a\n'
# Of a channel's 256 steps: edges that a browser smooths otherwise differ less.
STEP = 48


def _chunks(data):
    at = len(MAGIC)
    while at < len(data):
        length, kind = struct.unpack('>L4s', data[at:at + 8])
        yield kind, data[at + 8:at + 8 + length]
        at += 12 + length


def _predicted(kind, left, above, corner):
    if kind == 3:
        return (left + above) // 2
    if kind == 4:
        guess = left + above - corner
        return min((left, above, corner), key=lambda one: abs(guess - one))
    return (0, left, above)[kind]


class Picture:
    """8 bits a channel, 3 or 4 channels, as browsers write them."""

    def __init__(self, data):
        parts = {}
        for kind, content in _chunks(data):
            parts[kind] = parts.get(kind, b'') + content
        self.width, self.height, depth, colours = struct.unpack(
            '>LLBB', parts[b'IHDR'][:10])
        if depth != 8 or colours not in (2, 6):
            raise ValueError('no PNG of 8 bits and true colours')
        self.channels = 3 if colours == 2 else 4
        self.rows = self._rows(zlib.decompress(parts[b'IDAT']))

    def _rows(self, data):
        size, n = self.width * self.channels, self.channels
        rows, above = [], bytes(size)
        for at in range(0, len(data), size + 1):
            kind, row = data[at], bytearray(data[at + 1:at + 1 + size])
            for i in range(size):
                left = row[i - n] if i >= n else 0
                corner = above[i - n] if i >= n else 0
                row[i] = (row[i] + _predicted(kind, left, above[i],
                                              corner)) & 255
            rows.append(row)
            above = row
        return rows

    def pixel(self, x, y):
        return self.rows[y][x * self.channels:x * self.channels + 3]


def _apart(one, two):
    return any(abs(a - b) > STEP for a, b in zip(one, two))


def _near(picture, x, y, pixel):
    """Whether a pixel is there, or beside it."""
    return any(not _apart(picture.pixel(u, v), pixel)
               for v in range(max(0, y - 1), min(picture.height, y + 2))
               for u in range(max(0, x - 1), min(picture.width, x + 2)))


def difference(one, two):
    """The part of the pixels that the other picture does not have thereabouts;
    1 for pictures of different sizes."""
    if (one.width, one.height) != (two.width, two.height):
        return 1
    lost = sum(_apart(one.pixel(x, y), two.pixel(x, y)) and
               not (_near(two, x, y, one.pixel(x, y)) and
                    _near(one, x, y, two.pixel(x, y)))
               for y in range(one.height) if one.rows[y] != two.rows[y]
               for x in range(one.width))
    return lost / (one.width * one.height)
