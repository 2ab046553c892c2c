// device.js - a device's history, and what is computed from it once: curves,
// levels of detail, the most important allocations.

// Actions of events, in order of their codes.
const ACTIONS = ["alloc", "free_requested", "free_completed", "segment_alloc",
  "segment_free", "segment_map", "segment_unmap", "snapshot", "oom", "other"];
const SEGMENT_KINDS = ["small", "large", "expandable"];

// Allocated, requested and reserved bytes after each event; index 0 is the
// state before the first.
function curves(device) {
  const n = device.events;
  const a = device.alloc, s = device.segment;
  const allocated = new Float64Array(n + 1);
  const requested = new Float64Array(n + 1);
  const reserved = new Float64Array(n + 1);
  for (let i = 0; i < a.start.length; i++) {
    const from = a.start[i] + 1, to = a.end[i] + 1;
    allocated[from] += a.rounded[i];
    requested[from] += a.size[i];
    if (to <= n) {
      allocated[to] -= a.rounded[i];
      requested[to] -= a.size[i];
    }
  }
  for (let i = 0; i < s.start.length; i++) {
    reserved[s.start[i] + 1] += s.size[i];
    if (s.end[i] + 1 <= n)
      reserved[s.end[i] + 1] -= s.size[i];
  }
  for (let i = 1; i <= n; i++) {
    allocated[i] += allocated[i - 1];
    requested[i] += requested[i - 1];
    reserved[i] += reserved[i - 1];
  }
  return { allocated, requested, reserved };
}

// Minima and maxima over 16, 256, … entries, and where the maxima are: a pixel
// is then drawn from a few of them.
class Pyramid {
  constructor(values) {
    this.values = values;
    this.levels = [];
    for (let n = values.length; n > 16; n = Math.ceil(n / 16)) this.add();
  }

  add() {
    const below = this.levels[this.levels.length - 1];
    const values = this.values;
    const size = below ? below.low.length : values.length;
    const n = Math.ceil(size / 16);
    const low = new Float64Array(n), highest = new Uint32Array(n);
    for (let i = 0; i < n; i++) {
      const end = Math.min(size, i * 16 + 16);
      let least = Infinity;
      let best = below ? below.highest[i * 16] : i * 16;
      for (let k = i * 16; k < end; k++) {
        const lowest = below ? below.low[k] : values[k];
        const high = below ? below.highest[k] : k;
        if (lowest < least) least = lowest;
        if (values[high] > values[best]) best = high;
      }
      low[i] = least;
      highest[i] = best;
    }
    this.levels.push({ low, highest });
  }

  // For entries from … to, inclusive: the minimum, and the first position of
  // the maximum.
  range(from, to) {
    let least = Infinity, best = from;
    const { values, levels } = this;
    for (let level = 0; from <= to; level++) {
      const low = level > 0 ? levels[level - 1].low : values;
      const highest = level > 0 ? levels[level - 1].highest : null;
      // Entries that the next level covers completely are taken from there.
      const above = level < levels.length;
      const left = above ? Math.min(to + 1, (from + 15) & ~15) : to + 1;
      const right = above ? Math.max(left, (to + 1) & ~15) : to + 1;
      for (let i = from; i <= to; i++) {
        if (i === left) i = right;
        if (i > to) break;
        const high = highest ? highest[i] : i;
        if (low[i] < least) least = low[i];
        if (values[high] > values[best] ||
            (values[high] === values[best] && high < best))
          best = high;
      }
      from = left >> 4;
      to = (right >> 4) - 1;
    }
    return { least, highest: best, most: values[best] };
  }
}

// `texts` has the texts, `columns` has events, allocations and segments.
function makeDevice(run, texts, columns) {
  const device = {
    run, device: texts.device, verdict: texts.verdict, ooms: texts.ooms, findings: texts.findings,
    marks: texts.marks.map((mark) => ({ ...mark, label: plain(mark.label) })),
    streams: texts.streams, note: texts.note,
    categories: texts.categories, ...columns,
  };
  device.events = columns.event.action.length;
  device.curve = curves(device);
  device.pyramid = {};
  for (const name of Object.keys(device.curve))
    device.pyramid[name] = new Pyramid(device.curve[name]);
  device.lengths = new Lengths(device.alloc);
  device.peak = device.pyramid.allocated.range(0, device.events).highest;
  device.top = Math.max(1, device.curve.allocated[device.peak],
    device.pyramid.reserved.range(0, device.events).most);
  return device;
}

// The allocation that an event created or freed, -1 for none; computed on
// demand.
function eventOwners(device) {
  if (device.owners) return device.owners;
  const owners = new Int32Array(device.events).fill(-1), a = device.alloc;
  for (let i = 0; i < a.start.length; i++)
    for (const k of [a.done[i], a.end[i], a.start[i]])
      if (k >= 0 && k < device.events) owners[k] = i;
  device.owners = owners;
  return owners;
}

// The program's note at the allocation; "" if none.
function noteText(device, i) {
  const note = device.alloc.note;
  return note ? device.run.strings[note[i]] : "";
}

// Allocations live in a state.
function aliveAt(device, k) {
  const { lengths } = device, list = [];
  lengths.forAlive(k, k, 0, (at) => list.push(lengths.order[at]));
  return list.sort((x, y) => x - y);
}
