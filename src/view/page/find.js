// find.js - the search box's language: an address, a size, a range of sizes, or
// a part of a frame or an annotation.

const SIZE_WORD = /^([0-9]*\.?[0-9]+)\s*([kmgt]?)(i?b)?$/i;

function parseBytes(text) {
  const match = SIZE_WORD.exec(text.trim());
  if (!match) return null;
  const power = " kmgt".indexOf((match[2] || " ").toLowerCase());
  return Number(match[1]) * Math.pow(1024, Math.max(power, 0));
}

// A predicate on an allocation's number, or null for an empty query.
function parseQuery(device, text) {
  const query = text.trim();
  const a = device.alloc;
  if (query === "") return null;
  if (/^0x[0-9a-f]+$/i.test(query)) {
    const address = Number.parseInt(query, 16);
    return (i) => address >= a.address[i] &&
      address < a.address[i] + Math.max(a.rounded[i], 1);
  }
  const range = query.split(/…|\.\.+/);
  if (range.length === 2) {
    const low = parseBytes(range[0]), high = parseBytes(range[1]);
    if (low !== null && high !== null)
      return (i) => a.size[i] >= low && a.size[i] <= high;
  }
  const compare = /^(<=|>=|<|>|=)(.*)$/.exec(query);
  const bytes = parseBytes(compare ? compare[2] : query);
  if (bytes !== null) return compareBytes(a, compare ? compare[1] : "=", bytes);
  return findFrames(device, query.toLowerCase());
}

function compareBytes(a, sign, bytes) {
  if (sign === "<") return (i) => a.size[i] < bytes;
  if (sign === "<=") return (i) => a.size[i] <= bytes;
  if (sign === ">") return (i) => a.size[i] > bytes;
  if (sign === ">=") return (i) => a.size[i] >= bytes;
  return (i) => a.size[i] === bytes || a.rounded[i] === bytes;
}

function findFrames(device, words) {
  const run = device.run;
  const hit = run.kind.map((kind, id) =>
    frameText(run, id).toLowerCase().includes(words));
  const noted = findNotes(device, words);
  const found = remembered((stack) =>
    stackFrames(run, stack).some((id) => hit[id] === 1));
  return (i) => noted(i) || found(device.alloc.stack[i]);
}

// Search the program's notes.
function findNotes(device, words) {
  const note = device.alloc.note, strings = device.run.strings;
  if (!note) return () => false;
  const found = remembered((string) =>
    strings[string].toLowerCase().includes(words));
  return (i) => found(note[i]);
}

// { mask, list (largest first) } or null.
function find(device, text) {
  const matches = parseQuery(device, text);
  if (!matches) return null;
  const { size } = device.alloc, list = [];
  const mask = new Uint8Array(size.length);
  for (let i = 0; i < mask.length; i++)
    if (matches(i)) {
      mask[i] = 1;
      list.push(i);
    }
  list.sort((x, y) => size[y] - size[x]);
  return { mask, list };
}
