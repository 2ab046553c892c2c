// decode.js - decodes the columns of numbers that C wrote into the page
// (blob.h).

const COLUMN_TYPES = {
  u8: Uint8Array, u32: Uint32Array, i32: Int32Array, f64: Float64Array,
};
const CODING_SIGNED = 1, CODING_DELTA = 2, CODING_TABLE = 3;

function decodeBase64(text) {
  if (Uint8Array.fromBase64)
    return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++)
    bytes[i] = binary.charCodeAt(i);
  return bytes;
}

// Read numbers into `out`, beginning at a position; returns the end position.
// Sums instead of shifts, because numbers have up to 64 bits.
function readNumbers(bytes, at, out, coding) {
  let before = 0;
  for (let i = 0; i < out.length; i++) {
    let byte = bytes[at++];
    let value = byte & 127, scale = 128;
    while (byte > 127) {
      byte = bytes[at++];
      value += (byte & 127) * scale;
      scale *= 128;
    }
    if (coding === CODING_SIGNED || coding === CODING_DELTA)
      value = value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    if (coding === CODING_DELTA) value = before += value;
    out[i] = value;
  }
  return at;
}

function decodeColumn(bytes, where) {
  const [type, coding, offset, count, entries] = where;
  const out = new COLUMN_TYPES[type](count);
  if (coding !== CODING_TABLE) {
    readNumbers(bytes, offset, out, coding);
    return out;
  }
  const numbers = new Uint32Array(count), table = new Float64Array(entries);
  readNumbers(bytes, readNumbers(bytes, offset, numbers, 0), table, 0);
  for (let i = 0; i < count; i++) out[i] = table[numbers[i]];
  return out;
}

function decodeColumns(bytes, table) {
  return Object.fromEntries(Object.entries(table).map(
    ([name, where]) => [name, decodeColumn(bytes, where)]));
}

// Lifetimes are stored as lengths.
function decodeAllocations(bytes, table) {
  const { life, pending, ...alloc } = decodeColumns(bytes, table);
  const end = life.map((length, i) => alloc.start[i] + length);
  return { ...alloc, end, done: pending.map((length, i) => end[i] + length) };
}

// Sizes and addresses of events are those of what they created or freed, except
// for odd events, which have their own (columns.c uses the same order).  The
// owner is the allocation, -1 for none.
function decodeEvents(bytes, table, alloc, segment) {
  const { action, time, odd, odd_bytes, odd_address } =
    decodeColumns(bytes, table);
  const n = action.length;
  const event = { action, time, bytes: new Float64Array(n),
    address: new Float64Array(n), owner: new Int32Array(n).fill(-1) };
  // A moment outside the recording is outside the arrays, which ignore it.
  const say = (k, size, address) => {
    event.bytes[k] = size;
    event.address[k] = address;
  };
  for (let i = 0; i < segment.start.length; i++)
    for (const k of [segment.start[i], segment.end[i]])
      say(k, segment.size[i], segment.address[i]);
  for (let i = 0; i < alloc.start.length; i++)
    for (const k of [alloc.start[i], alloc.done[i], alloc.end[i]]) {
      say(k, alloc.size[i], alloc.address[i]);
      event.owner[k] = i;
    }
  odd.forEach((k, i) => say(k, odd_bytes[i], odd_address[i]));
  return event;
}

function decodeDevice(run, texts, bytes) {
  const alloc = decodeAllocations(bytes, texts.alloc);
  const segment = decodeColumns(bytes, texts.segment);
  const event = decodeEvents(bytes, texts.event, alloc, segment);
  const marks = texts.marks.map((mark) =>
    ({ ...mark, label: plain(mark.label) }));
  return makeDevice({ ...texts, run, marks, event, alloc, segment });
}

// What is no text of a run is a column (frames.js).
function decodeRun({ name, strings, labels, devices, ...columns }, bytes) {
  const run = { ...decodeColumns(bytes, columns), labels, name: plain(name),
    strings: strings.map(plain) };
  run.devices = devices.map((texts) => decodeDevice(run, texts, bytes));
  return run;
}

// The page's data: a title and one or two runs.
function decodePage() {
  const meta = JSON.parse(document.getElementById("larder-meta").textContent);
  const holder = document.getElementById("larder-data");
  const bytes = decodeBase64(holder.textContent.trim());
  holder.textContent = "";
  return { title: plain(meta.title),
    runs: meta.runs.map((run) => decodeRun(run, bytes)) };
}
