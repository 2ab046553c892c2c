// bands.js - what was allocated over the run: the largest allocations stacked
// in the order they were made, everything smaller as one band above them.

// Allocations drawn one by one: of those that last for several pixel columns,
// and in each column of those that do not.  One limit for both would run out
// somewhere along the picture, which would look as if the run had changed.
const LASTING_MOST = 2500, PASSING_MOST = 200;
const LASTING_COLUMNS = 3;
// Parts of a pixel below which none is.
const HEIGHT_LEAST = 1 / 64;

// For each pixel column the state in it with most allocated: no peak is lost
// however far out one is.
function columnStates(device, axis, view, width) {
  const states = new Int32Array(width), n = device.events;
  let k = Math.min(axis.index(view.from), n);
  for (let x = 0; x < width; x++) {
    const to = axis.index(view.from + (x + 1) * (view.to - view.from) / width);
    const last = Math.max(k, Math.min(to, n));
    states[x] = device.pyramid.allocated.range(k, last).highest;
    k = last;
  }
  return states;
}

// Those that last: the weightiest of all that are alive in the picture.
function chooseLasting(device, states, lasting, wanted, chosen, room) {
  const { order, start, end } = device.weighty;
  const from = states[0], to = states[states.length - 1];
  for (let at = 0; at < order.length && room.lasting > 0; at++) {
    if (start[at] >= to || end[at] < from || end[at] - start[at] < lasting ||
        !wanted(order[at]))
      continue;
    chosen.push(order[at]);
    room.lasting--;
  }
}

// Those that pass: an allocation that lived only between the states of two
// columns is not seen, and must not take the place of one that is.  They are
// in the order of their beginnings, and so are the columns.
function choosePassing(device, states, lasting, wanted, chosen, room) {
  const { start, end } = device.alloc;
  let x = 0;
  for (let i = firstSince(start, states[0] - lasting); i < start.length; i++) {
    while (x < states.length && states[x] <= start[i]) x++;
    if (x === states.length) break;
    if (end[i] < states[x] || end[i] - start[i] >= lasting || !wanted(i) ||
        room.passing[x] === 0)
      continue;
    room.passing[x]--;
    chosen.push(i);
  }
}

// The first of ascending numbers that is not below one.
function firstSince(numbers, least) {
  let low = 0, high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] < least) low = middle + 1; else high = middle;
  }
  return low;
}

// The allocations that are drawn one by one, in the order they were made;
// those found before all others.  What has fewer bytes than `least` is part of
// the band above.
function chooseAllocations(device, states, look, least) {
  const { rounded } = device.alloc, { mask, isShown } = look;
  const lasting = LASTING_COLUMNS *
    (states[states.length - 1] - states[0] + 1) / states.length;
  const room = { lasting: LASTING_MOST,
    passing: new Uint8Array(states.length).fill(PASSING_MOST) };
  const chosen = [];
  const take = (wanted) => {
    for (const choose of [chooseLasting, choosePassing])
      choose(device, states, lasting, wanted, chosen, room);
  };
  if (mask) take((i) => mask[i] && rounded[i] >= least && isShown(i));
  take((i) => !(mask && mask[i]) && rounded[i] >= least && isShown(i));
  return Uint32Array.from(chosen).sort();
}

// The chosen allocations alive in one state after the other; states must not
// go down.
class Alive {
  constructor(device, chosen) {
    this.a = device.alloc;
    this.chosen = chosen;
    this.next = 0;
    this.list = [];
  }

  advance(state) {
    const { a, chosen } = this;
    let kept = 0;
    for (const i of this.list)
      if (a.end[i] >= state) this.list[kept++] = i;
    this.list.length = kept;
    while (this.next < chosen.length && a.start[chosen[this.next]] < state) {
      const i = chosen[this.next++];
      if (a.end[i] >= state) this.list.push(i);
    }
    return this.list;
  }
}

function stackPixels(look) {
  const bright = [], dim = [];
  for (let group = 0; group <= look.groups.rest; group++) {
    const hex = groupColour(look.groups, group);
    bright.push([pixelOf(hex), pixelOf(hex, 0.72)]);
    dim.push([fade(hex), fade(hex)]);
  }
  const { mask } = look;
  return (i) => {
    if (i === look.selected) return [pixelOf("#ffffff"), pixelOf("#ff3b30")];
    return (mask && !mask[i] ? dim : bright)[look.groups.of[i]];
  };
}

// A colour most of the way to the background.
function fade(hex) {
  const back = parseInt(cssColour("--back").slice(1), 16);
  const n = parseInt(hex.slice(1), 16);
  let out = 0;
  for (const shift of [0, 8, 16]) {
    const mixed = ((n >> shift) & 255) * 0.16 + ((back >> shift) & 255) * 0.84;
    out |= Math.round(mixed) << shift;
  }
  return pixelOf("#" + out.toString(16).padStart(6, "0"));
}

// Bytes in each state of the groups that are hidden; null if none is.
function hiddenCurve(device, groups, hidden) {
  if (hidden.size === 0) return null;
  const a = device.alloc, n = device.events;
  const bytes = new Float64Array(n + 1);
  for (let i = 0; i < a.start.length; i++) {
    if (!hidden.has(groups.of[i])) continue;
    bytes[a.start[i] + 1] += a.rounded[i];
    if (a.end[i] + 1 <= n) bytes[a.end[i] + 1] -= a.rounded[i];
  }
  for (let k = 1; k <= n; k++) bytes[k] += bytes[k - 1];
  return bytes;
}

// Draws into an image of w × h device pixels; returns what hitStack() needs.
// `look` says how: groups, isShown(allocation), hidden (bytes by state or
// null), mask (found allocations or null), selected.
function drawStack(image, device, axis, view, look) {
  const w = image.width, h = image.height;
  const out = new Uint32Array(image.data.buffer);
  const states = columnStates(device, axis, view, w);
  const perByte = h / view.top;
  const chosen = chooseAllocations(device, states, look,
    HEIGHT_LEAST / perByte);
  const alive = new Alive(device, chosen);
  const pixels = stackPixels(look);
  const grey = cssColour("--rest");
  const rest = look.mask ? fade(grey) : pixelOf(grey);
  for (let x = 0; x < w; x++) {
    if (x > 0 && states[x] === states[x - 1]) {
      for (let at = x; at < out.length; at += w) out[at] = out[at - 1];
      continue;
    }
    let sum = 0, y = h;
    for (const i of alive.advance(states[x])) {
      sum += device.alloc.rounded[i];
      const top = Math.max(0, h - Math.round(sum * perByte));
      const [inside, edge] = pixels(i);
      if (y - top >= 4) {
        out[(y - 1) * w + x] = edge;
        y--;
      }
      while (y > top) out[--y * w + x] = inside;
    }
    const top = Math.max(0, h - Math.round(
      shownBytes(device, states[x], look) * perByte));
    while (y > top) out[--y * w + x] = rest;
  }
  return { states, chosen };
}

function shownBytes(device, state, look) {
  return device.curve.allocated[state] -
    (look.hidden ? look.hidden[state] : 0);
}

// The allocation at a byte height in a state, of those drawn; -1: the band of
// smaller ones; -2: nothing.
function hitStack(device, chosen, state, bytes, look) {
  let sum = 0;
  for (const i of new Alive(device, chosen).advance(state)) {
    sum += device.alloc.rounded[i];
    if (bytes < sum) return i;
  }
  return bytes < shownBytes(device, state, look) ? -1 : -2;
}
