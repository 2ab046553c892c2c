"""A map of the allocator's segments and their blocks."""

from larder.lab.sizes import size

_SEGMENTS_MAX = 40
_CELLS_MIN = 16
_CELLS_MAX = 200
_BEFORE = 26  # columns before a segment's cells

_FREE, _WAITING, _USED, _USED_TOO = range(4)
_DRAWN = "░▒█▓"
_ASCII = ".~#="


def _cells(segment, count):
    """What each cell of a segment shows.  Even a small block gets its own cell,
    as far as there is room; two kinds tell adjacent ones apart."""
    cells = [_FREE] * count
    scale = count / segment["total_size"]
    at, odd = 0, False
    for block in segment["blocks"]:
        begin, at = at, at + block["size"]
        state = block["state"]
        if state == "inactive":
            odd = False
            continue
        first = int(begin * scale)
        last = max(min(int(at * scale), count), min(first + 1, count))
        kind = _USED_TOO if odd else _USED
        if state != "active_allocated":
            kind = _WAITING
        odd = not odd
        cells[first:last] = [kind] * (last - first)
    return cells


def draw(session, width, ascii):
    """The map as a text, `width` columns wide."""
    segments = session.snapshot()["segments"]
    if not segments:
        return "  no segments: nothing is held from the driver\n"
    signs = _ASCII if ascii else _DRAWN
    room = min(max(width - _BEFORE - 1, _CELLS_MIN), _CELLS_MAX)
    largest = max(segment["total_size"] for segment in segments)
    text = (
        "  pool    segment allocated  "
        f"{signs[_USED]} {signs[_USED_TOO]} blocks in use  "
        f"{signs[_WAITING]} waiting  {signs[_FREE]} free\n"
    )
    for segment in segments[:_SEGMENTS_MAX]:
        count = max(int(segment["total_size"] / largest * room), _CELLS_MIN)
        text += (
            f"  {segment['segment_type']} {size(segment['total_size']):>9} "
            f"{size(segment['allocated_size']):>9}  "
        )
        text += "".join(signs[kind] for kind in _cells(segment, count)) + "\n"
    rest = len(segments) - _SEGMENTS_MAX
    if rest > 0:
        text += f"  and {rest} more segments\n"
    return text
