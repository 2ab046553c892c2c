#!/usr/bin/env python3
"""make_snapshot.py [OPTIONS] OUT - a memory snapshot of a made-up training run.

The form is PyTorch's (pickle, or JSON when OUT ends in .json), with the keys
of the version asked for.  The run is made up from a seed: weights, then
iterations that allocate activations and temporaries, gradients, and free them,
in segments that are cut and merged as a caching allocator does it.  Events,
segments and blocks agree with each other.

Large ones are written as they are made, in the opcodes that Python's own
pickler uses: 5 million events need a minute and little memory.
"""
import argparse
import bisect
import json
import pickle
import random
import struct

MIB = 1 << 20
VERSIONS = ['2.0', '2.1', '2.2', '2.4', '2.5', '2.6', '2.8', '2.10', '2.13']
STREAM_BEYOND = 1000000  # events from which on the file is written in pieces


class Schema:
    """The keys that a version writes."""

    def __init__(self, version):
        n = VERSIONS.index(version)
        self.old_blocks = n < 1
        self.settings = n >= 2
        self.time = n >= 3
        self.annotations = n >= 4
        self.compile_context = n >= 5
        self.user_metadata = n >= 6
        self.capture_reuse = n >= 7
        self.event_pools = n >= 8


class Stacks:
    """Call stacks over a few source files, leaf first."""

    def __init__(self, rng, count, depth):
        files = ['/home/user/train/%s.py' % name for name in
                 ('model', 'layers', 'attention', 'loss', 'data', 'main')]
        files += ['/usr/lib/python3/site/nn/module_%d.py' % i
                  for i in range(20)]
        names = ['forward', 'backward', 'step', '__call__', 'call_impl',
                 'linear', 'softmax', 'matmul', 'run', 'main']
        self.frames = [{'name': rng.choice(names),
                        'filename': rng.choice(files),
                        'line': rng.randrange(1, 900)}
                       for _ in range(max(8, count * 3))]
        common = [rng.randrange(len(self.frames)) for _ in range(12)]
        self.paths = []
        for _ in range(count):
            own = [rng.randrange(len(self.frames))
                   for _ in range(max(1, rng.randrange(depth // 2, depth * 3 // 2 + 1) - 12))]
            self.paths.append(own + common[rng.randrange(4):])

    def fresh(self, number):
        return [self.frames[i] for i in self.paths[number]]


class Segment:
    def __init__(self, address, size, stream, small, pool, expandable):
        self.address = address
        self.size = size
        self.stream = stream
        self.small = small
        self.pool = pool
        self.expandable = expandable
        self.stack = None
        self.starts = [address]  # of blocks, sorted
        self.blocks = {address: [size, None]}  # size, (requested, stack, meta)


class Device:
    """A best-fit allocator over segments that splits and merges blocks."""

    def __init__(self, number, options, emit):
        self.number = number
        self.options = options
        self.emit = emit
        self.segments = []
        self.next_address = 0x7f0000000000 + (number << 36)

    def new_segment(self, size, stream, stack, pool):
        small = size <= MIB
        total = 2 * MIB if small else \
            20 * MIB if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
        s = Segment(self.next_address, total, stream, small, pool,
                    self.options.expandable)
        self.next_address += total + (0 if s.expandable else 2 * MIB)
        s.stack = stack
        self.segments.append(s)
        self.emit('segment_map' if s.expandable else 'segment_alloc',
                  s.address, total, stream, stack, None, pool)
        return s

    def find(self, size, stream, pool):
        best = None
        for s in self.segments:
            if s.stream != stream or s.pool != pool or \
                    s.small != (size <= MIB):
                continue
            for a in s.starts:
                b = s.blocks[a]
                if b[1] is None and b[0] >= size and \
                        (best is None or b[0] < best[0]):
                    best = (b[0], s, a)
        return best

    def alloc(self, requested, stream, stack, meta, pool=(0, 0)):
        size = max(512, -(-requested // 512) * 512)
        best = self.find(size, stream, pool)
        if best is None:
            s = self.new_segment(size, stream, stack, pool)
            best = (s.size, s, s.address)
        total, s, a = best
        rest = total - size
        if rest >= (512 if s.small else MIB):
            s.blocks[a + size] = [rest, None]
            bisect.insort(s.starts, a + size)
        else:
            size = total
        s.blocks[a] = [size, (requested, stack, meta)]
        self.emit('alloc', a, requested, stream, stack, meta, pool)
        return s, a

    def free(self, place, stack):
        s, a = place
        size, (requested, _, meta) = s.blocks[a]
        self.emit('free_requested', a, requested, s.stream, stack, meta,
                  s.pool)
        self.emit('free_completed', a, requested, s.stream, stack, meta,
                  s.pool)
        i = s.starts.index(a)
        s.blocks[a][1] = None
        if i + 1 < len(s.starts) and s.blocks[s.starts[i + 1]][1] is None:
            s.blocks[a][0] += s.blocks.pop(s.starts.pop(i + 1))[0]
        if i > 0 and s.blocks[s.starts[i - 1]][1] is None:
            s.blocks[s.starts[i - 1]][0] += s.blocks.pop(s.starts.pop(i))[0]


class Run:
    """The program: setup, then iterations that repeat."""

    def __init__(self, options, rng, device, stacks):
        self.rng = rng
        self.options = options
        self.device = device
        self.stacks = stacks
        self.weights = []
        self.layers = [(rng.choice([256, 3000, 70000, 1 << 19, 3 << 20,
                                    12 << 20]) + rng.randrange(300),
                        rng.randrange(options.streams))
                       for _ in range(options.layers)]

    def stack(self):
        return self.rng.randrange(len(self.stacks.paths))

    def setup(self):
        for i, (size, _) in enumerate(self.layers):
            pool = (1, 0) if self.options.pools and i % 5 == 0 else (0, 0)
            self.weights.append(self.device.alloc(
                size, 0, self.stack(), 'weights', pool))

    def iteration(self):
        d = self.device
        rng = random.Random(self.options.seed + 1)
        n = len(self.stacks.paths)
        live = []
        for size, stream in self.layers:
            t = d.alloc(size // 2 + 1, stream, rng.randrange(n), 'temporary')
            live.append(d.alloc(size, stream, rng.randrange(n), 'activation'))
            d.free(t, rng.randrange(n))
        for size, _ in reversed(self.layers):
            g = d.alloc(size, 0, rng.randrange(n), 'gradient')
            d.free(live.pop(), rng.randrange(n))
            d.free(g, rng.randrange(n))


class Clock:
    def __init__(self, seed):
        self.now = 1750000000000000
        self.rng = random.Random(seed)

    def tick(self):
        self.now += self.rng.randrange(1, 90)
        return self.now


def event_dict(schema, clock, e, frames, device):
    action, addr, size, stream, _, meta, pool = e
    d = {'action': action}
    d['device_free' if action == 'oom' else 'addr'] = addr
    d['size'] = size
    d['stream'] = 0 if stream == 0 else 0x55d000000000 + stream * 4096
    if schema.event_pools:
        d['device'] = device
        d['pool_id'] = pool
    if schema.time:
        d['time_us'] = clock.tick()
    if schema.compile_context:
        d['compile_context'] = 'N/A'
    if schema.user_metadata:
        d['user_metadata'] = meta or ''
    if frames is not None:
        d['frames'] = frames
    return d


def segment_dict(schema, s, stacks, device):
    used = [b for b in s.blocks.values() if b[1]]
    d = {'device': device, 'address': s.address, 'total_size': s.size,
         'allocated_size': sum(b[0] for b in used),
         'active_size': sum(b[0] for b in used),
         'requested_size': sum(b[1][0] for b in used),
         'stream': 0 if s.stream == 0 else 0x55d000000000 + s.stream * 4096,
         'segment_type': 'small' if s.small else 'large'}
    if not schema.old_blocks:
        d['segment_pool_id'] = s.pool
        d['is_expandable'] = s.expandable
        d['frames'] = stacks.fresh(s.stack)
    d['blocks'] = [block_dict(schema, a, s.blocks[a], stacks)
                   for a in s.starts]
    return d


def block_dict(schema, address, block, stacks):
    size, used = block
    d = {} if schema.old_blocks else {'address': address}
    d['size'] = size
    d['requested_size'] = used[0] if used else 0
    d['state'] = 'active_allocated' if used else 'inactive'
    if schema.old_blocks:
        if used:
            d['history'] = [{'addr': address, 'real_size': used[0],
                             'frames': stacks.fresh(used[1])}]
    else:
        d['frames'] = stacks.fresh(used[1]) if used else []
    return d


def settings_dict(schema, options):
    d = {'PYTORCH_CUDA_ALLOC_CONF':
         'expandable_segments:True' if options.expandable else '',
         'max_split_size': -1, 'garbage_collection_threshold': 0.0,
         'expandable_segments': options.expandable,
         'pinned_num_register_threads': 1,
         'release_lock_on_cudamalloc': False,
         'pinned_use_cuda_host_register': False}
    if schema.capture_reuse:
        d['graph_capture_record_stream_reuse'] = False
    d['roundup_power2_divisions'] = {str(1 << i): 0 for i in range(16)}
    return d


def annotations_of(clock, device):
    return [{'name': 'Optimizer.step#SGD.step', 'stage': stage,
             'device': device, 'time_us': clock.tick()}
            for stage in ('START', 'END')]


def simulate(options):
    """Devices and their events as tuples: setup and one iteration."""
    rng = random.Random(options.seed)
    stacks = Stacks(rng, options.stacks, options.depth)
    devices = []
    for number in range(options.devices):
        setup, first, again = [], [], []
        sink = [setup]
        device = Device(number, options, lambda *e: sink[0].append(e))
        run = Run(options, rng, device, stacks)
        run.setup()
        sink[0] = first
        run.iteration()
        sink[0] = again
        run.iteration()  # finds all segments there, and repeats from now on
        devices.append((device, setup + first, again))
    return stacks, devices


def last_events(options, device):
    """The failure at the end, and the event of the snapshot itself."""
    stack = 0
    events = []
    if options.oom:
        events.append(('oom', 700 * MIB, 3 << 30, 0, stack, None, (0, 0)))
    active = sum(b[0] for s in device.segments for b in s.blocks.values()
                 if b[1])
    events.append(('snapshot', 0, active, 0, None, None, (0, 0)))
    return events


def events_of(options, part):
    """Exactly the requested number of events of a device."""
    device, head, again = part
    tail = last_events(options, device)
    count = options.events // options.devices - len(tail)
    yield from head[:count]
    left = count - len(head)
    while left > 0:
        yield from again[:left]
        left -= len(again)
    yield from tail


def whole(options):
    schema = Schema(options.version)
    stacks, devices = simulate(options)
    clock = Clock(options.seed)
    traces = []
    for part in devices:
        trace = []
        shared = None
        for e in events_of(options, part):
            frames = None if e[4] is None else stacks.fresh(e[4])
            if e[0] == 'free_completed' and shared is not None:
                frames = shared  # the very list of the request, as in PyTorch
            shared = frames
            trace.append(event_dict(schema, clock, e, frames, part[0].number))
        traces.append(trace)
    out = {'segments': [segment_dict(schema, s, stacks, d.number)
                        for d, _, _ in devices for s in d.segments],
           'device_traces': traces}
    if schema.settings:
        out['allocator_settings'] = settings_dict(schema, options)
    if schema.annotations:
        out['external_annotations'] = annotations_of(clock, 0)
    return out


class Writer:
    """A pickle writer (protocol 4), for data that does not fit in memory as
    dicts."""

    def __init__(self, out, protocol):
        self.out = out
        self.memo = 0
        self.known = {}
        self.parts = []
        out.write(b'\x80' + bytes([protocol]))

    def flush(self):
        data = b''.join(self.parts)
        if data:
            self.out.write(b'\x95' + struct.pack('<Q', len(data)) + data)
        self.parts = []

    def memoize(self):
        self.memo += 1
        return self.memo - 1

    @staticmethod
    def get(index):
        return b'h' + bytes([index]) if index < 256 else \
            b'j' + struct.pack('<I', index)

    @staticmethod
    def integer(v):
        if 0 <= v < 256:
            return b'K' + bytes([v])
        if 0 <= v < 65536:
            return b'M' + struct.pack('<H', v)
        if -(1 << 31) <= v < 1 << 31:
            return b'J' + struct.pack('<i', v)
        return pickle.encode_long(v).join(
            [b'\x8a' + bytes([len(pickle.encode_long(v))]), b''])

    def value(self, v):
        """The pickle of a small value, with strings, frames and lists
        memoized."""
        if v is None or isinstance(v, bool):
            return {None: b'N', True: b'\x88', False: b'\x89'}[v]
        if isinstance(v, int):
            return self.integer(v)
        if isinstance(v, float):
            return b'G' + struct.pack('>d', v)
        if isinstance(v, str):
            return self.string(v)
        if isinstance(v, tuple):
            return self.pair(v)
        if id(v) in self.known:
            return self.get(self.known[id(v)][0])
        self.known[id(v)] = (self.memoize(), v)
        if isinstance(v, list):
            return b']\x94' + self.batches(v, b'e', self.value)
        return b'}\x94' + self.batches(
            list(v.items()), b'u',
            lambda kv: self.value(kv[0]) + self.value(kv[1]))

    @staticmethod
    def batches(items, end, render):
        return b''.join(
            b'(' + b''.join(render(x) for x in items[i:i + 1000]) + end
            for i in range(0, len(items), 1000))

    def pair(self, v):
        if v in self.known:
            return self.get(self.known[v])
        items = self.value(v[0]) + self.value(v[1])
        self.known[v] = self.memoize()
        return items + b'\x86\x94'

    def string(self, v):
        if v in self.known:
            return self.get(self.known[v])
        data = v.encode('utf-8', 'surrogatepass')
        self.known[v] = self.memoize()
        if len(data) < 256:
            return b'\x8c' + bytes([len(data)]) + data + b'\x94'
        return b'X' + struct.pack('<I', len(data)) + data + b'\x94'


class EventWriter:
    """Writes events of a device; all fields except the time are rendered once
    for each kind."""

    def __init__(self, w, schema, clock, stacks, device):
        self.w, self.schema, self.clock = w, schema, clock
        self.stacks, self.device = stacks, device
        self.idle = Clock(0)
        self.cache = {}
        self.path_bytes = {}
        self.last_list = 0

    def path(self, number):
        if number not in self.path_bytes:
            # Once to have the frames memoized, then as all others see them.
            frames = self.stacks.fresh(number)
            first = b''.join(self.w.value(f) for f in frames)
            again = b''.join(self.w.value(f) for f in frames)
            self.path_bytes[number] = again
            return first
        return self.path_bytes[number]

    def render(self, e):
        """The bytes before and after the time."""
        d = event_dict(self.schema, self.idle, e, None, self.device)
        items = list(d.items())
        at = next((i for i, (k, _) in enumerate(items) if k == 'time_us'),
                  len(items))

        def put(some):
            return b''.join(self.w.value(k) + self.w.value(v)
                            for k, v in some)

        head = put(items[:at])
        if self.schema.time:
            head += self.w.value('time_us')
        return head, put(items[at + 1:])

    def pieces(self, e):
        """The bytes before and after the time of an event.  The first call
        defines the strings; later calls return a second rendering, which
        refers to them."""
        if e not in self.cache:
            first = self.render(e)
            self.cache[e] = self.render(e)
            return first
        return self.cache[e]

    def event(self, e):
        w = self.w
        w.memo += 1
        head, tail = self.pieces(e)
        parts = [b'}\x94(', head]
        if self.schema.time:
            parts.append(w.integer(self.clock.tick()))
        parts.append(tail)
        if e[4] is not None:
            parts.append(w.value('frames'))
            if e[0] == 'free_completed':
                parts.append(w.get(self.last_list))
            else:
                self.last_list = w.memoize()
                parts += [b']\x94(', self.path(e[4]), b'e']
        parts.append(b'u')
        w.parts.append(b''.join(parts))


def write_in_pieces(options, out):
    schema = Schema(options.version)
    stacks, devices = simulate(options)
    clock = Clock(options.seed)
    w = Writer(out, options.protocol)
    w.parts.append(b'}\x94(')
    w.memo += 1
    w.parts.append(w.value('segments') + w.value(
        [segment_dict(schema, s, stacks, d.number)
         for d, _, _ in devices for s in d.segments]))
    w.parts.append(w.value('device_traces') + b']\x94(')
    w.memo += 1
    for part in devices:
        write_device(options, w, schema, clock, stacks, part)
    w.parts.append(b'e')
    if schema.settings:
        w.parts.append(w.value('allocator_settings') +
                       w.value(settings_dict(schema, options)))
    if schema.annotations:
        w.parts.append(w.value('external_annotations') +
                       w.value(annotations_of(clock, 0)))
    w.parts.append(b'u.')
    w.flush()


def write_device(options, w, schema, clock, stacks, part):
    writer = EventWriter(w, schema, clock, stacks, part[0].number)
    w.parts.append(b']\x94(')
    w.memo += 1
    for i, e in enumerate(events_of(options, part)):
        if i % 1000 == 0 and i > 0:
            w.parts.append(b'e(')
            w.flush()
        writer.event(e)
    w.parts.append(b'e')


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument('out')
    p.add_argument('--events', type=int, default=1000)
    p.add_argument('--devices', type=int, default=1)
    p.add_argument('--stacks', type=int, default=40,
                   help='how many different ones')
    p.add_argument('--depth', type=int, default=12,
                   help='frames in a stack, about')
    p.add_argument('--layers', type=int, default=20)
    p.add_argument('--streams', type=int, default=1)
    p.add_argument('--version', choices=VERSIONS, default='2.10')
    p.add_argument('--protocol', type=int, choices=[2, 3, 4, 5], default=4)
    p.add_argument('--expandable', action='store_true')
    p.add_argument('--pools', action='store_true')
    p.add_argument('--oom', action='store_true')
    p.add_argument('--in-pieces', action='store_true',
                   help='the way of large ones, whatever the size')
    p.add_argument('--seed', type=int, default=1)
    return p.parse_args()


def main():
    if OPTIONS.out.endswith('.json'):
        with open(OPTIONS.out, 'w', encoding='utf-8') as out:
            json.dump(whole(OPTIONS), out)
        return
    with open(OPTIONS.out, 'wb') as out:
        if OPTIONS.events >= STREAM_BEYOND or OPTIONS.in_pieces:
            write_in_pieces(OPTIONS, out)
        else:
            pickle.dump(whole(OPTIONS), out, protocol=OPTIONS.protocol)


if __name__ == '__main__':
    OPTIONS = arguments()
    main()
