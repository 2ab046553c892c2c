// data.js - what C wrote into the page: columns of numbers, strings, stacks.

const COLUMN_TYPES = {
  u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, i32: Int32Array,
  f64: Float64Array,
};

// The events' actions, in the order of their codes.
const ACTIONS = ["alloc", "free_requested", "free_completed", "segment_alloc",
  "segment_free", "segment_map", "segment_unmap", "snapshot", "oom", "other"];
const ALLOC = 0, FREE_REQUESTED = 1, FREE_COMPLETED = 2;
const SEGMENT_KINDS = ["small", "large", "expandable"];
const NONE = 0xffffffff;

function decodeBase64(text) {
  if (Uint8Array.fromBase64)
    return Uint8Array.fromBase64(text).buffer;
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++)
    bytes[i] = binary.charCodeAt(i);
  return bytes.buffer;
}

function column(buffer, where) {
  const [type, offset, length] = where;
  return new COLUMN_TYPES[type](buffer, offset, length);
}

function columns(buffer, table) {
  const out = {};
  for (const name of Object.keys(table))
    out[name] = column(buffer, table[name]);
  return out;
}

// Allocated, requested and reserved bytes after each event; index 0 is the
// state before the first.
function curves(device) {
  const n = device.event.action.length;
  const a = device.alloc, s = device.segment;
  const allocated = new Float64Array(n + 1);
  const requested = new Float64Array(n + 1);
  const reserved = new Float64Array(n + 1);
  for (let i = 0; i < a.start.length; i++) {
    const from = a.start[i] + 1, to = a.end[i] + 1;
    allocated[from] += a.rounded[i];
    requested[from] += a.size[i];
    if (to <= n) {
      allocated[to] -= a.rounded[i];
      requested[to] -= a.size[i];
    }
  }
  for (let i = 0; i < s.start.length; i++) {
    reserved[s.start[i] + 1] += s.size[i];
    if (s.end[i] + 1 <= n)
      reserved[s.end[i] + 1] -= s.size[i];
  }
  for (let i = 1; i <= n; i++) {
    allocated[i] += allocated[i - 1];
    requested[i] += requested[i - 1];
    reserved[i] += reserved[i - 1];
  }
  return { allocated, requested, reserved };
}

// Minima and maxima over 16, 256, … entries: what a pixel covers is then
// drawn from a handful of them.
class Pyramid {
  constructor(values) {
    this.levels = [{ low: values, high: values }];
    while (this.levels[this.levels.length - 1].low.length > 16)
      this.levels.push(this.above(this.levels[this.levels.length - 1]));
  }

  above(level) {
    const n = Math.ceil(level.low.length / 16);
    const low = new Float64Array(n), high = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      let least = Infinity, most = -Infinity;
      const end = Math.min(level.low.length, i * 16 + 16);
      for (let k = i * 16; k < end; k++) {
        if (level.low[k] < least) least = level.low[k];
        if (level.high[k] > most) most = level.high[k];
      }
      low[i] = least;
      high[i] = most;
    }
    return { low, high };
  }

  // The least and the most of entries from … to, both included.
  range(from, to) {
    let least = Infinity, most = -Infinity, level = 0;
    const take = (i) => {
      const at = this.levels[level];
      if (at.low[i] < least) least = at.low[i];
      if (at.high[i] > most) most = at.high[i];
    };
    while (from <= to) {
      while (from <= to && (from & 15) !== 0) take(from++);
      while (from <= to && (to & 15) !== 15) take(to--);
      if (from > to) break;
      if (level + 1 >= this.levels.length) {
        while (from <= to) take(from++);
        break;
      }
      from >>= 4;
      to >>= 4;
      level++;
    }
    return [least, most];
  }
}

function loadDevice(meta, buffer, run) {
  const device = Object.assign({}, meta);
  device.run = run;
  device.event = columns(buffer, meta.event);
  device.alloc = columns(buffer, meta.alloc);
  device.segment = columns(buffer, meta.segment);
  device.events = device.event.action.length;
  device.curve = curves(device);
  device.pyramid = {};
  for (const name of Object.keys(device.curve))
    device.pyramid[name] = new Pyramid(device.curve[name]);
  let peak = 0;
  for (let i = 1; i <= device.events; i++)
    if (device.curve.allocated[i] > device.curve.allocated[peak]) peak = i;
  device.peak = peak;
  device.top = device.pyramid.reserved.range(0, device.events)[1];
  device.top = Math.max(device.top, device.curve.allocated[peak], 1);
  return device;
}

function loadData() {
  const meta = JSON.parse(document.getElementById("larder-meta").textContent);
  const holder = document.getElementById("larder-data");
  const buffer = decodeBase64(holder.textContent.trim());
  holder.textContent = "";
  const data = { title: meta.title, version: meta.version, runs: [] };
  for (const run of meta.runs) {
    const loaded = {
      name: run.name, strings: run.strings,
      frame: column(buffer, run.frame),
      stackBegin: column(buffer, run.stack_begin),
      stackFrame: column(buffer, run.stack_frame),
      devices: [],
    };
    for (const device of run.devices)
      loaded.devices.push(loadDevice(device, buffer, loaded));
    data.runs.push(loaded);
  }
  return data;
}

// A frame is three numbers: file, line, function.
function frameText(run, id) {
  const file = run.strings[run.frame[id * 3]];
  const line = run.frame[id * 3 + 1];
  const name = run.strings[run.frame[id * 3 + 2]];
  if (file === "") return name;
  return line ? `${name}  ${file}:${line}` : `${name}  ${file}`;
}

// What the program said it was doing when it asked; "" if nothing.
function noteText(device, i) {
  const note = device.alloc.note;
  return note ? device.run.strings[note[i]] : "";
}

// Without call paths the note stands in for one: a frame without a file.
function isNote(run, stack) {
  const frames = stackFrames(run, stack);
  return frames.length === 1 && run.strings[run.frame[frames[0] * 3]] === "";
}

function stackFrames(run, stack) {
  const out = [];
  if (stack === NONE) return out;
  for (let i = run.stackBegin[stack]; i < run.stackBegin[stack + 1]; i++)
    out.push(run.stackFrame[i]);
  return out;
}

// How much a frame is its reader's own: installed packages less than a
// program's files, machinery that unwinds stacks or runs hooks not at all.
// report_words.c decides in the same way.
const PLUMBING = new RegExp("unwind|CapturedTraceback|gather_with_cpp|" +
  "CachingAllocator|c10::|at::detail::|at::empty|empty_|set_output_|" +
  "create_out|_Py|Py_|method_vectorcall|pthread|start_thread|clone|" +
  "native_thread");
const OWN = 5;

function ownness(run, id) {
  const file = run.strings[run.frame[id * 3]];
  if (!file.endsWith(".py") && !file.startsWith("<")) {
    const name = run.strings[run.frame[id * 3 + 2]];
    if (/Backward.*::apply\(/.test(name) && !name.startsWith("c10::"))
      return 2;
    return PLUMBING.test(name) ? 0 : 1;
  }
  if (/[/\\]torch[/\\]/.test(file)) return 3;
  return /[/\\](site|dist)-packages[/\\]|\/lib\/python|^</.test(file) ? 4
    : OWN;
}

// The innermost frame of those most its reader's own: what a person calls
// "the line".
function ownFrame(run, stack) {
  if (stack === NONE) return -1;
  let best = -1, most = -1;
  for (let i = run.stackBegin[stack]; i < run.stackBegin[stack + 1]; i++) {
    const own = ownness(run, run.stackFrame[i]);
    if (own > most) {
      most = own;
      best = run.stackFrame[i];
    }
    if (own === OWN) break;
  }
  return best;
}

// A function of C++ without its parameters.
function withoutParameters(name) {
  for (let at = name.indexOf("(", 1); at > 0; at = name.indexOf("(", at + 1))
    if (!name.startsWith("(anonymous", at) && !name.startsWith("()", at))
      return name.slice(0, at);
  return name;
}

// For places without room for a whole path.
function frameShort(run, id) {
  const file = run.strings[run.frame[id * 3]];
  const line = run.frame[id * 3 + 1];
  const whole = run.strings[run.frame[id * 3 + 2]];
  const name = file === "" ? whole : withoutParameters(whole);
  const base = file.slice(Math.max(file.lastIndexOf("/"),
    file.lastIndexOf("\\")) + 1);
  const where = line ? `${base}:${line}` : base;
  const short = name.length > 48 ? name.slice(0, 47) + "…" : name;
  return where === "??" || where === "" ? short : `${where} ${short}`;
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

function bytesText(bytes) {
  let unit = 0, n = Math.abs(bytes);
  while (n >= 1024 && unit + 1 < UNITS.length) {
    n /= 1024;
    unit++;
  }
  const digits = unit === 0 ? 0 : n < 10 ? 2 : n < 100 ? 1 : 0;
  return `${bytes < 0 ? "−" : ""}${n.toFixed(digits)} ${UNITS[unit]}`;
}

function bytesExact(bytes) {
  return `${bytesText(bytes)} (${bytes.toLocaleString("en")} bytes)`;
}

function timeText(us) {
  if (us < 1000) return `${us.toFixed(0)} µs`;
  if (us < 1e6) return `${(us / 1000).toFixed(us < 1e4 ? 2 : 1)} ms`;
  return `${(us / 1e6).toFixed(us < 1e7 ? 2 : 1)} s`;
}

function addressText(address) {
  return "0x" + address.toString(16);
}
