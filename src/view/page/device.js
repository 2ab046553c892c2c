// device.js - a device's history, and what is computed from it once: curves,
// levels of detail, the most important allocations.

// Actions of events, in order of their codes.
const ACTIONS = ["alloc", "free_requested", "free_completed", "segment_alloc",
  "segment_free", "segment_map", "segment_unmap", "snapshot", "oom", "other"];
const SEGMENT_KINDS = ["small", "large", "expandable"];

// The bytes of what is live in each state, of allocations or segments; without
// those that do not count.
function liveSum(events, { start, end }, bytes, counts = () => true) {
  const sum = new Float64Array(events + 1);
  for (let i = 0; i < start.length; i++) {
    if (!counts(i)) continue;
    sum[start[i] + 1] += bytes[i];
    if (end[i] < events) sum[end[i] + 1] -= bytes[i];
  }
  for (let k = 1; k <= events; k++) sum[k] += sum[k - 1];
  return sum;
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

// `given` has the texts, events, allocations and segments.
function makeDevice(given) {
  const { alloc, segment, event } = given, events = event.action.length;
  const curve = {
    allocated: liveSum(events, alloc, alloc.rounded),
    requested: liveSum(events, alloc, alloc.size),
    reserved: liveSum(events, segment, segment.size),
  };
  const pyramid = {};
  for (const name of Object.keys(curve))
    pyramid[name] = new Pyramid(curve[name]);
  const peak = pyramid.allocated.range(0, events).highest;
  const top = Math.max(1, curve.allocated[peak],
    pyramid.reserved.range(0, events).most);
  return { ...given, events, curve, pyramid, peak, top,
    lengths: new Lengths(alloc) };
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
