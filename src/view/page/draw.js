// draw.js - draws everything visible from the state.

// The chart: where it is, and where a position and bytes are in it.
function view(g) {
  const { from, to } = state;
  const top = 1.04 *
    Math.max(state.device.top, ...state.others.map((d) => d.top));
  const width = g.width - GRAPH_LEFT;
  const height = g.height - GRAPH_TOP - GRAPH_BOTTOM;
  return { from, to, top, width, height,
    x: (at) => GRAPH_LEFT + (at - from) * width / (to - from),
    y: (bytes) => GRAPH_TOP + height * (1 - bytes / top) };
}

const CURVES = [
  { name: "reserved", colour: "--reserved", style: "", dash: [] },
  { name: "requested", colour: "--requested", style: "dotted", dash: [2, 3] },
  { name: "allocated", colour: "--ink", style: "", dash: [] },
];
const OTHER_CURVES = [
  { name: "allocated", colour: "--other", style: "dashed", dash: [6, 3] },
  { name: "reserved", colour: "--other", style: "dotted", dash: [1, 3] },
];

// The run's curves, and those of the others.
function allCurves() {
  const { device, axis, others } = state;
  return [
    ...CURVES.map((curve) =>
      ({ ...curve, device, axis, key: curve.name, label: curve.name })),
    ...others.flatMap((other) => OTHER_CURVES.map((curve) =>
      ({ ...curve, device: other, axis: axisOf(other),
        key: `other ${curve.name}`, label: `${other.run.name}: ${curve.name}` }))),
  ];
}

// Its pixels are overwritten each time.
let bandsImage = { width: 0, height: 0 };

function drawTimeline() {
  const g = fitCanvas($("timeline"), 330);
  const v = view(g);
  const w = Math.max(1, Math.round(v.width * g.ratio));
  const h = Math.round(v.height * g.ratio);
  if (bandsImage.width !== w || bandsImage.height !== h)
    bandsImage = g.ctx.createImageData(w, h);
  state.drawn = { view: v, ...drawStack(bandsImage, v) };
  g.ctx.putImageData(bandsImage, Math.round(GRAPH_LEFT * g.ratio),
    Math.round(GRAPH_TOP * g.ratio));
  drawGrid(g, v);
  state.drawn.labels = drawAxis(g, v);
  for (const curve of allCurves())
    if (!state.hiddenCurves.has(curve.key)) drawCurve(g, v, curve);
  for (const other of state.others)
    drawFailures(g, v, other, axisOf(other), cssColour("--other"));
  drawSpan(g, v);
  drawMarks(g, v);
  drawFailures(g, v, state.device, state.axis, cssColour("--alarm"));
  drawCursor(g, v);
}

function drawCursor(g, v) {
  const x = v.x(state.axis.at(state.cursor));
  if (x < GRAPH_LEFT) return;
  g.ctx.fillStyle = cssColour("--ink");
  g.ctx.fillRect(x - 0.5, GRAPH_TOP, 1, v.height);
}

const OVERVIEW_HEIGHT = 52;

// The whole run does not change while the visible part moves: it is drawn once
// and copied.
function drawWholeRun(width, ratio) {
  const whole = document.createElement("canvas");
  const d = state.device, { axis } = state, bottom = OVERVIEW_HEIGHT;
  whole.width = Math.round(width * ratio);
  whole.height = Math.round(bottom * ratio);
  const ctx = whole.getContext("2d");
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  let k = 0;
  for (let x = 0; x < width; x++) {
    const to = Math.max(k, axis.index((x + 1) * axis.end / width));
    const high = d.pyramid.allocated.range(k, to).most;
    const reserved = d.pyramid.reserved.range(k, to).most;
    ctx.fillStyle = cssColour("--line");
    ctx.fillRect(x, bottom - reserved / d.top * 48, 1, bottom);
    ctx.fillStyle = cssColour("--accent");
    ctx.fillRect(x, bottom - high / d.top * 48, 1, bottom);
    k = to;
  }
  ctx.fillStyle = cssColour("--alarm");
  for (const oom of d.ooms)
    ctx.fillRect(axis.at(oom.event + 1) / axis.end * width - 1, 0, 2, bottom);
  state.wholeRun = whole;
}

function drawOverview() {
  const g = fitCanvas($("overview"), OVERVIEW_HEIGHT), { end } = state.axis;
  drawIfOther("overview", [state.device, state.axis, g.width, g.ratio,
    document.documentElement.dataset.theme],
    () => drawWholeRun(g.width, g.ratio));
  g.ctx.drawImage(state.wholeRun, 0, 0, g.width, g.height);
  g.ctx.fillStyle = cssColour("--shade");
  g.ctx.fillRect(0, 0, state.from / end * g.width, g.height);
  g.ctx.fillRect(state.to / end * g.width, 0, g.width, g.height);
}

// ---- the legend ----

// An entry that toggles visibility when pressed.
function legendItem(mark, name, shown, onclick) {
  return element("button", { className: shown ? "" : "off", ariaPressed: shown,
    title: "Hide or show; with Shift, only this", onclick },
  element("i", mark), name);
}

function drawLegend() {
  $("legend").replaceChildren(
    ...allCurves().map(({ key, label, colour, style }) => legendItem(
      { className: `line ${style}`, style: `border-color: ${cssColour(colour)}` },
      label, !state.hiddenCurves.has(key), () => toggleCurve(key))),
    ...state.groups.names.map((name, group) => legendItem(
      { style: `background: ${groupColour(state.groups, group)}` }, name,
      !state.hidden.has(group), ({ shiftKey }) => toggleGroup(group, shiftKey))));
}

// ---- the views at the left ----

function momentWords() {
  if (state.device.events === 0) return "as they were recorded";
  return state.cursor === 0 ? "before the first event"
    : `after event ${countText(state.cursor - 1)}`;
}

function drawSegments() {
  const scale = drawMap(), count = state.rows.length;
  const c = state.device.curve, k = state.cursor;
  $("view-title").textContent =
    `Segments ${momentWords()}: ${bytesText(c.allocated[k])} allocated of ` +
    `${bytesText(c.reserved[k])} reserved in ${countText(count)}`;
  // The scale: a bar, and the size it stands for.
  $("map-key").replaceChildren(
    element("i", { className: "scale", style: "width: 64px" }),
    bytesText(scale * 64));
  drawKey([["key-free", "free"], ["key-pending", "freed, waits for a stream"]]);
  $("view-key").append(element("span", {},
    "in use: the colours of the legend; largest segment first"));
}

function drawKey(marks) {
  $("view-key").replaceChildren(...marks.map(([className, text]) =>
    element("span", {}, element("i", { className }), text)));
}

const KIND_MARKS = [["key-own", "the program"], ["key-library", "libraries"],
  ["key-torch", "PyTorch"], ["key-cpp", "C++, or unknown"]];

function treeTitle({ total, plus, count }) {
  const filter = state.found ? ", of what was found" : "";
  const sum = `${bytesText(total)} in ${countText(count)} allocations${filter}`;
  if (state.what === "alive") return `Alive ${momentWords()}: ${sum}`;
  const { from, to } = spanOrAll();
  const stretch = `events ${countText(from)} to ${countText(to)}`;
  if (state.what === "made") return `Made in ${stretch}: ${sum}`;
  const less = total - plus;
  return `Grew over ${stretch}: ${signedBytes(plus)}` +
    (less < 0 ? `, elsewhere ${bytesText(less)}` : "") + filter;
}

function makeShownTree() {
  const { from, to } = state.what === "alive" ? { from: 0, to: state.cursor }
    : spanOrAll();
  const weights = weighStacks(state.device, state.what, from, to,
    state.found && state.found.mask);
  const root = makeTree(state.device.run, weights, state.form);
  state.tree = { root, focus: nodeAt(root, state.focus) };
  $("view-title").textContent = treeTitle(root);
  drawKey(KIND_MARKS);
}

function openNode(node, open) {
  state.opened.set(pathText(node), open);
  state.opened = new Map(state.opened);
  redraw();
}

function drawView() {
  for (const name of VIEWS) $(`view-${name}`).hidden = state.view !== name;
  $("tree-controls").hidden = state.view === "map";
  $("map-controls").hidden = state.view !== "map";
  if (state.view === "map") {
    drawSegments();
    return;
  }
  makeShownTree();
  if (state.view === "flame") drawFlame();
  else showTree();
}

// ---- the tabs ----

function drawTabs() {
  const mark = (holder, chosen) => [...$(holder).children].forEach(
    (tab, i) => { tab.ariaSelected = i === chosen; });
  mark("tabs", TABS.indexOf(state.tab));
  mark("views", VIEWS.indexOf(state.view));
}

// ---- the figures on top ----

function figure(name, value, className = "") {
  return element("div", { className },
    element("span", {}, name), element("b", {}, value));
}

// What is told of each run.
function runFigures(d) {
  return [["peak allocated", bytesText(d.curve.allocated[d.peak])],
    ["peak reserved", bytesText(d.pyramid.reserved.range(0, d.events).most)],
    ["events", countText(d.events)],
    ["out of memory", d.ooms.length ? `${d.ooms.length} ×` : "not recorded"]];
}

function drawFigures() {
  const d = state.device, c = d.curve, { peak } = d;
  const [allocated, reserved, events, failures] = runFigures(d);
  const time = d.events > 0 ? d.event.time[d.events - 1] : 0;
  const rows = [
    allocated, reserved,
    ["unused at the peak",
      bytesText(Math.max(0, c.reserved[peak] - c.allocated[peak]))],
    events, ["allocations", countText(d.alloc.start.length)],
    time > 0 && ["time", timeText(time)],
    [...failures, d.ooms.length > 0 ? "alarm" : ""],
    d.note && ["note", d.note],
  ];
  $("figures").replaceChildren(
    ...rows.filter(Boolean).map((row) => figure(...row)),
    ...state.others.flatMap((other) => [element("div", { className: "run" }),
      ...[["the other run", other.run.name], ...runFigures(other)]
        .map((row) => figure(...row, "other"))]));
}

const VERDICT_LABELS = ["What happened", "Who holds it", "What to do"];

function drawVerdict() {
  const lines = VERDICT_LABELS.map((label, i) =>
    [label, state.device.verdict[i]]).filter(([, line]) => line);
  $("verdict").replaceChildren(element("dl", {}, ...terms(lines)));
  $("verdict").hidden = lines.length === 0;
}

// ---- all of it ----

// Parts that a change does not affect are not drawn again.
function drawIfOther(name, key, drawing) {
  const old = state.drawnFor[name];
  if (old && old.length === key.length && old.every((x, i) => x === key[i]))
    return;
  state.drawnFor[name] = key;
  drawing();
}

function draw() {
  state.pending = false;
  const begin = performance.now();
  const theme = document.documentElement.dataset.theme;
  drawIfOther("figures", [state.device], drawFigures);
  drawIfOther("verdict", [state.device], drawVerdict);
  drawIfOther("legend", [state.groups, theme, ...state.hidden, "curves",
    ...state.hiddenCurves], drawLegend);
  drawTimeline();
  drawOverview();
  const chosen = [state.device, state.cursor, state.selected, state.found,
    state.mask, state.groups, theme];
  drawIfOther("view", [...chosen, state.view, state.what, state.span,
    state.form, state.focus, state.opened, state.finer,
    ...state.hidden, $("view-map").clientWidth, $("view-flame").clientWidth,
    window.devicePixelRatio], drawView);
  drawIfOther("panel", [...chosen, state.tab, state.focus, state.span,
    state.view], drawPanel);
  drawTabs();
  // For tests and for debugging: the duration of a redraw.
  document.documentElement.dataset.drawMs =
    (performance.now() - begin).toFixed(1);
}
