// calltree.js - the callers of memory as a tree, for the flame graph and the
// call tree.

// The possible weights.
const WHAT = {
  alive: "alive at the moment",
  grew: "grew between two moments",
  made: "made between two moments",
};
// The key of what has no call path, and what that is called.
const PATHLESS = "no call path";
function pathlessName(older, all) {
  if (older === 0) return PATHLESS;
  return older === all ? "older than the recording"
    : "older than the recording, or no call path";
}
// Maximum depth of a path; deeper calls are left out.
const PATH_LONGEST = 250;
// By kind of frame (frame_kind.h).
const NODE_KINDS = ["cpp", "torch", "cpp", "cpp", "torch", "library", "own"];

// Bytes and allocations by stack, and of how many without a call path how many
// are older than the recording. `mask`, if given, selects the allocations that
// count; [from, to] are states, and the moment is `to`.
function weighStacks(device, what, from, to, mask) {
  const a = device.alloc, n = stackCount(device.run);
  const bytes = new Float64Array(n), count = new Float64Array(n);
  const pathless = { older: 0, all: 0 };
  const add = (i, times) => {
    if (mask && !mask[i]) return;
    bytes[a.stack[i]] += times * a.rounded[i];
    count[a.stack[i]] += times;
    if (a.stack[i] !== NO_STACK) return;
    pathless.all++;
    pathless.older += a.start[i] < 0 && device.events > 0;
  };
  if (what === "made") {
    for (let i = 0; i < a.start.length; i++)
      if (a.start[i] >= from && a.start[i] < to) add(i, 1);
    return { bytes, count, pathless };
  }
  for (const i of aliveAt(device, to)) add(i, 1);
  if (what === "grew") for (const i of aliveAt(device, from)) add(i, -1);
  return { bytes, count, pathless };
}

function frameKey(run, id, by) {
  return by === "line" ? id : frameLabel(run, id, by);
}

// A stack's frames from the outermost inwards, without folded ones; if nothing
// else is left, the frame most relevant to a reader.
function unfolded(run, stack, { cpp, torch, inside }) {
  const shown = { own: true, library: true, cpp, torch };
  const out = [...stackFrames(run, stack)]
    .filter((id) => shown[NODE_KINDS[run.kind[id]]]);
  const one = ownFrame(run, stack);
  if (out.length === 0 && one >= 0) out.push(one);
  return inside ? out : out.reverse();
}

// The steps of a stack's path: [key, frame], with equal neighbours joined.
function pathOf(run, stack, form) {
  const path = [];
  for (const id of unfolded(run, stack, form)) {
    const key = frameKey(run, id, form.by);
    if (path.length === 0 || path[path.length - 1][0] !== key)
      path.push([key, id]);
    if (path.length === PATH_LONGEST) break;
  }
  return path.length > 0 ? path : [[PATHLESS, -1]];
}

// How paths are built: by line, function, module or library; which frames are
// shown; from the outermost frame inwards or the reverse.  Paths are
// remembered, because every moment needs them.
function makeForm(run, form) {
  return { ...form, path: remembered((stack) => pathOf(run, stack, form)) };
}

function makeNode(key, frame, kind, parent) {
  return { key, frame, kind, parent, total: 0, plus: 0, self: 0, count: 0,
    children: new Map() };
}

function nodeLabel(node) {
  if (node.frame < 0) return node.name || node.key;
  return frameLabel(state.device.run, node.frame, state.form.by);
}

function addTo(node, bytes, count) {
  node.total += bytes;
  node.plus += Math.max(bytes, 0);
  node.count += count;
}

// The tree; a node's `total` includes everything it called, `plus` is the part
// that grew, `self` its own.
function makeTree(run, weights, form) {
  const root = makeNode("everything", -1, "cpp", null);
  for (let stack = 0; stack < weights.bytes.length; stack++) {
    const bytes = weights.bytes[stack], count = weights.count[stack];
    if (bytes === 0 && count === 0) continue;
    let node = root;
    addTo(node, bytes, count);
    for (const [key, frame] of form.path(stack)) {
      let child = node.children.get(key);
      if (!child) {
        const kind = frame < 0 ? "cpp" : NODE_KINDS[run.kind[frame]];
        child = makeNode(key, frame, kind, node);
        node.children.set(key, child);
      }
      node = child;
      addTo(node, bytes, count);
    }
    node.self += bytes;
  }
  const nobody = root.children.get(PATHLESS), { older, all } = weights.pathless;
  if (nobody) nobody.name = pathlessName(older, all);
  return root;
}

// Children that are visible, largest first.
function ranked(node) {
  return [...node.children.values()].sort((x, y) =>
    y.plus - x.plus || Math.abs(y.total) - Math.abs(x.total));
}

function keysOf(node) {
  const keys = [];
  for (let at = node; at.parent; at = at.parent) keys.unshift(at.key);
  return keys;
}

// The node at the end of a path of keys, or the last existing one on it.
function nodeAt(root, keys) {
  let node = root;
  for (const key of keys) {
    const child = node.children.get(key);
    if (!child) break;
    node = child;
  }
  return node;
}

// The allocations that pass through a path; null for all.
function maskOf({ alloc, run }, keys, form) {
  if (keys.length === 0) return null;
  const through = Array.from({ length: stackCount(run) }, (none, stack) => {
    const path = form.path(stack);
    return keys.every((key, i) => path[i] && path[i][0] === key);
  });
  return new Uint8Array(alloc.stack.length)
    .map((none, i) => through[alloc.stack[i]]);
}
