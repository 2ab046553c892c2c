#!/usr/bin/env python3
"""random_script.py SEED - writes a random script to be recorded (recordings.py).

Devices are small, with few sizes, streams and pools, so that memory runs out,
pieces of equal size compete and pools lend.  The same seed gives the same script.

Cases in which docs/FIDELITY.md lists a difference are left out: memory released
for a large request or as garbage while a pool is begun; max_split_size_mb changed
while running; pools that lend while they are begun, or released, which fail in
PyTorch; and several pools that lend, or have lost their users, which PyTorch asks or
releases in the order of a hash table.
"""
import random
import sys

SETTINGS = [
    "", "", "expandable_segments:True", "max_split_size_mb:24",
    "max_split_size_mb:64,garbage_collection_threshold:0.6",
    "garbage_collection_threshold:0.5", "roundup_power2_divisions:4",
    "roundup_power2_divisions:[1:2,4:4,>:8]",
    "expandable_segments:True,max_split_size_mb:32",
    "expandable_segments:True,garbage_collection_threshold:0.4",
    "expandable_segments:True,roundup_power2_divisions:[2:2,8:8,>:4]",
    "max_split_size_mb:21,max_non_split_rounding_mb:30",
    "max_split_size_mb:40,large_segment_size_mb:32",
    "expandable_segments:True,large_segment_size_mb:12",
    "throw_on_cudamalloc_oom:True",
    "throw_on_cudamalloc_oom:True,per_process_memory_fraction:0.7",
    "per_process_memory_fraction:0.6,garbage_collection_threshold:0.7",
]
# What settings that change while running are made of, beside max_split_size_mb,
# which stays.
CHANGES = [
    "", "expandable_segments:True", "expandable_segments:False",
    "roundup_power2_divisions:8", "roundup_power2_divisions:[1:4,16:2,>:1]",
]
LATER_CHANGES = [
    "throw_on_cudamalloc_oom:True", "throw_on_cudamalloc_oom:False",
    "per_process_memory_fraction:0.5", "per_process_memory_fraction:1.0",
]
SIZES = [512, 4096, 70000, 700000, 1048576, 1500000, 2097152, 5000000,
         10485760, 12582912, 20971520, 31457280, 41943040]
POOLS = 3
STREAMS = 3
LENGTH = 220


class Script:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.live = []
        self.begun = []
        self.known = set()
        self.released = set()
        self.lending = set()
        self.settings = self.random.choice(SETTINGS)
        self.has_pools = not ("garbage" in self.settings or
                              "max_split" in self.settings)
        self.next_id = 0
        self.fraction = self.random.choice(["1", "1", "0.8", "0.5"])
        self.capacity = self.random.choice([64, 128, 256]) << 20
        self.events = self.random.choice(["manual", "manual", "immediate"])
        self.changes = self.random.random() < 0.4

    def put(self, *words):
        self.lines.append(" ".join(str(word) for word in words))

    def allocate(self):
        size = self.random.choice(SIZES if self.random.random() < 0.99 else
                                  [0, 10 * self.capacity // 11])
        if self.random.random() < 0.5:
            size = int(size * self.random.uniform(0.7, 1.1))
        self.put("a", self.next_id, size, self.random.randrange(STREAMS))
        self.live.append(self.next_id)
        self.next_id += 1

    def free(self):
        if self.live:
            at = self.random.randrange(len(self.live))
            self.put("f", self.live.pop(at))

    def record(self):
        if self.live:
            self.put("r", self.random.choice(self.live),
                     self.random.randrange(STREAMS))

    def complete(self):
        self.put("c", self.random.randrange(STREAMS))

    def empty(self):
        # To 2.7 PyTorch asserts that no pool is begun.
        if not self.begun or self.random.random() < 0.02:
            self.put("e")

    def kept(self):
        """The setting that cannot change."""
        return [part for part in self.settings.split(",")
                if part.startswith("max_split")]

    def configure(self):
        if not self.changes:
            return
        later = [change for change in LATER_CHANGES
                 if change.partition(":")[0] in self.settings]
        change = self.random.choice(CHANGES + later)
        parts = self.kept() + [change] * (change != "")
        if not self.has_pools:
            parts.append("garbage_collection_threshold:0.5")
        if parts:
            self.put("k", ",".join(parts))

    def limit(self):
        if self.changes:
            self.put("l", self.random.choice(["1", "0.9", "0.6", "0.3"]))

    def begin(self):
        pool = self.random.randrange(1, POOLS + 1)
        if (pool in self.begun or pool in self.released or
                pool in self.lending or not self.has_pools):
            return
        some = [s for s in range(STREAMS) if self.random.random() < 0.4]
        self.put("b", pool, *some)
        self.begun.append(pool)
        self.known.add(pool)
        if self.random.random() < 0.1:
            self.put("s", pool)

    def end(self):
        if self.begun:
            at = self.random.randrange(len(self.begun))
            pool = self.begun.pop(at)
            self.put("n", pool)
            if not self.lending and self.random.random() < 0.2:
                self.put("o", pool)
                self.lending.add(pool)

    def release(self):
        for pool in sorted(self.known - set(self.begun) - self.lending):
            if not self.released and self.random.random() < 0.3:
                self.released.add(pool)
                self.put("u", pool)
                # Each begin made one user more.
                for _ in range(sum(line.split()[:2] == ["b", str(pool)]
                                   for line in self.lines) - 1):
                    self.put("u", pool)

    def capture(self):
        if not self.has_pools:
            return
        stream = self.random.randrange(STREAMS)
        pool = POOLS + 1 + self.next_id
        self.put("b", pool, stream)
        self.put("g", stream)
        for _ in range(self.random.randrange(1, 12)):
            self.random.choice([self.allocate, self.allocate, self.free,
                                self.record, self.complete, self.queue])()
        self.put("n", pool)
        self.put("h", stream)

    def queue(self):
        self.put("w", self.random.randrange(STREAMS))

    def run(self):
        steps = [(self.allocate, 40), (self.free, 34), (self.record, 8),
                 (self.complete, 6), (self.empty, 1), (self.begin, 4),
                 (self.end, 4), (self.release, 1), (self.capture, 1),
                 (self.configure, 1), (self.limit, 0.5)]
        kinds, weights = zip(*steps)
        while len(self.lines) < LENGTH:
            self.random.choices(kinds, weights)[0]()
        while self.begun:
            self.end()
        print(f"# conf: {self.settings}\n# capacity: {self.capacity}\n"
              f"# fraction: {self.fraction}\n# events: {self.events}")
        print("\n".join(self.lines))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    Script(int(sys.argv[1])).run()
