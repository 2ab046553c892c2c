// keys.js - keyboard commands.

const KEYS = [["← →  a d", "move along the run"],
  ["+ −  w s", "closer, further"], ["wheel", "closer, further, at the pointer"],
  ["drag", "mark a stretch: what happened in it, what grew"],
  ["Shift and drag", "move along the run"],
  ["drag the line", "go through the moments"],
  ["z", "zoom to the marked stretch"],
  ["g", "what grew in it, as a flame graph"],
  [", .", "one event back, on"],
  ["< >", "a hundredth of the picture back, on"],
  ["Home End", "first, last moment"],
  ["p", "the moment with most memory allocated"],
  ["o", "the next out-of-memory"], ["0", "the whole run"],
  ["f t m", "flame graph, call tree, segments"],
  ["↑ ↓ ← → in them", "to callers, called, neighbours"],
  ["[ ]", "segments closer, further"],
  ["/", "show only …"], ["n", "the next allocation found"],
  ["Esc", "forget what is chosen, marked and searched for"],
  ["1 … 7", "the tabs at the side"], ["?", "this list"]];

function setTab(number) {
  state.tab = TABS[number];
  redraw();
}

function setView(name) {
  state.view = name;
  redraw();
}

function mapCloser(by) {
  state.finer = clamp(state.finer + by, -4, 16);
  setView("map");
}

const KEY_ACTIONS = {
  ArrowLeft: () => pan(-0.1), ArrowRight: () => pan(0.1),
  a: () => pan(-0.1), d: () => pan(0.1),
  w: () => zoom(0.7), s: () => zoom(1 / 0.7),
  "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1 / 0.7),
  "<": () => stepCursor(-0.01), ">": () => stepCursor(0.01),
  ",": () => moveCursor(state.cursor - 1, true),
  ".": () => moveCursor(state.cursor + 1, true),
  Home: () => moveCursor(0, true),
  End: () => moveCursor(state.device.events, true),
  p: () => moveCursor(state.device.peak, true), o: () => nextFailure(),
  0: () => setWindow(0, state.axis.end), n: () => nextFound(),
  z: () => zoomToSpan(), g: () => showGrown("grew"),
  f: () => setView("flame"), t: () => setView("tree"), m: () => setView("map"),
  "[": () => mapCloser(1), "]": () => mapCloser(-1),
  "/": () => $("search").focus(), "?": () => $("help").showModal(),
};

// ---- in the flame graph and the tree ----

// The node that an arrow key leads to from the selected one.
function flameStep(key) {
  const { root, focus } = state.tree;
  if (key === "ArrowUp") return focus.parent || root;
  if (key === "ArrowDown") return ranked(focus)[0] || focus;
  if (!focus.parent) return focus;
  const beside = ranked(focus.parent);
  const to = beside.indexOf(focus) + (key === "ArrowRight" ? 1 : -1);
  return beside[clamp(to, 0, beside.length - 1)];
}

function treeStep(key) {
  const { tree: { focus }, treeRows: rows } = state;
  const at = Math.max(0, rows.findIndex((row) => row.node === focus));
  const row = rows[at];
  const turns = key === (row.open ? "ArrowLeft" : "ArrowRight");
  if (turns && row.node.children.size > 0) {
    openNode(row.node, !row.open);
    return row.node;
  }
  if (key === "ArrowLeft") return row.node.parent || row.node;
  const to = at + (key === "ArrowUp" ? -1 : 1);
  return rows[clamp(to, 0, rows.length - 1)].node;
}

function stepInView(event) {
  if (!event.key.startsWith("Arrow") || !state.tree) return false;
  const inside = (name) => event.target.closest &&
    event.target.closest(`#view-${name}`);
  const step = inside("flame") ? flameStep : inside("tree") ? treeStep : null;
  if (!step) return false;
  event.preventDefault();
  focusOn(keysOf(step(event.key)));
  return true;
}

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || !state.device) return;
  if (event.key === "Escape") {
    forget();
    return;
  }
  if (/^(SELECT|TEXTAREA)$/.test(event.target.tagName) ||
      event.target.id === "search") {
    if (event.key === "Enter") nextFound();
    return;
  }
  if (stepInView(event)) return;
  const tab = Number(event.key);
  if (tab >= 1 && tab <= TABS.length) {
    setTab(tab - 1);
  } else if (Object.hasOwn(KEY_ACTIONS, event.key)) {
    event.preventDefault();
    KEY_ACTIONS[event.key]();
  }
}
