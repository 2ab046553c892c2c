#!/usr/bin/env python3
"""snapshot_rest.py LARDER FOLDER - keys that Larder does not know, and records
of the host, come through `larder convert` as they were, in all forms."""
import json
import os
import pickle
import subprocess
import sys

from snapshot_read import listed, load

FX = {'filename': 'fx.py', 'name': 'forward', 'line': 3, 'fx_node_op':
      'call_function', 'fx_node_name': 'linear', 'fx_original_trace': 'at 1',
      'fx_node_info': {'target': 'aten.linear', 'users': ['a', 'b'], 'n': -7}}
PLAIN = {'filename': 'a.py', 'name': 'f', 'line': 1}
SHARED = ['named', ['by', 'two']]


def block(address, state, **more):
    return {'address': address, 'size': 512, 'requested_size': 500,
            'state': state, 'frames': [dict(PLAIN)], **more}


def segment(address, **more):
    return {'device': 0, 'address': address, 'total_size': 1024, 'stream': 0,
            'allocated_size': 512, 'active_size': 512, 'requested_size': 500,
            'segment_type': 'small', 'segment_pool_id': (0, 0),
            'is_expandable': False, 'registration_counter': -1,
            'frames': [FX, PLAIN], **more,
            'blocks': [block(address, 'active_allocated', user_metadata='',
                             age=SHARED),
                       block(address + 512, 'inactive')]}


def event(action, address, **more):
    return {'action': action, 'addr': address, 'size': 500, 'stream': 0,
            'device': 0, 'pool_id': (0, 0), 'time_us': 5,
            'compile_context': 'N/A', 'user_metadata': '', 'frames': [FX],
            **more}


def snapshot():
    return {
        'segments': [segment(4096, tier={'name': 'hbm', 'rank': 1 << 63})],
        'device_traces': [[event('alloc', 4096, cause=SHARED),
                           event('annotate', 4096, cause=None)], []],
        'allocator_settings': {
            'PYTORCH_CUDA_ALLOC_CONF': '', 'PYTORCH_ALLOC_CONF': 'a:b',
            'max_split_size': -1, 'garbage_collection_threshold': 0.0,
            'roundup_power2_divisions': {},
            'throw_on_cudamalloc_oom': False, 'large_segment_size': 20971520,
            'reserve_by_class': {'nccl': 0.25, 'graph': None}},
        'external_annotations': [{'stage': 'START', 'name': 'step', 'device': 0,
                                  'time_us': 4, 'phase': 'forward'}],
        # Before its events are read, those of the device are.
        'host_segments': [{**segment(1 << 40, node=3), 'device': -1}],
        'host_traces': [[event('alloc', 1 << 40, pinned=True)], []],
        'written_by': {'version': [2, 16, 0], 'ok': True, 'frames': [PLAIN],
                       'deep': [[[{'x': [1.5, -2, 1 << 63, '', 'é']}]], []]},
        'nothing': None,
    }


def differ(a, b, path=''):
    """Where two values part, in words."""
    if isinstance(a, dict) and isinstance(b, dict):
        if a.keys() != b.keys():
            return '%s: keys %s' % (path, sorted(a.keys() ^ b.keys()))
        pairs = [(k, a[k], b[k]) for k in a]
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        pairs = [(n, *both) for n, both in enumerate(zip(a, b))]
    else:
        return '' if type(a) is type(b) and a == b else '%s: %r and %r' % (
            path, a, b)
    return next(filter(None, (differ(x, y, '%s/%s' % (path, k))
                              for k, x, y in pairs)), '')


def convert(larder, source, target):
    subprocess.run([larder, 'convert', source, target], check=True,
                   stdin=subprocess.DEVNULL)
    wrong = differ(listed(snapshot()), listed(load(target)))
    if wrong:
        sys.exit('%s of %s: %s' % (target, source, wrong))


def left_out(larder, folder):
    """What was built by running code goes, alone; depth has an end."""
    deep = []
    for _ in range(40):
        deep = [deep]
    source = os.path.join(folder, 'opaque.pickle')
    with open(source, 'wb') as f:
        pickle.dump({**snapshot(), 'set': {1, 2}, 'bytes': b'x', 'deep': deep,
                     'number': {7: 'seven'}}, f)
    convert(larder, source, os.path.join(folder, 'opaque.out.pickle'))


def main():
    larder, folder = sys.argv[1:]
    sources = []
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        sources.append(os.path.join(folder, 'p%d.pickle' % protocol))
        with open(sources[-1], 'wb') as f:
            pickle.dump(snapshot(), f, protocol)
    sources.append(os.path.join(folder, 'j.json'))
    with open(sources[-1], 'w', encoding='utf-8') as f:
        json.dump(snapshot(), f)
    for source in sources:
        convert(larder, source, source + '.pickle')
        convert(larder, source + '.pickle', source + '.json')
        convert(larder, source + '.json', source + '.again.pickle')
    left_out(larder, folder)


main()
