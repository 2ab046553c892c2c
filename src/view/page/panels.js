// panels.js - the texts at the side: details, live allocations, search results,
// events, out-of-memory events, findings.

function momentText(event) {
  const { device } = state;
  if (event < 0) return "before the recording began";
  if (event >= device.events) return "never, as far as was recorded";
  const time = device.event.time[event];
  return `event ${countText(event)}` +
    (time > 0 ? `, at ${timeText(time)}` : "");
}

function lifetimeText(i) {
  const { alloc: a, events, event: { time } } = state.device;
  const begin = a.start[i], end = Math.min(a.end[i], events);
  const known = begin >= 0 && a.end[i] < events && time[events - 1] > 0;
  return `${countText(end - Math.max(begin, 0))} events` +
    (known ? `, ${timeText(time[a.end[i]] - time[begin])}` : "");
}

// ---- details ----

function showDetails(panel) {
  if (state.selected >= 0)
    showAllocation(panel, state.selected);
  else if (state.tree && state.focus.length > 0)
    showFrame(panel);
  else
    panel.append(element("p", {}, "Click on an allocation in the picture, on " +
      "a frame or on a block below it.  ? lists the keys."));
}

// A frame of the flame graph or the tree.
function showFrame(panel) {
  const { focus, root } = state.tree, { frame } = focus, { run } = state.device;
  const file = frame >= 0 && frameFile(run, frame);
  const leave = ["Back to all", () => focusOn([])];
  const only = ["Only this, everywhere", () => searchFor(
    state.form.by === "line" ? frameText(run, frame) : frameName(run, frame))];
  panel.append(facts([
    ["Here", nodeLabel(focus)],
    file && ["In", `${file}, ${frameLabel(run, frame, "module")}`],
    ["Total", `${bytesExact(focus.total)}, ` +
      `${shareText(focus.total, root.total)} of all`],
    ["Its own", bytesExact(focus.self)],
    ["Allocations", countText(focus.count)],
  ]), buttonBar(frame >= 0 ? [only, leave] : [leave]),
  element("h2", {}, "The largest alive through it"),
  allocationTable(aliveChosen(), 50));
}

function showAllocation(panel, i) {
  const { device } = state, { alloc: a, run } = device;
  const stack = a.stack[i], note = noteText(device, i);
  panel.append(facts([
    ["Requested size", bytesExact(a.size[i])],
    ["Allocated size", bytesExact(a.rounded[i])],
    ["Address", addressText(a.address[i])],
    ["Stream", device.streams[a.stream[i]]],
    ["Category", device.categories[a.category[i]]],
    note && ["Annotation", note],
    ["Made", momentText(a.start[i])],
    ["Freed", momentText(a.end[i])],
    a.done[i] > a.end[i] + 1 && ["Reusable", momentText(a.done[i])],
    ["Lived", lifetimeText(i)],
  ]));
  if (stack === NO_STACK || isNote(run, stack))
    panel.append(element("p", {}, "No call path was recorded for it."));
  else
    panel.append(element("h2", {}, "Call path, innermost first"),
      stackList(run, stack));
}

function stackList(run, stack) {
  const own = ownFrame(run, stack);
  return element("ol", { className: "stack" },
    ...Array.from(stackFrames(run, stack), (id) =>
      element("li", { className: id === own ? "own" : "" },
        frameText(run, id))));
}

// ---- allocations ----

// Those alive at the moment, of those that are highlighted; largest first.
function aliveChosen() {
  const { device, mask, cursor } = state, { size } = device.alloc;
  return aliveAt(device, cursor).filter((i) => !mask || mask[i])
    .sort((x, y) => size[y] - size[x]);
}

function allocationTable(list, most) {
  return element("table", {}, ...list.slice(0, most).map(allocationRow));
}

function allocationRow(i) {
  const { device } = state, { alloc: a, run } = device;
  const own = ownFrame(run, a.stack[i]);
  return element("tr", { className: "choice", tabIndex: 0,
    onclick: () => select(i),
    onkeydown: ({ key }) => { if (key === "Enter") select(i); } },
  element("td", { className: "number" }, bytesText(a.size[i])),
  element("td", {}, element("span", { className: "swatch",
    style: `background: ${allocationColour(i)}` }),
  own >= 0 ? frameLabel(run, own, "line")
    : `${addressText(a.address[i])}, ${device.categories[a.category[i]]}`));
}

function showAlive(panel) {
  const list = aliveChosen();
  panel.append(element("p", {}, `${countText(list.length)} alive at ` +
    `this moment${state.mask ? " of those chosen" : ""}; the largest:`),
  allocationTable(list, 200));
}

function showFound(panel) {
  panel.append(state.found ? allocationTable(state.found.list, 200)
    : element("p", {}, "Search for something first."));
}

// ---- events ----

// Browsers support only some ten million pixels: list the events around the
// moment.
const EVENTS_MAX = 200000;

// The events of the highlighted allocations.
function eventsOf(mask) {
  const { owner } = state.device.event, list = [];
  for (let n = 0; n < owner.length; n++)
    if (owner[n] >= 0 && mask[owner[n]]) list.push(n);
  return list;
}

function eventRow(n) {
  const { event } = state.device, action = ACTIONS[event.action[n]];
  const bytes = event.bytes[n], address = event.address[n];
  return element("div", {
    className: "row" + (n === state.cursor - 1 ? " current" : "") +
      (action === "oom" ? " alarm" : ""),
    onclick: () => moveCursor(n + 1, true),
  }, `${n}  ${action}` + (bytes > 0 ? `  ${bytesText(bytes)}` : "") +
    (address ? `  ${addressText(address)}` : ""));
}

function showEvents(panel) {
  const list = state.mask && eventsOf(state.mask);
  const length = list ? list.length : state.device.events;
  const eventAt = (i) => (list ? list[i] : i);
  const here = firstWhere(0, length, (i) => eventAt(i) >= state.cursor - 1);
  const first = Math.max(0, Math.min(here - EVENTS_MAX / 2, length - EVENTS_MAX));
  panel.append(virtualRows(panel, Math.min(length - first, EVENTS_MAX),
    (i) => eventRow(eventAt(first + i))));
  const place = (here - first) * LIST_ROW;
  if (place < panel.scrollTop ||
      place > panel.scrollTop + panel.clientHeight - LIST_ROW)
    panel.scrollTop = Math.max(0, place - 8 * LIST_ROW);
  panel.onscroll();
}

// ---- what the report says ----

function showFailures(panel) {
  const { ooms } = state.device;
  if (ooms.length === 0)
    panel.append(element("p", {}, "No failure of this device was recorded."));
  for (const oom of ooms) {
    const title = element("button", { className: "alarm",
      onclick: () => moveCursor(oom.event + 1, true) },
    `Out of memory: ${bytesText(oom.bytes)}, ${momentText(oom.event)}`);
    panel.append(title, element("pre", {}, oom.text));
    if (oom.event + 1 === state.cursor)
      scrollOnce(title.offsetTop - panel.firstChild.offsetTop);
  }
}

// To the failure of a moment; once, so that the panel can be scrolled then.
function scrollOnce(place) {
  if (place === 0 || state.placed === state.cursor) return;
  state.placed = state.cursor;
  state.scrolled[state.tab] = place;
}

function showFindings(panel) {
  const { findings } = state.device;
  if (findings.length === 0)
    panel.append(element("p", {}, "Nothing stands out."));
  for (const { title, text } of findings)
    panel.append(element("h2", {}, title), element("pre", {}, text));
}

// ---- the tabs ----

// In the order of the keys 1 …
const PANELS = {
  "Details": showDetails, "Span": showSpan, "Alive": showAlive,
  "Found": showFound, "Events": showEvents, "Out of memory": showFailures,
  "Findings": showFindings,
};
const TABS = Object.keys(PANELS);

// Each tab keeps its scroll position.
function drawPanel() {
  const panel = $("panel"), { tab, scrolled, panelTab } = state;
  if (panelTab) scrolled[panelTab] = panel.scrollTop;
  state.panelTab = tab;
  panel.onscroll = null;
  panel.replaceChildren();
  PANELS[tab](panel);
  if (tab !== "Events") panel.scrollTop = scrolled[tab] || 0;
}
