// timeline.js - what is drawn over the bands: curves, the program's marks,
// failures, the moment, the marked part.

// Changes within a pixel that are drawn individually, at most.
const STEPS_MAX = 8;

// A curve: a line through the maximum of each pixel.  Where a pixel covers many
// different values the minima form a second line, so that fluctuations do
// not become a solid area.
function drawCurve(g, view, { device, axis, name, colour, dash }) {
  const { ctx } = g;
  const high = new Path2D(), low = new Path2D();
  const width = Math.floor(view.width);
  const dense = axis.index(view.to) - axis.index(view.from) > width * 2;
  let k = axis.index(view.from);
  for (let x = 0; x <= width; x++) {
    const position = view.from + x * (view.to - view.from) / width;
    if (position > axis.end) break;
    const to = Math.max(k, axis.index(position));
    if (dense || to - k > STEPS_MAX) {
      const { least, most } = device.pyramid[name].range(k, to);
      high.lineTo(GRAPH_LEFT + x, view.y(most));
      low.lineTo(GRAPH_LEFT + x, view.y(least));
    } else {
      for (let step = k; step <= to; step++)
        high.lineTo(GRAPH_LEFT + x, view.y(device.curve[name][step]));
    }
    k = to;
  }
  ctx.strokeStyle = cssColour(colour);
  ctx.setLineDash(dash);
  if (dense) {
    ctx.lineWidth = 1;
    ctx.globalAlpha = 0.5;
    ctx.stroke(low);
    ctx.globalAlpha = 1;
  }
  ctx.lineWidth = 1.6;
  ctx.stroke(high);
  ctx.setLineDash([]);
}

// The marked part: between two edges, with the rest shaded.
function drawSpan(g, view) {
  const { axis, span } = state, { height } = view;
  if (!span) return;
  const left = Math.max(GRAPH_LEFT, view.x(axis.at(span.from)));
  const right = Math.min(g.width, view.x(axis.at(span.to)));
  g.ctx.fillStyle = cssColour("--shade");
  g.ctx.fillRect(GRAPH_LEFT, GRAPH_TOP, left - GRAPH_LEFT, height);
  g.ctx.fillRect(right, GRAPH_TOP, g.width - right, height);
  g.ctx.fillStyle = cssColour("--accent");
  g.ctx.fillRect(left - 0.75, GRAPH_TOP, 1.5, height);
  g.ctx.fillRect(right - 0.75, GRAPH_TOP, 1.5, height);
}

// The program's marks: a line for each, with its name if there is room.
function drawMarks(g, view) {
  const { ctx } = g;
  let free = GRAPH_LEFT;
  ctx.textBaseline = "top";
  ctx.textAlign = "left";
  for (const mark of state.device.marks) {
    const x = view.x(state.axis.at(mark.event));
    if (x < GRAPH_LEFT || x > g.width) continue;
    ctx.fillStyle = cssColour("--soft");
    ctx.fillRect(x, g.height - GRAPH_BOTTOM - 8, 1, 8);
    ctx.globalAlpha = 0.35;
    ctx.fillRect(x, GRAPH_TOP, 1, view.height);
    ctx.globalAlpha = 1;
    const label = mark.label.slice(0, 28);
    const width = ctx.measureText(label).width;
    if (x < free || x + width + 4 > g.width) continue;
    ctx.fillText(label, x + 4, GRAPH_TOP + 18);
    free = x + width + 16;
  }
}

function drawFailures(g, view, device, axis, colour) {
  const { ctx } = g;
  ctx.textBaseline = "top";
  for (const oom of device.ooms) {
    const x = view.x(axis.at(oom.event + 1));
    if (x < GRAPH_LEFT || x > g.width) continue;
    ctx.fillStyle = colour;
    ctx.fillRect(x - 0.75, GRAPH_TOP, 1.5, view.height);
    ctx.textAlign = x > g.width - 130 ? "right" : "left";
    ctx.fillText(`▲ out of memory`, x + (x > g.width - 130 ? -5 : 5),
      GRAPH_TOP + 2);
  }
}
