// axis.js - canvases, and the axes of the chart over the run.
//
// State index k means "after k events".  An allocation made by event s and
// freed by event e is live in the states s+1 … e.

const GRAPH_LEFT = 74, GRAPH_TOP = 8, GRAPH_BOTTOM = 22;

function fitCanvas(canvas, height) {
  const ratio = window.devicePixelRatio || 1;
  const width = Math.max(canvas.clientWidth, 200);
  canvas.style.height = `${height}px`;
  const pixels = [Math.round(width * ratio), Math.round(height * ratio)];
  // Assigning even the same size would clear all pixels.
  if (canvas.width !== pixels[0] || canvas.height !== pixels[1])
    [canvas.width, canvas.height] = pixels;
  const ctx = canvas.getContext("2d");
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, width, height);
  ctx.font = "12px system-ui, sans-serif";
  return { ctx, width, height, ratio };
}

// The position of a device's state index on the axis, and the inverse.
function axisOf(device) {
  const time = device.event.time, n = device.events;
  if (state.axisKind === "event" || n === 0 || time[n - 1] <= 0)
    return { end: Math.max(n, 1), at: (k) => k,
      index: (x) => clamp(Math.floor(x), 0, n) };
  return {
    end: time[n - 1] || 1,
    at: (k) => (k === 0 ? 0 : time[k - 1]),
    index: (x) => firstWhere(0, n, (k) => time[k] > x),
  };
}

const GRID_LINES = 6;

function drawGrid(g, view) {
  const { ctx } = g;
  const step = 2 ** Math.max(0, Math.ceil(Math.log2(view.top / GRID_LINES)));
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  for (let bytes = 0; bytes <= view.top; bytes += step) {
    const y = view.y(bytes);
    ctx.fillStyle = cssColour("--line");
    ctx.fillRect(GRAPH_LEFT, y, view.width, 1);
    ctx.fillStyle = cssColour("--soft");
    ctx.fillText(bytesText(bytes), GRAPH_LEFT - 6, y);
  }
}

const AXIS_LABELS_MAX = 9, AXIS_LABEL_WIDTH = 64;

// Returns where the labels are: [from, to] of each.
function drawAxis(g, view) {
  const { ctx } = g, { axisKind: kind } = state, labels = [];
  const span = view.to - view.from;
  const fitting =
    clamp(Math.floor(view.width / AXIS_LABEL_WIDTH), 1, AXIS_LABELS_MAX);
  let step = Math.pow(10, Math.floor(Math.log10(span / 5)));
  for (const factor of [1, 2, 5, 10, 20, 50])
    if (span / (step * factor) <= fitting) { step *= factor; break; }
  if (kind === "event") step = Math.max(1, Math.round(step));
  ctx.fillStyle = cssColour("--soft");
  ctx.textBaseline = "bottom";
  for (let x = Math.ceil(view.from / step) * step; x <= view.to; x += step) {
    const text = kind === "event" ? countText(x) : timeText(x);
    const half = ctx.measureText(text).width / 2;
    const at = Math.min(view.x(x), g.width - half - 2);
    const free = labels.length > 0 ? labels[labels.length - 1][1] + 2 : 0;
    if (at - half < free) continue;
    labels.push([at - half, at + half]);
    ctx.textAlign = "center";
    ctx.fillText(text, at, g.height - 3);
  }
  return labels;
}
