// bands.js - allocated memory over the run: the largest allocations stacked in
// order of allocation, with everything smaller as one band above them.

// Maximum number of allocations drawn individually: of those that last for
// several pixel columns, and in each column of those that do not.  A single
// limit for both would be reached somewhere along the chart, which would
// look like a change in the run.
const LASTING_MAX = 2500, PASSING_MAX = 200;
const LASTING_COLUMNS = 3;
// Smaller fractions of a pixel are not drawn.
const HEIGHT_MIN = 1 / 64;

// For each pixel column the state with the most allocated memory, so that no
// peak is lost at any zoom level.
function columnStates(view, width) {
  const { device, axis } = state, n = device.events;
  const states = new Int32Array(width);
  let k = Math.min(axis.index(view.from), n);
  for (let x = 0; x < width; x++) {
    const to = axis.index(view.from + (x + 1) * (view.to - view.from) / width);
    const last = clamp(to, k, n);
    states[x] = device.pyramid.allocated.range(k, last).highest;
    k = last;
  }
  return states;
}

// Lasting allocations: those with the largest weight among all that are live in
// the chart.
function chooseLasting({ lengths }, states, lasting, wanted, chosen, room) {
  const { order, start, end, weight } = lengths;
  const found = [], count = new Uint32Array(WEIGHT_KINDS);
  lengths.forAlive(states[0], states[states.length - 1],
    lengths.levelFrom(lasting), (at) => {
      if (end[at] - start[at] < lasting || !wanted(order[at])) return;
      found.push(at);
      count[weight[at]]++;
    });
  let least = 0;
  for (let sum = count[0]; sum < room.lasting && least < WEIGHT_KINDS - 1;)
    sum += count[++least];
  const take = (fits) => {
    for (const at of found) {
      if (room.lasting === 0) return;
      if (!fits(weight[at])) continue;
      chosen.push(order[at]);
      room.lasting--;
    }
  };
  take((step) => step < least);
  take((step) => step === least);
}

// Passing allocations, level by level: one that lived only between the states
// of two columns is not visible, and must not take the place of one that is.
function choosePassing({ lengths }, states, lasting, wanted, chosen, room) {
  const { begin, order, start, end } = lengths;
  for (let level = lengths.levelFrom(lasting); level >= 0; level--) {
    let at = begin[level];
    for (let x = 0; x < states.length; x++) {
      at = lengths.since(at, begin[level + 1], states[x] - 2 ** level);
      for (; at < begin[level + 1] && start[at] < states[x]; at++) {
        if (end[at] < states[x] || end[at] - start[at] >= lasting ||
            room.passing[x] === 0 || !wanted(order[at]))
          continue;
        room.passing[x]--;
        chosen.push(order[at]);
      }
    }
  }
}

// The allocations that are drawn individually, in order of allocation; search
// results have priority.  Those with fewer bytes than `least` belong to the
// band above.
function chooseAllocations(states, least) {
  const { device, mask } = state, { rounded } = device.alloc;
  const lasting = LASTING_COLUMNS *
    (states[states.length - 1] - states[0] + 1) / states.length;
  const room = { lasting: LASTING_MAX,
    passing: new Uint8Array(states.length).fill(PASSING_MAX) };
  const chosen = [];
  const take = (wanted) => {
    for (const choose of [chooseLasting, choosePassing])
      choose(device, states, lasting, wanted, chosen, room);
  };
  if (mask) take((i) => mask[i] && rounded[i] >= least && isShown(i));
  take((i) => !(mask && mask[i]) && rounded[i] >= least && isShown(i));
  return Uint32Array.from(chosen).sort();
}

// The chosen allocations that are live in one state after another; states must
// not decrease.
class Alive {
  constructor(device, chosen) {
    this.a = device.alloc;
    this.chosen = chosen;
    this.next = 0;
    this.list = [];
    this.firstEnd = Infinity;
  }

  // Returns how many at the beginning of the list have not changed.
  advance(state) {
    const same = this.firstEnd < state ? this.leave(state) : this.list.length;
    const { a, chosen, list } = this;
    while (this.next < chosen.length && a.start[chosen[this.next]] < state) {
      const i = chosen[this.next++];
      if (a.end[i] < state) continue;
      list.push(i);
      this.firstEnd = Math.min(this.firstEnd, a.end[i]);
    }
    return same;
  }

  leave(state) {
    const { a: { end }, list } = this;
    let kept = 0, same = -1;
    this.firstEnd = Infinity;
    for (const i of list) {
      if (end[i] >= state) {
        list[kept++] = i;
        this.firstEnd = Math.min(this.firstEnd, end[i]);
      } else if (same < 0) {
        same = kept;
      }
    }
    list.length = kept;
    return same;
  }
}

function stackPixels() {
  const { groups, mask, selected } = state, bright = [], dim = [];
  for (let group = 0; group <= groups.rest; group++) {
    const hex = groupColour(groups, group);
    bright.push([pixelOf(hex), pixelOf(hex, (part) => part * 0.72)]);
    dim.push([fade(hex), fade(hex)]);
  }
  return (i) => {
    if (i === selected) return [pixelOf("#ffffff"), pixelOf("#ff3b30")];
    return (mask && !mask[i] ? dim : bright)[groups.of[i]];
  };
}

// Blend a colour most of the way into the background.
function fade(hex) {
  const back = parseInt(cssColour("--back").slice(1), 16);
  return pixelOf(hex, (part, shift) =>
    part * 0.16 + ((back >> shift) & 255) * 0.84);
}

// Draws one pixel column after another; parts that equal the previous column
// are copied.
class Columns {
  constructor(image) {
    this.width = image.width;
    this.height = image.height;
    this.out = new Uint32Array(image.data.buffer);
    this.out.fill(0);
  }

  // The rows from `from` to the bottom.
  copy(x, from) {
    const { out, width } = this;
    for (let at = from * width + x; at < out.length; at += width)
      out[at] = out[at - 1];
  }

  fill(x, from, to, pixel) {
    const { out, width } = this, end = to * width;
    for (let at = from * width + x; at < end; at += width) out[at] = pixel;
  }
}

// Draw into an image of device pixels; returns what hitStack() needs.
function drawStack(image, view) {
  const columns = new Columns(image), h = image.height, { device } = state;
  const states = columnStates(view, image.width);
  const perByte = h / view.top;
  const chosen = chooseAllocations(states, HEIGHT_MIN / perByte);
  const alive = new Alive(device, chosen);
  const pixels = stackPixels();
  const grey = cssColour("--rest");
  const rest = state.mask ? fade(grey) : pixelOf(grey);
  // By index in the list: bytes up to its upper edge, and the row of that edge.
  const sums = [], rows = [];
  states.forEach((k, x) => {
    if (x > 0 && k === states[x - 1]) {
      columns.copy(x, 0);
      return;
    }
    const same = alive.advance(k), { list } = alive;
    let sum = same > 0 ? sums[same - 1] : 0, y = same > 0 ? rows[same - 1] : h;
    columns.copy(x, y);
    for (let at = same; at < list.length; at++) {
      sums[at] = sum += device.alloc.rounded[list[at]];
      const top = rows[at] = Math.max(0, h - Math.round(sum * perByte));
      const pixel = pixels(list[at]);
      columns.fill(x, top, y, pixel[0]);
      if (y - top >= 4) columns.fill(x, y - 1, y, pixel[1]);
      y = top;
    }
    columns.fill(x, Math.max(0, h - Math.round(shownBytes(k) * perByte)), y,
      rest);
  });
  return { states, chosen };
}

function shownBytes(k) {
  const { device, hiddenBytes } = state;
  return device.curve.allocated[k] - (hiddenBytes ? hiddenBytes[k] : 0);
}

// The drawn allocation at a byte height in a state; -1: the band of smaller
// ones; -2: nothing.
function hitStack(k, bytes) {
  const alive = new Alive(state.device, state.drawn.chosen);
  let sum = 0;
  alive.advance(k);
  for (const i of alive.list) {
    sum += state.device.alloc.rounded[i];
    if (bytes < sum) return i;
  }
  return bytes < shownBytes(k) ? -1 : -2;
}
