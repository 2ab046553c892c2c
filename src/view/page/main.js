// main.js - the state of the page, and what keys, mouse and boxes do to it.

const TABS = ["Details", "Alive", "Found", "Events", "Out of memory",
  "Findings"];
const KEYS = [["← →", "move along the run"], ["+ −", "closer, further"],
  ["wheel", "closer, further, at the pointer"], ["drag", "move along the run"],
  ["drag the line", "go through the moments; so does Shift and drag"],
  [", .", "one event back, on"],
  ["< >", "a hundredth of the picture back, on"], ["Home End", "first, last moment"],
  ["p", "the moment with most memory allocated"],
  ["o", "the next out-of-memory"], ["0", "the whole run"],
  ["n", "the next allocation found"], ["/", "search"], ["Esc", "forget"],
  ["1 … 6", "the tabs at the side"], ["?", "this list"]];
const $ = (id) => document.getElementById(id);

const state = {
  data: null, device: null, others: [], axisKind: "event", axis: null,
  from: 0, to: 1, cursor: 0, selected: -1, found: null, foundAt: -1,
  by: "stack", groups: null, tab: 0, drawn: null, rows: [], pending: false,
  drawnFor: {},
};

// ---- drawing ----

function view(g) {
  const { from, to } = state;
  const top = Math.max(state.device.top, ...state.others.map((d) => d.top));
  const inside = g.height - GRAPH_TOP - GRAPH_BOTTOM;
  return { from, to, top: top * 1.04,
    x: (at) => GRAPH_LEFT + (at - from) * (g.width - GRAPH_LEFT) / (to - from),
    y: (bytes) => GRAPH_TOP + inside * (1 - bytes / (top * 1.04)) };
}

function drawTimeline() {
  const g = fitCanvas($("timeline"), 330);
  const v = view(g), d = state.device;
  g.ctx.clearRect(0, 0, g.width, g.height);
  const w = Math.max(1, Math.round((g.width - GRAPH_LEFT) * g.ratio));
  const h = Math.round((g.height - GRAPH_TOP - GRAPH_BOTTOM) * g.ratio);
  const image = g.ctx.createImageData(w, h);
  state.drawn = drawStack(image, d, state.axis, v, state.groups,
    state.found && state.found.mask, state.selected);
  state.drawn.view = v;
  state.drawn.width = g.width - GRAPH_LEFT;
  state.drawn.height = g.height - GRAPH_TOP - GRAPH_BOTTOM;
  g.ctx.putImageData(image, Math.round(GRAPH_LEFT * g.ratio),
    Math.round(GRAPH_TOP * g.ratio));
  drawGrid(g, v);
  drawAxis(g, v, state.axisKind);
  drawCurve(g, d, state.axis, v, "reserved", cssColour("--reserved"));
  drawCurve(g, d, state.axis, v, "requested", cssColour("--requested"),
    [2, 3]);
  drawCurve(g, d, state.axis, v, "allocated", cssColour("--ink"));
  for (const other of state.others) {
    const axis = axisOf(other, state.axisKind);
    drawCurve(g, other, axis, v, "allocated", cssColour("--other"), [6, 3]);
    drawCurve(g, other, axis, v, "reserved", cssColour("--other"), [1, 3]);
    drawFailures(g, other, axis, v, cssColour("--other"));
  }
  drawMoments(g, d, state.axis, v);
  drawCursor(g, v);
}

function drawCursor(g, v) {
  const x = v.x(state.axis.at(state.cursor));
  if (x < GRAPH_LEFT) return;
  g.ctx.fillStyle = cssColour("--ink");
  g.ctx.fillRect(x - 0.5, GRAPH_TOP, 1, g.height - GRAPH_TOP - GRAPH_BOTTOM);
}

function drawOverview() {
  const g = fitCanvas($("overview"), 52);
  const d = state.device, width = g.width;
  const end = state.axis.end;
  g.ctx.clearRect(0, 0, g.width, g.height);
  let k = 0;
  for (let x = 0; x < width; x++) {
    const to = Math.max(k, state.axis.index((x + 1) * end / width));
    const high = d.pyramid.allocated.range(k, to)[1];
    const reserved = d.pyramid.reserved.range(k, to)[1];
    g.ctx.fillStyle = cssColour("--line");
    g.ctx.fillRect(x, 52 - reserved / d.top * 48, 1, 52);
    g.ctx.fillStyle = cssColour("--accent");
    g.ctx.fillRect(x, 52 - high / d.top * 48, 1, 52);
    k = to;
  }
  g.ctx.fillStyle = cssColour("--alarm");
  for (const oom of d.ooms)
    g.ctx.fillRect(state.axis.at(oom.event + 1) / end * width - 1, 0, 2, 52);
  g.ctx.fillStyle = cssColour("--shade");
  g.ctx.fillRect(0, 0, state.from / end * width, 52);
  g.ctx.fillRect(state.to / end * width, 0, width, 52);
}

function drawSegments() {
  state.rows = drawMap($("map"), state.device, state.cursor,
    state.groups, state.found && state.found.mask, state.selected);
  const c = state.device.curve, k = state.cursor;
  const when = state.device.events === 0 ? "as they were recorded"
    : k === 0 ? "before the first event" : `after event ${k - 1}`;
  $("map-title").textContent =
    `Segments ${when}: ${bytesText(c.allocated[k])} allocated of ` +
    `${bytesText(c.reserved[k])} reserved in ${state.rows.length}`;
}

function drawLegend() {
  const legend = $("legend");
  legend.replaceChildren();
  const line = (name, colour, style) => {
    const item = element("span");
    const mark = element("i", undefined, `line ${style || ""}`);
    mark.style.borderColor = cssColour(colour);
    item.append(mark, name);
    legend.append(item);
  };
  line("reserved", "--reserved");
  line("allocated", "--ink");
  line("requested", "--requested", "dotted");
  for (const other of state.others) {
    line(`${other.run.name}: allocated`, "--other", "dashed");
    line("reserved", "--other", "dotted");
  }
  state.groups.names.forEach((name, group) => {
    const item = element("span");
    const mark = element("i");
    mark.style.background = groupColour(state.groups, group);
    item.append(mark, name);
    legend.append(item);
  });
}

function drawPanel() {
  const panel = $("panel"), d = state.device;
  panel.onscroll = null;
  panel.replaceChildren();
  if (state.tab === 0) {
    if (state.selected >= 0) showAllocation(panel, d, state.selected);
    else panel.append(element("p", "Click on an allocation in the picture, " +
      "or on a block below it. ? lists the keys."));
  } else if (state.tab === 1) {
    const list = aliveAt(d, state.cursor);
    panel.append(element("p", `${list.length.toLocaleString("en")} alive at ` +
      `this moment; the largest:`));
    panel.append(allocationTable(d, list, state.groups, select, 200));
  } else if (state.tab === 2) {
    if (!state.found) panel.append(element("p", "Search for something first."));
    else panel.append(allocationTable(d, state.found.list, state.groups,
      select, 200));
  } else if (state.tab === 3) {
    showEvents(panel, d, state.cursor, (n) => moveCursor(n + 1, true));
  } else if (state.tab === 4) {
    showFailures(panel, d, (n) => moveCursor(n + 1, true));
  } else {
    showFindings(panel, d);
  }
}

function drawFigures() {
  const d = state.device, figures = $("figures");
  figures.replaceChildren();
  const put = (name, value, alarm) => {
    const item = element("div", undefined, alarm ? "alarm" : "");
    item.append(element("span", name), element("b", value));
    figures.append(item);
  };
  const c = d.curve, peak = d.peak;
  put("peak allocated", bytesText(c.allocated[peak]));
  put("peak reserved", bytesText(d.pyramid.reserved.range(0, d.events)[1]));
  put("unused at the peak",
    bytesText(Math.max(0, c.reserved[peak] - c.allocated[peak])));
  put("events", d.events.toLocaleString("en"));
  put("allocations", d.alloc.start.length.toLocaleString("en"));
  const time = d.events > 0 ? d.event.time[d.events - 1] : 0;
  if (time > 0) put("time", timeText(time));
  put("out of memory", d.ooms.length ? `${d.ooms.length} ×` : "never",
    d.ooms.length > 0);
  if (d.note) put("note", d.note);
  state.others.forEach(putOther);
}

function putOther(other) {
  const figures = $("figures");
  figures.append(element("div", undefined, "run"));
  const put = (name, value) => {
    const item = element("div", undefined, "other");
    item.append(element("span", name), element("b", value));
    figures.append(item);
  };
  put("the other run", other.run.name);
  put("peak allocated", bytesText(other.curve.allocated[other.peak]));
  put("peak reserved",
    bytesText(other.pyramid.reserved.range(0, other.events)[1]));
  put("events", other.events.toLocaleString("en"));
  put("out of memory", other.ooms.length ? `${other.ooms.length} ×` : "never");
}

// Made once: a tab that was pressed keeps the keyboard.
function makeTabs() {
  TABS.forEach((name, i) => {
    const button = element("button", name);
    button.type = "button";
    button.setAttribute("role", "tab");
    button.setAttribute("aria-controls", "panel");
    button.addEventListener("click", () => { state.tab = i; redraw(); });
    $("tabs").append(button);
  });
}

function drawTabs() {
  [...$("tabs").children].forEach((button, i) =>
    button.setAttribute("aria-selected", String(i === state.tab)));
}

// What neither moving along nor coming closer changes is not drawn again.
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
  drawTimeline();
  drawOverview();
  const shown = [state.device, state.cursor, state.selected, state.found,
    state.groups, document.documentElement.dataset.theme];
  drawIfOther("map", [...shown, $("map-scroll").clientWidth,
    window.devicePixelRatio], drawSegments);
  drawIfOther("panel", [...shown, state.tab], drawPanel);
  drawTabs();
  // For tests and the curious: how long a step took.
  document.documentElement.dataset.drawMs =
    (performance.now() - begin).toFixed(1);
}

function redraw() {
  if (state.pending) return;
  state.pending = true;
  requestAnimationFrame(draw);
}

// ---- moving ----

function setWindow(from, to) {
  const end = state.axis.end;
  const least = state.axisKind === "event" ? 8 : end / 1e7;
  const span = Math.min(end, Math.max(least, to - from));
  const middle = (from + to) / 2;
  state.from = Math.max(0, Math.min(end - span, middle - span / 2));
  state.to = state.from + span;
  redraw();
}

function zoom(factor, at) {
  const around = at === undefined ? state.axis.at(state.cursor) : at;
  const inside = Math.min(state.to, Math.max(state.from, around));
  setWindow(inside - (inside - state.from) * factor,
    inside + (state.to - inside) * factor);
}

function pan(part) {
  const span = state.to - state.from;
  const by = Math.max(-state.from,
    Math.min(state.axis.end - state.to, span * part));
  setWindow(state.from + by, state.to + by);
}

function moveCursor(k, follow) {
  state.cursor = Math.max(0, Math.min(state.device.events, k));
  const at = state.axis.at(state.cursor);
  if (follow && (at < state.from || at > state.to)) {
    const span = state.to - state.from;
    setWindow(at - span / 2, at + span / 2);
  }
  redraw();
}

// By a part of what is in sight, and by one event at least.
function stepCursor(part) {
  const at = state.axis.at(state.cursor) + part * (state.to - state.from);
  const k = state.axis.index(at);
  const least = state.cursor + Math.sign(part);
  moveCursor(part > 0 ? Math.max(k, least) : Math.min(k, least), true);
}

function select(i) {
  state.selected = i;
  state.tab = 0;
  if (i >= 0) {
    const a = state.device.alloc;
    const alive = a.start[i] < state.cursor && a.end[i] >= state.cursor;
    if (!alive) moveCursor(a.start[i] + 1, true);
  }
  redraw();
}

function search(text) {
  state.found = find(state.device, text);
  state.foundAt = -1;
  if (state.found) {
    const n = state.found.list.length;
    $("found").textContent = n === 0 ? "nothing found"
      : `${n.toLocaleString("en")} found`;
    state.tab = 2;
  } else {
    $("found").textContent = "";
  }
  redraw();
}

function nextFound() {
  if (!state.found || state.found.list.length === 0) return;
  state.foundAt = (state.foundAt + 1) % state.found.list.length;
  select(state.found.list[state.foundAt]);
}

function nextFailure() {
  const ooms = state.device.ooms;
  if (ooms.length === 0) return;
  const next = ooms.find((oom) => oom.event + 1 > state.cursor) || ooms[0];
  state.tab = 4;
  moveCursor(next.event + 1, true);
}

// ---- keys ----

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === "Escape") {
    $("search").value = "";
    $("search").blur();
    state.selected = -1;
    search("");
    return;
  }
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
    if (event.key === "Enter") nextFound();
    return;
  }
  const actions = {
    ArrowLeft: () => pan(-0.1), ArrowRight: () => pan(0.1),
    "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1 / 0.7),
    "<": () => stepCursor(-0.01), ">": () => stepCursor(0.01),
    ",": () => moveCursor(state.cursor - 1, true),
    ".": () => moveCursor(state.cursor + 1, true),
    Home: () => moveCursor(0, true),
    End: () => moveCursor(state.device.events, true),
    p: () => moveCursor(state.device.peak, true), o: nextFailure,
    0: () => setWindow(0, state.axis.end), n: nextFound,
    "/": () => $("search").focus(), "?": () => $("help").showModal(),
  };
  const tab = Number(event.key);
  if (tab >= 1 && tab <= TABS.length) {
    state.tab = tab - 1;
    redraw();
  } else if (Object.hasOwn(actions, event.key)) {
    event.preventDefault();
    actions[event.key]();
  }
}

// ---- beginning ----

function chooseDevice(number) {
  const run = state.data.runs[0];
  state.device = run.devices[number];
  state.others = state.data.runs.slice(1)
    .map((other) => other.devices[Math.min(number, other.devices.length - 1)]);
  state.selected = -1;
  state.found = null;
  state.cursor = state.device.peak;
  state.tab = 0;
  if (state.device.ooms.length > 0) {
    state.cursor = state.device.ooms[0].event + 1;
    state.tab = TABS.indexOf("Out of memory");
  } else if (state.device.findings.length > 0) {
    state.tab = TABS.indexOf("Findings");
  }
  state.groups = makeGroups(state.device, state.by);
  chooseAxis(state.axisKind);
  drawFigures();
  drawLegend();
}

function chooseAxis(kind) {
  state.axisKind = kind;
  state.axis = axisOf(state.device, kind);
  for (const other of state.others)
    state.axis.end = Math.max(state.axis.end, axisOf(other, kind).end);
  state.from = 0;
  state.to = state.axis.end;
  redraw();
}

function fillDevices() {
  const select = $("device");
  state.data.runs[0].devices.forEach((device, i) => {
    const option = element("option", String(device.device) +
      (device.ooms.length > 0 ? ", out of memory" : ""));
    option.value = String(i);
    select.append(option);
  });
  $("device-label").hidden = state.data.runs[0].devices.length < 2;
  select.addEventListener("change", () => chooseDevice(Number(select.value)));
}

function chooseTheme(theme) {
  document.documentElement.dataset.theme = theme;
  if (state.device) {
    drawLegend();
    redraw();
  }
}

function watchBoxes() {
  $("axis").addEventListener("change", () => chooseAxis($("axis").value));
  $("colour").addEventListener("change", () => {
    state.by = $("colour").value;
    state.groups = makeGroups(state.device, state.by);
    drawLegend();
    redraw();
  });
  let timer = 0;
  $("search").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => search($("search").value), 150);
  });
  $("theme").addEventListener("click", () => chooseTheme(
    document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  $("help-button").addEventListener("click", () => $("help").showModal());
  document.addEventListener("keydown", onKey);
  window.addEventListener("resize", redraw);
}

function start() {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  chooseTheme(dark.matches ? "dark" : "light");
  state.data = loadData();
  $("title").textContent = state.data.title;
  for (const [key, text] of KEYS)
    $("keys").append(element("dt", key), element("dd", text));
  const plain = state.data.runs[0].devices.every((device) =>
    device.alloc.stack.every((stack) => stack === NONE));
  if (plain) state.by = $("colour").value = "size";
  fillDevices();
  makeTabs();
  watchTimeline();
  watchOverview();
  watchMap();
  watchBoxes();
  const failed = state.data.runs[0].devices.findIndex((device) =>
    device.ooms.length > 0);
  $("device").value = String(Math.max(failed, 0));
  chooseDevice(Math.max(failed, 0));
  document.documentElement.dataset.ready = "yes";
}

start();
