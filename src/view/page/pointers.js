// pointers.js - what the mouse, or a finger, does to the pictures.

function placeIn(canvas, event) {
  const box = canvas.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

function positionAt(x) {
  const { drawn } = state;
  return state.from +
    (x - GRAPH_LEFT) / drawn.width * (state.to - state.from);
}

function hitTimeline(p) {
  const { drawn, device } = state;
  const column = Math.floor((p.x - GRAPH_LEFT) / drawn.width *
    drawn.states.length);
  if (column < 0 || column >= drawn.states.length) return null;
  const bytes = drawn.view.top *
    (1 - (p.y - GRAPH_TOP) / drawn.height);
  const k = drawn.states[column];
  return { k, bytes, alloc: bytes < 0 ? -2
    : hitStack(device, drawn.chosen, k, bytes) };
}

function showTip(event, lines) {
  const tip = $("tip");
  tip.replaceChildren();
  lines.forEach((line, i) => tip.append(element(i === 0 ? "b" : "div", line)));
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
    `lived ${lifetimeText(d, i)}`];
  if (own >= 0) lines.push(frameText(d.run, own));
  const note = noteText(d, i);
  if (note && !isNote(d.run, a.stack[i])) lines.push(note);
  return lines;
}

function hoverTimeline(event) {
  const hit = hitTimeline(placeIn($("timeline"), event));
  if (!hit) { $("tip").hidden = true; return; }
  const c = state.device.curve, k = hit.k;
  const lines = hit.alloc >= 0 ? allocationLines(hit.alloc)
    : [hit.alloc === -1 ? "smaller allocations" : momentText(state.device,
      k - 1)];
  lines.push(`allocated ${bytesText(c.allocated[k])}, requested ` +
    `${bytesText(c.requested[k])}, reserved ${bytesText(c.reserved[k])}`);
  showTip(event, lines);
}

function hoverMap(event) {
  const p = placeIn($("map"), event);
  const hit = hitMap(state.rows, p.x, p.y);
  if (!hit) { $("tip").hidden = true; return; }
  if (hit.alloc >= 0) showTip(event, allocationLines(hit.alloc));
  else showTip(event, [`${bytesText(hit.gap)} free`,
    rowTitle(state.device, hit.row)]);
}

// Dragging further than this is moving; less is a click.
const DRAG_LEAST = 4;

const LINE_REACH = 5;

// Whether a place is on the line that marks the moment.
function nearCursor(x) {
  const { drawn } = state;
  return Math.abs(drawn.view.x(state.axis.at(state.cursor)) - x) <= LINE_REACH;
}

function watchTimeline() {
  const canvas = $("timeline");
  let down = null;
  canvas.addEventListener("pointerdown", (event) => {
    const scrub = event.shiftKey || nearCursor(placeIn(canvas, event).x);
    down = { x: event.clientX, from: state.from, to: state.to, moved: false,
      scrub };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const p = placeIn(canvas, event);
    if (!down) {
      canvas.style.cursor = nearCursor(p.x) ? "ew-resize" : "";
      hoverTimeline(event);
      return;
    }
    if (down.scrub) {
      down.moved = down.moved || Math.abs(event.clientX - down.x) > 1;
      if (down.moved)
        moveCursor(state.axis.index(positionAt(p.x)), false);
      return;
    }
    const by = event.clientX - down.x;
    if (Math.abs(by) > DRAG_LEAST) down.moved = true;
    if (!down.moved) return;
    const span = down.to - down.from;
    const shift = Math.max(-down.from, Math.min(state.axis.end - down.to,
      -by / state.drawn.width * span));
    setWindow(down.from + shift, down.to + shift);
  });
  canvas.addEventListener("pointerup", (event) => {
    const clicked = down && !down.moved;
    down = null;
    if (!clicked) return;
    const hit = hitTimeline(placeIn(canvas, event));
    if (!hit) return;
    state.cursor = hit.k;
    select(hit.alloc >= 0 ? hit.alloc : -1);
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY))
      pan(event.deltaX / 800);
    else
      zoom(Math.exp(event.deltaY / 400), positionAt(placeIn(canvas, event).x));
  }, { passive: false });
}

function watchOverview() {
  const canvas = $("overview");
  let begin = null;
  const at = (event) => placeIn(canvas, event).x / canvas.clientWidth *
    state.axis.end;
  canvas.addEventListener("pointerdown", (event) => {
    begin = at(event);
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (begin === null) return;
    const now = at(event);
    if (Math.abs(now - begin) > state.axis.end / 400)
      setWindow(Math.min(begin, now), Math.max(begin, now));
  });
  canvas.addEventListener("pointerup", (event) => {
    if (begin !== null && Math.abs(at(event) - begin) <= state.axis.end / 400)
      moveCursor(state.axis.index(begin), true);
    begin = null;
  });
}

function watchMap() {
  $("map").addEventListener("pointermove", hoverMap);
  $("map").addEventListener("click", (event) => {
    const p = placeIn($("map"), event);
    const hit = hitMap(state.rows, p.x, p.y);
    select(hit && hit.alloc >= 0 ? hit.alloc : -1);
  });
  for (const id of ["map", "timeline"])
    $(id).addEventListener("pointerleave", () => { $("tip").hidden = true; });
}
