// flame.js - the tree of callers as a chart: each box is as wide as the memory
// allocated in it, with its callees below.

const FLAME_ROW = 21, FLAME_DEEPEST = 120, FLAME_NARROWEST = 0.7;
// Hue, saturation and lightness for each kind of frame; the program's own
// frames stand out.
const FLAME_COLOURS = {
  own: [28, 92, 62], library: [205, 52, 70], torch: [220, 16, 76],
  cpp: [0, 0, 82],
};

// Lay out boxes for a canvas of this width: ancestors of `focus` at full width,
// then its descendants.
function layOutFlame(root, focus, width) {
  const boxes = [];
  const lead = [];
  for (let node = focus; node; node = node.parent) lead.unshift(node);
  lead.forEach((node, depth) => boxes.push({ node, x: 0, width, depth,
    lead: node !== focus }));
  const place = (node, x, perByte, depth) => {
    if (depth > FLAME_DEEPEST) return;
    for (const child of ranked(node)) {
      const wide = child.plus * perByte;
      if (wide < FLAME_NARROWEST) break;
      boxes.push({ node: child, x, width: wide, depth, lead: false });
      place(child, x, perByte, depth + 1);
      x += wide;
    }
  };
  if (focus.plus > 0) place(focus, 0, width / focus.plus, lead.length);
  return boxes;
}

// A frame has the same colour everywhere, and its neighbours have others.
function flameColour(node) {
  const [hue, saturation, lightness] = FLAME_COLOURS[node.kind];
  let mix = 7;
  for (const char of String(node.key)) mix = mix * 31 + char.codePointAt(0) | 0;
  const turn = (mix >>> 4) % 25 - 12, lift = (mix >>> 10) % 9 - 4;
  return `hsl(${hue + turn} ${saturation}% ${lightness + lift}%)`;
}

function drawBox(ctx, box, text, marked) {
  const y = box.depth * FLAME_ROW;
  const width = Math.max(box.width - 1, 0.6);
  ctx.globalAlpha = box.lead ? 0.55 : 1;
  ctx.fillStyle = box.node.parent ? flameColour(box.node) : cssColour("--free");
  ctx.fillRect(box.x, y, width, FLAME_ROW - 1);
  ctx.globalAlpha = 1;
  if (marked) {
    ctx.strokeStyle = cssColour("--ink");
    ctx.lineWidth = 2;
    ctx.strokeRect(box.x + 1, y + 1, Math.max(width - 2, 1), FLAME_ROW - 3);
  }
  if (width < 24) return;
  ctx.fillStyle = box.node.parent ? "#16181b" : cssColour("--ink");
  ctx.fillText(fitText(ctx, text, width - 8), box.x + 4, y + FLAME_ROW / 2);
}

// As much of a text as fits.
function fitText(ctx, text, width) {
  if (ctx.measureText(text).width <= width) return text;
  const cut = (length) => text.slice(0, length) + "…";
  const most = Math.min(text.length, Math.ceil(width / 3));
  const fitting = firstWhere(1, most + 1,
    (length) => ctx.measureText(cut(length)).width > width) - 1;
  return fitting < 2 ? "" : cut(fitting);
}

// Only boxes wide enough to read determine the chart's height.
const FLAME_COUNTS = 3;

function drawFlame() {
  const canvas = $("flame"), { root, focus } = state.tree;
  const width = Math.max(canvas.clientWidth, 200);
  const boxes = state.boxes = layOutFlame(root, focus, width);
  const deepest = boxes.reduce((most, box) =>
    box.width >= FLAME_COUNTS ? Math.max(most, box.depth) : most, 0);
  const { ctx } = fitCanvas(canvas, (deepest + 1) * FLAME_ROW);
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  for (const box of boxes) {
    const { node } = box;
    const bytes = state.what === "grew" ? `+${bytesText(node.plus)}`
      : bytesText(node.total);
    drawBox(ctx, box, `${nodeLabel(node)}  ${bytes}`,
      node === focus && focus !== root);
  }
}

function hitFlame({ x, y }) {
  const depth = Math.floor(y / FLAME_ROW);
  return state.boxes.find((box) => box.depth === depth && x >= box.x &&
    x < box.x + Math.max(box.width, 1)) || null;
}
