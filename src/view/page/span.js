// span.js - a part of the run marked by dragging, and what happened in it.

// For the states from … to.
function spanFigures(device, from, to) {
  const a = device.alloc, c = device.curve;
  const made = { count: 0, bytes: 0 }, freed = { count: 0, bytes: 0 };
  const left = { count: 0, bytes: 0 };
  const add = (sum, i) => { sum.count++; sum.bytes += a.rounded[i]; };
  for (let i = 0; i < a.start.length; i++) {
    const inside = a.start[i] >= from && a.start[i] < to;
    if (inside) add(made, i);
    if (a.end[i] >= from && a.end[i] < to) add(freed, i);
    if (inside && a.end[i] >= to) add(left, i);
  }
  const allocated = device.pyramid.allocated.range(from, to);
  return { made, freed, left, peak: allocated.highest,
    least: allocated.least, most: allocated.most,
    grown: c.allocated[to] - c.allocated[from],
    reserved: c.reserved[to] - c.reserved[from] };
}

function signedBytes(bytes) {
  return (bytes > 0 ? "+" : "") + bytesText(bytes);
}

function spanTime(device, from, to) {
  const time = device.event.time;
  if (to === 0 || time[device.events - 1] <= 0) return "";
  return `, ${timeText(time[to - 1] - (from > 0 ? time[from - 1] : 0))}`;
}

function sumText(sum) {
  return `${bytesText(sum.bytes)} in ${countText(sum.count)}`;
}

function showSpan(panel) {
  const { device, span } = state, { allocated } = device.curve;
  if (!span) {
    panel.append(element("p", {}, "Drag across the picture to mark a stretch " +
      "of the run.  Shift and drag moves the picture."));
    return;
  }
  const { from, to } = span;
  const f = spanFigures(device, from, to);
  panel.append(facts([
    ["Marked", `events ${countText(from)} to ${countText(to)}: ` +
      countText(to - from) + spanTime(device, from, to)],
    ["Allocated", `${bytesText(allocated[from])} → ` +
      `${bytesText(allocated[to])} (${signedBytes(f.grown)})`],
    ["Most, least", `${bytesText(f.most)}, ${bytesText(f.least)}`],
    ["Reserved", signedBytes(f.reserved)],
    ["Made", sumText(f.made)],
    ["Freed", sumText(f.freed)],
    ["Made and still there", sumText(f.left)],
  ]), buttonBar([
    ["Zoom to it (z)", zoomToSpan],
    ["What grew (g)", () => showGrown("grew")],
    ["What was made", () => showGrown("made")],
    ["Its peak", () => moveCursor(f.peak, true)],
    ["Forget it", () => markSpan(0, 0)],
  ]));
}
