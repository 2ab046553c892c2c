// lengths.js - allocations by lifetime, as levels of detail.  Finds those live
// in a state, or in a part of the run, without visiting all.

// Weights are distinguished to an eighth of a power of two.
const WEIGHT_STEPS = 8, WEIGHT_KINDS = 128 * WEIGHT_STEPS;

// Bytes times lifetime, heaviest first.
function weightOf(rounded, length) {
  const weight = rounded * length;
  return weight < 1 ? WEIGHT_KINDS - 1
    : WEIGHT_KINDS - 1 - Math.min(WEIGHT_KINDS - 1,
      Math.floor(Math.log2(weight) * WEIGHT_STEPS));
}

// Level n has the allocations that lived for less than 2^n events and at least
// half of that, in order of allocation.  Entries are numbered level by
// level.
class Lengths {
  constructor(alloc) {
    const n = alloc.start.length;
    const level = new Uint8Array(n), next = new Uint32Array(33);
    for (let i = 0; i < n; i++) {
      level[i] = 32 - Math.clz32(alloc.end[i] - alloc.start[i]);
      next[level[i] + 1]++;
    }
    for (let k = 0; k < 32; k++) next[k + 1] += next[k];
    this.begin = next.slice();
    this.order = new Uint32Array(n);
    this.start = new Int32Array(n);
    this.end = new Int32Array(n);
    this.weight = new Uint16Array(n);
    for (let i = 0; i < n; i++) {
      const at = next[level[i]]++;
      this.order[at] = i;
      this.start[at] = alloc.start[i];
      this.end[at] = alloc.end[i];
      this.weight[at] = weightOf(alloc.rounded[i],
        alloc.end[i] - alloc.start[i]);
    }
  }

  // The first level that may contain lifetimes of at least `length` events.
  levelFrom(length) {
    return 32 - Math.clz32(Math.max(0, Math.floor(length)));
  }

  // The first entry in [from, to) that began at or after an event.
  since(from, to, event) {
    const { start } = this;
    let step = 1, low = from;
    while (low < to && start[low] < event) {
      from = low + 1;
      low += step;
      step *= 2;
    }
    return firstWhere(from, Math.min(low, to), (at) => start[at] >= event);
  }

  // Call act(entry) for the entries of this and higher levels that are live
  // anywhere between the two states.
  forAlive(from, to, level, act) {
    const { begin, start, end } = this;
    for (; level < 32; level++) {
      const stop = begin[level + 1];
      const first = this.since(begin[level], stop, from - 2 ** level);
      for (let at = first; at < stop && start[at] < to; at++)
        if (end[at] >= from) act(at);
    }
  }
}
