"""hostile_snapshot.py FOLDER - makes snapshots whose texts a terminal would
obey: evil.pickle and evil.json, which can be replayed, and settings.pickle,
whose settings are such a text too."""
import json
import pathlib
import pickle
import sys

TEXTS = [
    '\x1b[31mred\x1b]0;title\x07', 'c1 \x9b31m\x85\x90', 'a\nb\rc\td\x7f',
    '\u202eturned\u202c', '\u2066isolated\u2069', '\u200e\u200f\u061cmarks',
    'lines\u2028and\u2029more', 'x' * 5000 + '\u202e',
]
MIB = 1 << 20
BASE = 1 << 44


def frame(text, line):
    return {'filename': text + '/train.py', 'name': text, 'line': line}


def alloc(index, text):
    address = BASE + 4 * index * MIB
    stack = [frame(text, index), frame(TEXTS[index % 3], 7)]
    common = {'addr': address, 'stream': 0, 'frames': stack,
              'user_metadata': text, 'category': text,
              'compile_context': text, 'device': 0}
    return [dict(common, action='segment_alloc', size=2 * MIB,
                 time_us=10 * index),
            dict(common, action='alloc', size=MIB, time_us=10 * index + 1)]


def segment(index, text):
    stack = [frame(text, index)]
    address = BASE + 4 * index * MIB
    return {'address': address, 'total_size': 2 * MIB, 'stream': 0,
            'segment_type': text if index % 2 else 'small', 'device': 0,
            'allocated_size': MIB, 'active_size': MIB, 'requested_size': MIB,
            'segment_pool_id': (0, 0), 'is_expandable': False,
            'frames': stack, 'blocks': [
                {'address': address, 'size': MIB, 'requested_size': MIB,
                 'state': 'active_allocated', 'frames': stack,
                 'user_metadata': text},
                {'address': address + MIB, 'size': MIB, 'requested_size': 0,
                 'state': 'inactive', 'frames': []}]}


def snapshot():
    texts = TEXTS + TEXTS
    events = [e for i, text in enumerate(texts) for e in alloc(i, text)]
    events.append({'action': TEXTS[0], 'addr': 1, 'size': 1, 'stream': 0,
                   'frames': [], 'time_us': 998})
    events.append({'action': 'oom', 'device_free': 100, 'size': 1 << 40,
                   'stream': 0, 'time_us': 999,
                   'frames': [frame(text, 1) for text in TEXTS]})
    notes = [{'name': text, 'stage': stage, 'device': 0, 'time_us': 5 + i}
             for i, text in enumerate(TEXTS) for stage in ('START', 'END')]
    return {'segments': [segment(i, text) for i, text in enumerate(texts)],
            'device_traces': [events], 'external_annotations': notes,
            'allocator_settings': {}, TEXTS[0]: TEXTS}


def main():
    folder = pathlib.Path(sys.argv[1])
    value = snapshot()
    (folder / 'evil.pickle').write_bytes(pickle.dumps(value))
    (folder / 'evil.json').write_text(json.dumps(value), encoding='utf-8')
    value['allocator_settings'] = {'PYTORCH_CUDA_ALLOC_CONF': ':'.join(TEXTS),
                                   'last_allocator_settings': TEXTS[1]}
    (folder / 'settings.pickle').write_bytes(pickle.dumps(value))


main()
