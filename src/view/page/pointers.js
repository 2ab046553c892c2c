// pointers.js - mouse and touch input on the charts.

// In the canvas that listens.
function placeOf({ currentTarget, clientX, clientY }) {
  const box = currentTarget.getBoundingClientRect();
  return { x: clientX - box.left, y: clientY - box.top };
}

function positionAt(x) {
  return state.from +
    (x - GRAPH_LEFT) / state.drawn.view.width * (state.to - state.from);
}

function hitTimeline({ x, y }) {
  const { view: { top, width, height }, states } = state.drawn;
  const k = states[Math.floor((x - GRAPH_LEFT) / width * states.length)];
  if (k === undefined) return null;
  const bytes = top * (1 - (y - GRAPH_TOP) / height);
  return { k, alloc: bytes < 0 ? -2 : hitStack(k, bytes) };
}

function hideTip() {
  $("tip").hidden = true;
}

function showTip(event, lines) {
  const tip = $("tip");
  tip.replaceChildren(...lines.map((line, i) =>
    element(i === 0 ? "b" : "div", {}, line)));
  tip.hidden = false;
  const right = event.clientX + 16 + tip.offsetWidth > window.innerWidth;
  tip.style.left = `${right ? event.clientX - tip.offsetWidth - 12
    : event.clientX + 14}px`;
  tip.style.top = `${Math.min(event.clientY + 12,
    window.innerHeight - tip.offsetHeight - 6)}px`;
}

function allocationLines(i) {
  const d = state.device, a = d.alloc;
  const own = ownFrame(d.run, a.stack[i]);
  const lines = [`${bytesText(a.size[i])}, ${d.categories[a.category[i]]}`,
    `lived ${lifetimeText(i)}`];
  if (own >= 0) lines.push(frameText(d.run, own));
  const note = noteText(d, i);
  if (note && !isNote(d.run, a.stack[i])) lines.push(note);
  return lines;
}

// Show a tip about what is hit; none where nothing is.
function hover(hitAt, linesOf, event) {
  const hit = hitAt(placeOf(event));
  if (hit) showTip(event, linesOf(hit));
  else hideTip();
}

function timelineLines(hit) {
  const c = state.device.curve, k = hit.k;
  const lines = hit.alloc >= 0 ? allocationLines(hit.alloc)
    : [hit.alloc === -1 ? "smaller allocations" : momentText(k - 1)];
  lines.push(`allocated ${bytesText(c.allocated[k])}, requested ` +
    `${bytesText(c.requested[k])}, reserved ${bytesText(c.reserved[k])}`);
  return lines;
}

function mapLines(hit) {
  return [...(hit.alloc >= 0 ? allocationLines(hit.alloc)
    : [`${bytesText(hit.gap)} free`]), rowTitle(state.device, hit.row)];
}

function flameLines({ node }) {
  const { root } = state.tree;
  const lines = [`${bytesText(node.total)}, ` +
    `${shareText(node.total, root.total)} of all`,
    node.frame >= 0 && state.form.by === "line"
      ? frameText(state.device.run, node.frame) : nodeLabel(node),
    `${countText(node.count)} allocations, its own ` +
      bytesText(node.self)];
  if (node.parent && node.parent.parent)
    lines.push(`${shareText(node.total, node.parent.total)} of its caller's`);
  return lines;
}

// ---- the timeline: marking, moving, going through the moments ----

// Larger movements count as dragging, smaller ones as a click.
const DRAG_MIN = 4;
const LINE_REACH = 5;

// Whether a position is on the line that marks the moment.
function nearCursor(x) {
  const { drawn } = state;
  return Math.abs(drawn.view.x(state.axis.at(state.cursor)) - x) <= LINE_REACH;
}

// What a press at a position begins.
function dragKind(event, x) {
  if (event.shiftKey || event.button === 1) return "move";
  return nearCursor(x) ? "scrub" : "mark";
}

const DRAGGING = {
  scrub: (down, x) => moveCursor(state.axis.index(positionAt(x)), false),
  move: (down, x) => {
    const shift = (down.x - x) / state.drawn.view.width * (down.to - down.from);
    setWindow(down.from + shift, down.to + shift);
  },
  mark: (down, x) => {
    const ends = [down.at, positionAt(x)].map((at) =>
      state.axis.index(clamp(at, state.from, state.to)));
    markSpan(Math.min(...ends), Math.max(...ends));
    state.tab = "Span";
  },
};

function clickTimeline(event) {
  const hit = hitTimeline(placeOf(event));
  if (!hit) return;
  markSpan(0, 0);
  state.cursor = hit.k;
  select(hit.alloc >= 0 ? hit.alloc : -1);
}

function watchTimeline() {
  const canvas = $("timeline");
  let down = null;
  canvas.onpointerdown = (event) => {
    const { x } = placeOf(event);
    down = { x, at: positionAt(x), from: state.from, to: state.to,
      moved: false, kind: dragKind(event, x) };
    canvas.setPointerCapture(event.pointerId);
    hideTip();
  };
  canvas.onpointermove = (event) => {
    const { x } = placeOf(event);
    if (!down) {
      canvas.style.cursor = nearCursor(x) ? "ew-resize" : "";
      hover(hitTimeline, timelineLines, event);
      return;
    }
    const least = down.kind === "scrub" ? 1 : DRAG_MIN;
    down.moved = down.moved || Math.abs(x - down.x) > least;
    if (down.moved) DRAGGING[down.kind](down, x);
  };
  canvas.onpointerup = (event) => {
    const clicked = down && !down.moved;
    down = null;
    if (clicked) clickTimeline(event);
  };
  canvas.onwheel = (event) => {
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY))
      pan(event.deltaX / 800);
    else
      zoom(Math.exp(event.deltaY / 400), positionAt(placeOf(event).x));
  };
}

function watchOverview() {
  const canvas = $("overview");
  let begin = null;
  const at = (event) =>
    placeOf(event).x / canvas.clientWidth * state.axis.end;
  const moved = (now) => Math.abs(now - begin) > state.axis.end / 400;
  canvas.onpointerdown = (event) => {
    begin = at(event);
    canvas.setPointerCapture(event.pointerId);
  };
  canvas.onpointermove = (event) => {
    const now = at(event);
    if (begin !== null && moved(now))
      setWindow(Math.min(begin, now), Math.max(begin, now));
  };
  canvas.onpointerup = (event) => {
    if (begin !== null && !moved(at(event)))
      moveCursor(state.axis.index(begin), true);
    begin = null;
  };
}

// ---- the views ----

// `choose` gets what is hit by a click; null: nothing is.
function watchView(id, hitAt, linesOf, choose) {
  const canvas = $(id);
  canvas.onpointermove = (event) => hover(hitAt, linesOf, event);
  canvas.onclick = (event) => choose(hitAt(placeOf(event)));
}

function watchViews() {
  watchView("map", hitMap, mapLines,
    (hit) => select(hit && hit.alloc >= 0 ? hit.alloc : -1));
  watchView("flame", hitFlame, flameLines,
    (box) => { if (box) focusOn(keysOf(box.node)); });
  for (const id of ["map", "timeline", "flame"]) $(id).onpointerleave = hideTip;
}
