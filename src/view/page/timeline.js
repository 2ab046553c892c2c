// timeline.js - the run as a picture: the largest allocations stacked in the
// order they were made, everything smaller as one band, and three curves.
//
// A state index k stands for "after k events".  An allocation made by event s
// and freed by event e is alive in the states s+1 … e.

const CHOSEN_MOST = 2500; // allocations drawn one by one
const GRAPH_LEFT = 74, GRAPH_TOP = 8, GRAPH_BOTTOM = 22;

function fitCanvas(canvas, height) {
  const ratio = window.devicePixelRatio || 1;
  const width = Math.max(canvas.clientWidth, 200);
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const ctx = canvas.getContext("2d");
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { ctx, width, height, ratio };
}

// Of the allocations alive in states from … to, those that matter most,
// in the order they were made.
function chooseAllocations(device, from, to, most) {
  const a = device.alloc, chosen = [];
  for (const i of a.order) {
    if (a.start[i] < to && a.end[i] >= from) {
      chosen.push(i);
      if (chosen.length >= most) break;
    }
  }
  return Uint32Array.from(chosen).sort();
}

// ---- axes ----

// Where a device's state index stands on the axis, and back.
function axisOf(device, kind) {
  const time = device.event.time, n = device.events;
  if (kind === "event" || n === 0 || time[n - 1] <= 0)
    return { end: Math.max(n, 1), at: (k) => k,
      index: (x) => Math.max(0, Math.min(n, Math.floor(x))) };
  return {
    end: time[n - 1] || 1,
    at: (k) => (k === 0 ? 0 : time[k - 1]),
    index: (x) => {
      let low = 0, high = n;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (time[middle] <= x) low = middle + 1; else high = middle;
      }
      return low;
    },
  };
}

function niceBytesStep(top, lines) {
  let step = 1;
  while (top / step > lines) step *= 2;
  return step;
}

function drawGrid(g, view) {
  const { ctx } = g;
  const step = niceBytesStep(view.top, 6);
  ctx.font = "12px system-ui, sans-serif";
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  for (let bytes = 0; bytes <= view.top; bytes += step) {
    const y = view.y(bytes);
    ctx.fillStyle = cssColour("--line");
    ctx.fillRect(GRAPH_LEFT, y, g.width - GRAPH_LEFT, 1);
    ctx.fillStyle = cssColour("--soft");
    ctx.fillText(bytesText(bytes), GRAPH_LEFT - 6, y);
  }
}

function drawAxis(g, view, kind) {
  const { ctx } = g;
  const span = view.to - view.from;
  let step = Math.pow(10, Math.floor(Math.log10(span / 5)));
  for (const factor of [1, 2, 5, 10])
    if (span / (step * factor) <= 9) { step *= factor; break; }
  if (kind === "event") step = Math.max(1, Math.round(step));
  ctx.fillStyle = cssColour("--soft");
  ctx.textBaseline = "bottom";
  for (let x = Math.ceil(view.from / step) * step; x <= view.to; x += step) {
    const text = kind === "event" ? x.toLocaleString("en") : timeText(x);
    const half = ctx.measureText(text).width / 2;
    const at = Math.min(view.x(x), g.width - half - 2);
    ctx.textAlign = "center";
    ctx.fillText(text, at, g.height - 3);
  }
}

// ---- the stack ----

// For each pixel column the state in it with most allocated: no peak is lost
// however far out one is.
function columnStates(device, axis, view, width) {
  const states = new Int32Array(width);
  const curve = device.curve.allocated;
  let k = axis.index(view.from);
  for (let x = 0; x < width; x++) {
    const to = axis.index(view.from + (x + 1) * (view.to - view.from) / width);
    let best = Math.min(k, device.events);
    for (; k <= to; k++)
      if (curve[k] > curve[best]) best = k;
    k = Math.max(to, 0);
    states[x] = best;
  }
  return states;
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

function stackPixels(device, groups, mask, selected) {
  const bright = [], dim = [];
  for (let group = 0; group <= groups.rest; group++) {
    const hex = groupColour(groups, group);
    bright.push([pixelOf(hex), pixelOf(hex, 0.72)]);
    dim.push([fade(hex), fade(hex)]);
  }
  return (i) => {
    if (i === selected) return [pixelOf("#ffffff"), pixelOf("#ff3b30")];
    return (mask && !mask[i] ? dim : bright)[groups.of[i]];
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

// Draws into an image of w × h device pixels; returns what hit() needs.
function drawStack(image, device, axis, view, groups, mask, selected) {
  const w = image.width, h = image.height;
  const out = new Uint32Array(image.data.buffer);
  const states = columnStates(device, axis, view, w);
  const from = states[0], to = states[w - 1];
  const chosen = chooseAllocations(device, from, to, CHOSEN_MOST);
  const alive = new Alive(device, chosen);
  const pixels = stackPixels(device, groups, mask, selected);
  const cache = new Map();
  for (const i of chosen) cache.set(i, pixels(i));
  const rest = pixelOf(cssColour("--rest"), 1);
  const perByte = h / view.top;
  for (let x = 0; x < w; x++) {
    if (x > 0 && states[x] === states[x - 1]) {
      for (let at = x; at < out.length; at += w) out[at] = out[at - 1];
      continue;
    }
    let sum = 0, y = h;
    for (const i of alive.advance(states[x])) {
      sum += device.alloc.rounded[i];
      const top = Math.max(0, h - Math.round(sum * perByte));
      const [inside, edge] = cache.get(i);
      if (y - top >= 4) {
        out[(y - 1) * w + x] = edge;
        y--;
      }
      while (y > top) out[--y * w + x] = inside;
    }
    const all = device.curve.allocated[states[x]];
    const top = Math.max(0, h - Math.round(all * perByte));
    while (y > top) out[--y * w + x] = rest;
  }
  return { states, chosen };
}

// The allocation at a byte height in a state, of those drawn; -1: the band of
// smaller ones; -2: nothing.
function hitStack(device, chosen, state, bytes) {
  let sum = 0;
  for (const i of new Alive(device, chosen).advance(state)) {
    sum += device.alloc.rounded[i];
    if (bytes < sum) return i;
  }
  return bytes < device.curve.allocated[state] ? -1 : -2;
}

// ---- curves ----

function drawCurve(g, device, axis, view, name, colour, dash) {
  const { ctx } = g;
  const width = Math.floor(g.width - GRAPH_LEFT);
  ctx.beginPath();
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1.6;
  ctx.setLineDash(dash || []);
  let k = axis.index(view.from);
  for (let x = 0; x <= width; x++) {
    const position = view.from + x * (view.to - view.from) / width;
    if (position > axis.end) break;
    const to = Math.max(k, axis.index(position));
    const [low, high] = device.pyramid[name].range(k, to);
    ctx.lineTo(GRAPH_LEFT + x, view.y(high));
    if (view.y(low) - view.y(high) > 1) ctx.lineTo(GRAPH_LEFT + x, view.y(low));
    k = to;
  }
  ctx.stroke();
  ctx.setLineDash([]);
}

// What the program itself noted: a line each, and its name where there is
// room for it.
function drawMarks(g, device, axis, view) {
  const { ctx } = g;
  let free = GRAPH_LEFT;
  ctx.textAlign = "left";
  for (const mark of device.marks) {
    const x = view.x(axis.at(mark.event));
    if (x < GRAPH_LEFT || x > g.width) continue;
    ctx.fillStyle = cssColour("--soft");
    ctx.fillRect(x, g.height - GRAPH_BOTTOM - 8, 1, 8);
    ctx.globalAlpha = 0.35;
    ctx.fillRect(x, GRAPH_TOP, 1, g.height - GRAPH_TOP - GRAPH_BOTTOM);
    ctx.globalAlpha = 1;
    const label = mark.label.slice(0, 28);
    const width = ctx.measureText(label).width;
    if (x < free || x + width + 4 > g.width) continue;
    ctx.fillText(label, x + 4, GRAPH_TOP + 18);
    free = x + width + 16;
  }
}

function drawMoments(g, device, axis, view) {
  g.ctx.font = "12px system-ui, sans-serif";
  g.ctx.textBaseline = "top";
  drawMarks(g, device, axis, view);
  drawFailures(g, device, axis, view, cssColour("--alarm"));
}

function drawFailures(g, device, axis, view, colour) {
  const { ctx } = g;
  ctx.font = "12px system-ui, sans-serif";
  ctx.textBaseline = "top";
  for (const oom of device.ooms) {
    const x = view.x(axis.at(oom.event + 1));
    if (x < GRAPH_LEFT || x > g.width) continue;
    ctx.fillStyle = colour;
    ctx.fillRect(x - 0.75, GRAPH_TOP, 1.5, g.height - GRAPH_TOP - GRAPH_BOTTOM);
    ctx.textAlign = x > g.width - 130 ? "right" : "left";
    ctx.fillText(`▲ out of memory`, x + (x > g.width - 130 ? -5 : 5),
      GRAPH_TOP + 2);
  }
}
