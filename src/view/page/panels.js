// panels.js - the texts at the side: details, live allocations, search results,
// events, out-of-memory events, findings.

function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function button(text, onPress) {
  const made = element("button", text);
  made.type = "button";
  made.addEventListener("click", onPress);
  return made;
}

function addRow(table, name, value, className) {
  const row = element("tr");
  row.append(element("th", name), element("td", value, className));
  table.append(row);
}

function momentText(device, event) {
  if (event < 0) return "before the recording began";
  if (event >= device.events) return "never, as far as was recorded";
  const time = device.event.time[event];
  return `event ${event.toLocaleString("en")}` +
    (time > 0 ? `, at ${timeText(time)}` : "");
}

function lifetimeText(device, i) {
  const a = device.alloc, time = device.event.time;
  const begin = a.start[i], end = Math.min(a.end[i], device.events);
  const events = end - Math.max(begin, 0);
  const known = begin >= 0 && a.end[i] < device.events &&
    time[device.events - 1] > 0;
  return `${events.toLocaleString("en")} events` +
    (known ? `, ${timeText(time[a.end[i]] - time[begin])}` : "");
}

function stackList(run, stack) {
  const list = element("ol", undefined, "stack");
  const own = ownFrame(run, stack);
  for (const id of stackFrames(run, stack))
    list.append(element("li", frameText(run, id), id === own ? "own" : ""));
  return list;
}

// A frame of the flame graph or the tree; `act` has only(text), leave(),
// select(allocation).
function showFrame(panel, device, tree, list, groups, act) {
  const { focus, root } = tree, run = device.run;
  const table = element("table");
  addRow(table, "Here", nodeLabel(run, focus, tree.by));
  if (focus.frame >= 0 && frameFile(run, focus.frame))
    addRow(table, "In", `${frameFile(run, focus.frame)}, ` +
      frameLabel(run, focus.frame, "module"));
  addRow(table, "Total", `${bytesExact(focus.total)}, ` +
    `${shareText(focus.total, root.total)} of all`);
  addRow(table, "Its own", bytesExact(focus.self));
  addRow(table, "Allocations", focus.count.toLocaleString("en"));
  const bar = element("p", undefined, "buttons");
  if (focus.frame >= 0)
    bar.append(button("Only this, everywhere", () => act.only(
      tree.by === "line" ? frameText(run, focus.frame)
        : frameName(run, focus.frame))));
  bar.append(button("Back to all", act.leave));
  panel.append(table, bar);
  panel.append(element("h2", "The largest alive through it"),
    allocationTable(device, list, groups, act.select, 50));
}

function showAllocation(panel, device, i) {
  const a = device.alloc, run = device.run;
  const table = element("table");
  addRow(table, "Requested size", bytesExact(a.size[i]));
  addRow(table, "Allocated size", bytesExact(a.rounded[i]));
  addRow(table, "Address", addressText(a.address[i]));
  addRow(table, "Stream", String(device.streams[a.stream[i]]));
  addRow(table, "Category", device.categories[a.category[i]]);
  const note = noteText(device, i);
  if (note) addRow(table, "Annotation", note);
  addRow(table, "Made", momentText(device, a.start[i]));
  addRow(table, "Freed", momentText(device, a.end[i]));
  if (a.done[i] > a.end[i] + 1)
    addRow(table, "Reusable", momentText(device, a.done[i]));
  addRow(table, "Lived", lifetimeText(device, i));
  panel.append(table);
  if (a.stack[i] === NO_STACK || isNote(run, a.stack[i]))
    panel.append(element("p", "No call path was recorded for it."));
  else
    panel.append(element("h2", "Call path, innermost first"),
      stackList(run, a.stack[i]));
}

function allocationTable(device, list, groups, onChoose, most) {
  const a = device.alloc, table = element("table");
  for (const i of list.slice(0, most)) {
    const row = element("tr", undefined, "choice");
    const size = element("td", bytesText(a.size[i]), "number");
    const what = element("td");
    const swatch = element("span", undefined, "swatch");
    swatch.style.background = groupColour(groups, groups.of[i]);
    const own = ownFrame(device.run, a.stack[i]);
    what.append(swatch, own >= 0 ? frameLabel(device.run, own, "line")
      : `${addressText(a.address[i])}, ${device.categories[a.category[i]]}`);
    row.append(size, what);
    row.tabIndex = 0;
    row.addEventListener("click", () => onChoose(i));
    row.addEventListener("keydown", (event) => {
      if (event.key === "Enter") onChoose(i);
    });
    table.append(row);
  }
  return table;
}

function eventText(device, n) {
  const action = device.event.action[n];
  const name = ACTIONS[action];
  const bytes = device.event.bytes[n];
  const address = device.event.address[n];
  const size = bytes > 0 ? `  ${bytesText(bytes)}` : "";
  return `${n}  ${name}${size}` + (address ? `  ${addressText(address)}` : "");
}

const EVENT_ROW = 24;
// Browsers support only some ten million pixels: list the events around the
// moment.
const EVENTS_MAX = 200000;

// The events to list: all, or those of the search results.
function eventList(device, mask) {
  if (!mask) return { length: device.events, at: (i) => i,
    of: (n) => n };
  const owners = eventOwners(device), list = [];
  for (let n = 0; n < owners.length; n++)
    if (owners[n] >= 0 && mask[owners[n]]) list.push(n);
  return { length: list.length, at: (i) => list[i],
    of: (n) => {
      const after = list.findIndex((event) => event >= n);
      return after < 0 ? list.length : after;
    } };
}

// A list of any length, of which only the visible rows exist.
function showEvents(panel, device, current, list, onChoose) {
  const rows = element("div", undefined, "rows");
  const here = list.of(Math.max(current - 1, 0));
  const first = Math.max(0, Math.min(here - EVENTS_MAX / 2,
    list.length - EVENTS_MAX));
  const last = Math.min(list.length, first + EVENTS_MAX);
  rows.style.height = `${(last - first) * EVENT_ROW}px`;
  panel.append(rows);
  const fill = () => {
    const begin = first + Math.floor(panel.scrollTop / EVENT_ROW);
    rows.replaceChildren();
    for (let i = begin; i < Math.min(last, begin + 30); i++) {
      const n = list.at(i);
      const row = element("div", eventText(device, n), "row");
      row.style.top = `${(i - first) * EVENT_ROW}px`;
      if (n === current - 1) row.classList.add("current");
      if (ACTIONS[device.event.action[n]] === "oom")
        row.classList.add("alarm");
      row.addEventListener("click", () => onChoose(n));
      rows.append(row);
    }
  };
  panel.onscroll = fill;
  const place = (here - first) * EVENT_ROW;
  if (place < panel.scrollTop ||
      place > panel.scrollTop + panel.clientHeight - EVENT_ROW)
    panel.scrollTop = Math.max(0, place - 8 * EVENT_ROW);
  fill();
}

// Returns the place of the failure at the moment that is shown; 0: none is.
function showFailures(panel, device, here, onChoose) {
  let place = 0;
  if (device.ooms.length === 0) {
    panel.append(element("p", "No failure of this device was recorded."));
    return 0;
  }
  for (const oom of device.ooms) {
    const title = element("button", `Out of memory: ${bytesText(oom.bytes)}, ` +
      momentText(device, oom.event), "alarm");
    title.addEventListener("click", () => onChoose(oom.event));
    panel.append(title, element("pre", oom.text));
    if (oom.event + 1 === here)
      place = title.offsetTop - panel.firstChild.offsetTop;
  }
  return place;
}

function showFindings(panel, device) {
  if (device.findings.length === 0)
    panel.append(element("p", "Nothing stands out."));
  for (const finding of device.findings) {
    panel.append(element("h2", finding.title), element("pre", finding.text));
  }
}
