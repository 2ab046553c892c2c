// state.js - what the page shows now, and the functions that change it.  After
// a change call redraw(); draw.js draws what is affected.

const VIEWS = ["flame", "tree", "map"];

const state = {
  data: null, device: null, others: [],
  // Along the run: the axis, the visible part, the moment, the marked part
  // (states) or null.
  axisKind: "event", axis: null, from: 0, to: 1, cursor: 0, span: null,
  // The selection: an allocation (-1: none), a path in the tree.
  selected: -1, focus: [],
  // The filter: search results or null; the highlighted allocations, or null
  // for all.
  searched: "", found: null, foundAt: -1, mask: null,
  by: "stack", groups: null,
  // The legend: hidden groups and curves, and their bytes.
  hidden: new Set(), hiddenCurves: new Set(), hiddenBytes: null,
  // The lower part: the view at the left, how its tree is built, the tab at the
  // right.
  view: "flame", what: "alive", form: null, opened: new Map(), finer: 0,
  tab: "Details",
  // What was drawn, to find what the pointer hits.
  drawn: null, boxes: [], rows: [], tree: null, treeRows: [],
  wholeRun: null, pending: false, drawnFor: {}, scrolled: {}, panelTab: "",
};

function redraw() {
  if (state.pending) return;
  state.pending = true;
  requestAnimationFrame(draw);
}

// ---- along the run ----

function setWindow(from, to) {
  const end = state.axis.end;
  const least = state.axisKind === "event" ? 8 : end / 1e7;
  const span = Math.min(end, Math.max(least, to - from));
  const middle = (from + to) / 2;
  state.from = clamp(middle - span / 2, 0, end - span);
  state.to = state.from + span;
  redraw();
}

function zoom(factor, at) {
  const around = at === undefined ? state.axis.at(state.cursor) : at;
  const inside = clamp(around, state.from, state.to);
  setWindow(inside - (inside - state.from) * factor,
    inside + (state.to - inside) * factor);
}

function pan(part) {
  const by = (state.to - state.from) * part;
  setWindow(state.from + by, state.to + by);
}

function moveCursor(k, follow) {
  state.cursor = clamp(k, 0, state.device.events);
  const at = state.axis.at(state.cursor);
  if (follow && (at < state.from || at > state.to)) {
    const span = state.to - state.from;
    setWindow(at - span / 2, at + span / 2);
  }
  redraw();
}

// By a fraction of the visible part, and by at least one event.
function stepCursor(part) {
  const at = state.axis.at(state.cursor) + part * (state.to - state.from);
  const k = state.axis.index(at);
  const least = state.cursor + Math.sign(part);
  moveCursor(part > 0 ? Math.max(k, least) : Math.min(k, least), true);
}

// ---- the marked stretch ----

// In states; the weights follow.
function markSpan(from, to) {
  state.span = from < to ? { from, to } : null;
  if (!state.span) setWhat("alive");
  else if (state.what === "alive") setWhat("grew");
  redraw();
}

function zoomToSpan() {
  if (!state.span) return;
  const from = state.axis.at(state.span.from);
  const to = state.axis.at(state.span.to);
  const edge = (to - from) * 0.04;
  setWindow(from - edge, to + edge);
}

// Without a mark: everything up to the moment.
function spanOrAll() {
  return state.span || { from: 0, to: state.cursor };
}

function setWhat(what) {
  state.what = what;
  $("what").value = what;
  redraw();
}

function showGrown(what) {
  if (state.view === "map") state.view = "flame";
  setWhat(what);
}

// ---- what is chosen ----

function select(i) {
  state.selected = i;
  state.tab = "Details";
  if (i >= 0) {
    const a = state.device.alloc;
    const alive = a.start[i] < state.cursor && a.end[i] >= state.cursor;
    if (!alive) moveCursor(a.start[i] + 1, true);
  }
  redraw();
}

function focusOn(keys) {
  state.focus = keys;
  state.selected = -1;
  state.tab = "Details";
  updateMask();
  redraw();
}

// Highlighted are search results that pass through the selected path.
function updateMask() {
  const through = maskOf(state.device, state.focus, state.form);
  const found = state.found && state.found.mask;
  state.mask = found || through;
  if (found && through)
    state.mask = found.map((hit, i) => hit & through[i]);
}

function setForm() {
  state.form = makeForm(state.device.run, { by: $("tree-by").value,
    cpp: $("with-cpp").checked, torch: $("with-torch").checked,
    inside: $("inside-out").checked });
  state.focus = [];
  state.opened.clear();
  updateMask();
  redraw();
}

// ---- the filter ----

function search(text) {
  state.searched = text;
  state.found = find(state.device, text);
  state.foundAt = -1;
  const count = state.found ? state.found.list.length : 0;
  $("found").textContent = !state.found ? ""
    : count === 0 ? "nothing found" : `${countText(count)} found`;
  if (state.found && state.tab !== "Alive" && state.tab !== "Events")
    state.tab = "Found";
  updateMask();
  redraw();
}

function searchFor(text) {
  $("search").value = text;
  state.focus = [];
  search(text);
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
  state.tab = "Out of memory";
  moveCursor(next.event + 1, true);
}

function forget() {
  $("search").value = "";
  $("search").blur();
  state.selected = -1;
  state.focus = [];
  markSpan(0, 0);
  search("");
}

// ---- the legend ----

function isShown(i) {
  return !state.hidden.has(state.groups.of[i]);
}

// Toggle one group; `alone` shows only this one, or all again.
function toggleGroup(group, alone) {
  const count = state.groups.names.length;
  const { hidden } = state;
  if (alone) {
    const was = !hidden.has(group) && hidden.size === count - 1;
    hidden.clear();
    for (let other = 0; other < count && !was; other++)
      if (other !== group) hidden.add(other);
  } else if (!hidden.delete(group)) {
    hidden.add(group);
  }
  const { events, alloc } = state.device;
  state.hiddenBytes = hidden.size === 0 ? null
    : liveSum(events, alloc, alloc.rounded, (i) => !isShown(i));
  redraw();
}

function toggleCurve(name) {
  if (!state.hiddenCurves.delete(name)) state.hiddenCurves.add(name);
  redraw();
}

function setGroups(by) {
  state.by = by;
  state.groups = makeGroups(state.device, by);
  state.hidden.clear();
  state.hiddenBytes = null;
  redraw();
}

// ---- device and axis ----

function chooseAxis(kind) {
  state.axisKind = kind;
  state.axis = axisOf(state.device);
  for (const other of state.others)
    state.axis.end = Math.max(state.axis.end, axisOf(other).end);
  state.from = 0;
  state.to = state.axis.end;
  redraw();
}

function chooseDevice(number) {
  const [run, ...others] = state.data.runs, device = run.devices[number];
  Object.assign(state, { device, selected: -1, found: null, focus: [],
    span: null, cursor: device.peak, tab: "Details" });
  state.others = others.map(({ devices }) =>
    devices[Math.min(number, devices.length - 1)]);
  if (device.ooms.length > 0) {
    // The one that the verdict is about.
    state.cursor = device.ooms.at(-1).event + 1;
    state.tab = "Out of memory";
  } else if (device.findings.length > 0) {
    state.tab = "Findings";
  }
  setWhat("alive");
  setGroups(state.by);
  setForm();
  chooseAxis(state.axisKind);
}
