// groups.js - the colours of allocations: the eighteen groups that hold the
// most memory for the longest time have their own.

// Distinguishable with any of the common colour vision deficiencies (after
// Okabe and Ito, and Tol); then the same, darker.
const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7",
  "#56b4e9", "#b8a800", "#882255", "#44aa99", "#004870", "#8f6300", "#00634a",
  "#853b00", "#804a69", "#367092", "#736a00", "#551535", "#2b6a60"];
const SIZE_STEPS = [[1 << 20, "up to 1 MiB"], [10 << 20, "1–10 MiB"],
  [100 << 20, "10–100 MiB"], [1024 ** 3, "100 MiB–1 GiB"],
  [Infinity, "over 1 GiB"]];

function groupKeys(device, by) {
  const a = device.alloc;
  if (by === "stream") return (i) => a.stream[i];
  if (by === "category") return (i) => a.category[i];
  if (by === "size")
    return (i) => SIZE_STEPS.findIndex((step) => a.size[i] <= step[0]);
  return (i) => ownFrame(device.run, a.stack[i]);
}

function groupName(device, by, key) {
  if (by === "stream") return `stream ${device.streams[key]}`;
  if (by === "category") return device.categories[key];
  if (by === "size") return SIZE_STEPS[key][1];
  return key < 0 ? withoutPathName(device) : frameLabel(device.run, key, "line");
}

function withoutPathName({ run, events, alloc }) {
  const old = alloc.start.filter((start, i) =>
    ownFrame(run, alloc.stack[i]) < 0 && start < 0 && events > 0).length;
  const all = alloc.stack.filter((stack) => ownFrame(run, stack) < 0).length;
  return pathlessName(old, all);
}

// { of: the group of each allocation, names, colours }; the last group is
// everything else.
function makeGroups(device, by) {
  const a = device.alloc, n = a.start.length;
  const keyOf = groupKeys(device, by);
  const weight = new Map();
  for (let i = 0; i < n; i++) {
    const key = keyOf(i);
    const held = a.size[i] * (a.end[i] - a.start[i]);
    weight.set(key, (weight.get(key) || 0) + held);
  }
  // Allocations without a call path belong to "everything else".
  if (by === "stack" && weight.size > 1) weight.delete(-1);
  const ranked = [...weight.entries()].sort((x, y) => y[1] - x[1]);
  const shown = ranked.slice(0, PALETTE.length).map((entry) => entry[0]);
  const index = new Map(shown.map((key, i) => [key, i]));
  const of = new Uint8Array(n).map((none, i) =>
    index.get(keyOf(i)) ?? shown.length);
  const names = shown.map((key) => groupName(device, by, key));
  const others = ranked.length - shown.length;
  const unknown = of.includes(shown.length) && by === "stack";
  if (others > 0)
    names.push(`${others} others` + (unknown ? ", or unknown" : ""));
  else if (unknown)
    names.push(withoutPathName(device));
  return { of, names, rest: shown.length };
}

// The style sheet's colours, which each drawing needs thousands of times.
let cssColour;

function readColours() {
  const style = getComputedStyle(document.documentElement);
  cssColour = remembered((name) => style.getPropertyValue(name).trim());
}

function groupColour(groups, group) {
  return group >= groups.rest ? cssColour("--rest") : PALETTE[group];
}

function allocationColour(i) {
  return groupColour(state.groups, state.groups.of[i]);
}

// "#rrggbb" as a pixel of ImageData on a little-endian machine, with each part
// changed.
function pixelOf(hex, change = (part) => part) {
  const n = parseInt(hex.slice(1), 16);
  const part = (shift) => Math.round(change((n >> shift) & 255, shift));
  return (0xff000000 | (part(0) << 16) | (part(8) << 8) | part(16)) >>> 0;
}
