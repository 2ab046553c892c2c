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
  const out = {};
  for (const name of Object.keys(table))
    out[name] = decodeColumn(bytes, table[name]);
  return out;
}

// Lifetimes are stored as lengths.
function decodeAllocations(bytes, table) {
  const { life, pending, ...alloc } = decodeColumns(bytes, table);
  alloc.end = life;
  alloc.done = pending;
  for (let i = 0; i < life.length; i++) {
    alloc.end[i] += alloc.start[i];
    alloc.done[i] += alloc.end[i];
  }
  return alloc;
}

// Sizes and addresses of events are those of what they created or freed, except
// for odd events, which have their own (columns.c uses the same order).
function decodeEvents(bytes, table, alloc, segment) {
  const coded = decodeColumns(bytes, table);
  const n = coded.action.length;
  const event = { action: coded.action, time: coded.time,
    bytes: new Float64Array(n), address: new Float64Array(n) };
  const say = (k, size, address) => {
    if (k < 0 || k >= n) return;
    event.bytes[k] = size;
    event.address[k] = address;
  };
  for (let i = 0; i < segment.start.length; i++)
    for (const k of [segment.start[i], segment.end[i]])
      say(k, segment.size[i], segment.address[i]);
  for (let i = 0; i < alloc.start.length; i++) {
    say(alloc.start[i], alloc.size[i], alloc.address[i]);
    say(alloc.done[i], alloc.size[i], alloc.address[i]);
    say(alloc.end[i], alloc.size[i], alloc.address[i]);
  }
  for (let i = 0; i < coded.odd.length; i++)
    say(coded.odd[i], coded.odd_bytes[i], coded.odd_address[i]);
  return event;
}

function decodeRun(meta, bytes) {
  const column = (name) => decodeColumn(bytes, meta[name]);
  const by = {};
  for (const name of ["line", "function", "module", "library"])
    by[name] = column(`by_${name}`);
  const run = makeRun(plain(meta.name), meta.strings.map(plain), column("frame"),
    column("stack_begin"), column("stack_frame"),
    { kind: column("kind"), own: column("own"), labels: meta.labels, by });
  for (const texts of meta.devices) {
    const alloc = decodeAllocations(bytes, texts.alloc);
    const segment = decodeColumns(bytes, texts.segment);
    const event = decodeEvents(bytes, texts.event, alloc, segment);
    run.devices.push(makeDevice(run, texts, { event, alloc, segment }));
  }
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
