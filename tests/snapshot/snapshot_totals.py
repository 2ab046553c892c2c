#!/usr/bin/env python3
"""snapshot_totals.py FILE - what a snapshot holds, summed up, read by Python's
own pickle and json modules.  test_snapshot_files.c has the same from ours."""
import json
import pickle
import sys

MASK = (1 << 64) - 1
SETTINGS = ['max_split_size', 'garbage_collection_threshold',
            'pinned_num_register_threads', 'expandable_segments',
            'release_lock_on_cudamalloc', 'pinned_use_cuda_host_register',
            'graph_capture_record_stream_reuse']


def load(path):
    with open(path, 'rb') as f:
        data = f.read()
    if data.lstrip()[:1] in (b'{', b'['):
        return json.loads(data)
    return pickle.loads(data)


def encoded(text):
    return (text or '').encode('utf-8', 'surrogatepass')


def line_of(frame):
    """0 if it is unknown."""
    return frame['line'] if 0 <= frame['line'] < 1 << 32 else 0


class Totals:
    def __init__(self):
        self.frames = set()
        self.stacks = set()

    def frame(self, f):
        key = (f['filename'], f['name'], line_of(f))
        self.frames.add(key)
        return key

    def stack(self, frames):
        """A sum that depends on each frame and where it is."""
        total = 0
        path = []
        for i, f in enumerate(frames or []):
            path.append(self.frame(f))
            total += (i + 1) * (line_of(f) * 31 + len(encoded(f['filename'])) +
                                sum(encoded(f['name'])))
        if path:
            self.stacks.add(tuple(path))
        return total

    def events(self, device, trace):
        rows = {}
        for e in trace:
            row = rows.setdefault(e['action'], [0] * 8)
            pool = e.get('pool_id') or (0, 0)
            values = [1, e['size'],
                      e['device_free'] if 'addr' not in e else e['addr'],
                      e['stream'], e.get('time_us', 0),
                      self.stack(e.get('frames')), pool[0] * 3 + pool[1],
                      len(encoded(e.get('compile_context'))) +
                      5 * len(encoded(e.get('user_metadata')))]
            for i, v in enumerate(values):
                row[i] = (row[i] + v) & MASK
        for action in sorted(rows):
            print('events', device, action, *rows[action])

    def segments(self, segments):
        sums = [0] * 10
        for s in segments:
            pool = s.get('segment_pool_id') or (0, 0)
            values = [1, s['device'], s['address'], s['total_size'],
                      s['allocated_size'], s['active_size'],
                      s.get('requested_size', 0), s['stream'],
                      pool[0] * 3 + pool[1], self.stack(s.get('frames'))]
            sums = [(a + b) & MASK for a, b in zip(sums, values)]
        print('segments', *sums)
        print('small', sum(s['segment_type'] == 'small' for s in segments),
              'expandable', sum(s.get('is_expandable', False)
                                for s in segments))

    def blocks(self, segments):
        states = {}
        history = [0] * 4
        for s in segments:
            address = s['address']
            for b in s['blocks']:
                row = states.setdefault(b['state'], [0] * 5)
                values = [1, b.get('address', address), b['size'],
                          b.get('requested_size', 0),
                          self.stack(b.get('frames'))]
                address += b['size']
                for i, v in enumerate(values):
                    row[i] = (row[i] + v) & MASK
                for h in b.get('history', []):
                    values = [1, h['addr'], h['real_size'],
                              self.stack(h['frames'])]
                    history = [(a + b) & MASK
                               for a, b in zip(history, values)]
        for state in sorted(states):
            print('blocks', state, *states[state])
        print('history', *history)

    def annotations(self, annotations):
        print('annotations', len(annotations),
              sum(a['time_us'] for a in annotations) & MASK,
              sum(len(encoded(a['name'])) for a in annotations),
              sum(len(encoded(a['stage'])) for a in annotations),
              sum(a['device'] for a in annotations))


    def host(self, snapshot):
        """Its stacks count, its records do not."""
        segments = snapshot.get('host_segments', [])
        records = segments + snapshot.get('host_traces', [])
        for record in records + [b for s in segments for b in s['blocks']]:
            self.stack(record.get('frames'))


def settings(values):
    print('conf', values.get('PYTORCH_CUDA_ALLOC_CONF', ''))
    for name in SETTINGS:
        if name in values:
            print(name, '%.6f' % values[name])
    for size, divisions in values.get('roundup_power2_divisions', {}).items():
        print('roundup', size, divisions)


def main():
    snapshot = load(sys.argv[1])
    t = Totals()
    for device, trace in enumerate(snapshot.get('device_traces', [])):
        t.events(device, trace)
    t.segments(snapshot['segments'])
    t.blocks(snapshot['segments'])
    t.annotations(snapshot.get('external_annotations', []))
    t.host(snapshot)
    print('distinct', len(t.frames), len(t.stacks))
    settings(snapshot.get('allocator_settings', {}))


main()
