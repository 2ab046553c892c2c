// snapshot.js - the contents of PyTorch's memory snapshots of all versions, as
// in src/snapshot: strings, frames and stacks stored once, events and
// segments under the same names.

// Distinct items, each with a number.
class Numbers {
  constructor(first) {
    this.list = [];
    this.number = new Map();
    this.of(first);
  }

  of(value) {
    let number = this.number.get(value);
    if (number === undefined) {
      number = this.list.length;
      this.number.set(value, number);
      this.list.push(value);
    }
    return number;
  }
}

// Stacks by their frames.  A list that was already converted keeps its number.
class Stacks {
  constructor() {
    this.strings = new Numbers("");
    this.frames = new Numbers(null);
    this.frames.list.length = 0;
    this.frames.number.clear();
    this.begins = [0, 0];
    this.ids = [];
    this.byHash = new Map();
    this.numbers = new WeakMap();
    this.frameNumbers = new WeakMap();
  }

  frameOf(frame) {
    if (frame === null || typeof frame !== "object")
      throw new ReadError("a frame that is no dict");
    let number = this.frameNumbers.get(frame);
    if (number === undefined) {
      const line = numberOr(0, frame.line, 0, 4294967295);
      const file = this.strings.of(textOf(frame.filename, "filename"));
      const name = this.strings.of(textOf(frame.name, "name"));
      number = this.frames.of(`${file} ${line} ${name}`);
      this.frameNumbers.set(frame, number);
    }
    return number;
  }

  of(list) {
    const known = this.numbers.get(list);
    if (known !== undefined) return known;
    const ids = list.map((frame) => this.frameOf(frame));
    const number = ids.length === 0 ? NO_STACK : this.numberOf(ids);
    this.numbers.set(list, number);
    list.length = 0;
    return number;
  }

  numberOf(ids) {
    let hash = ids.length;
    for (const id of ids) hash = Math.imul(hash, 0x01000193) ^ id;
    const alike = this.byHash.get(hash) || [];
    for (const number of alike) if (this.same(number, ids)) return number;
    const number = this.begins.length - 1;
    for (const id of ids) this.ids.push(id);
    this.begins.push(this.ids.length);
    alike.push(number);
    this.byHash.set(hash, alike);
    return number;
  }

  same(number, ids) {
    const from = this.begins[number];
    if (this.begins[number + 1] - from !== ids.length) return false;
    for (let i = 0; i < ids.length; i++)
      if (this.ids[from + i] !== ids[i]) return false;
    return true;
  }

  // Three numbers for each frame, as in a page.
  columns() {
    const frame = new Uint32Array(this.frames.list.length * 3);
    this.frames.list.forEach((text, i) => frame.set(text.split(" "), i * 3));
    return { frame, begin: Uint32Array.from(this.begins),
      ids: Uint32Array.from(this.ids) };
  }
}

function textOf(value, what) {
  if (value === undefined || value === null) return "";
  if (typeof value !== "string")
    throw new ReadError(`"${what}" is no string`);
  return value;
}

function sizeOf(value, what) {
  if (value === undefined || value === null) return 0;
  if (typeof value !== "number" || value < 0)
    throw new ReadError(`"${what}" is no integer from 0 on`);
  return value;
}

// What makes no sense is unknown: `unknown` stands for it.
function numberOr(unknown, value, least, most) {
  return Number.isInteger(value) && value >= least && value <= most ? value
    : unknown;
}

// Addresses may be written as negative numbers.
function addressOf(value, what) {
  if (value === undefined || value === null) return 0;
  if (typeof value !== "number") throw new ReadError(`"${what}" is no integer`);
  return value < 0 ? value + 18446744073709551616 : value;
}

function listOf(value, what) {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new ReadError(`"${what}" is no list`);
  return value;
}

function dictOf(value, what) {
  if (value === null || typeof value !== "object" || Array.isArray(value))
    throw new ReadError(`${what} that is no dict`);
  return value;
}

class Snapshot {
  constructor(value, stacks) {
    this.stacks = stacks;
    this.streams = new Numbers(0);
    const root = Array.isArray(value) ? { segments: value }
      : dictOf(value, "the file is something");
    if (root.segments === undefined)
      throw new ReadError('no key "segments"; expected a memory snapshot');
    this.roundup = this.readRoundup(root.allocator_settings);
    this.expandable =
      (root.allocator_settings || {}).expandable_segments === true;
    this.largeSegment = this.readLargeSegment(root);
    this.maxSplit = (root.allocator_settings || {}).max_split_size > 0;
    this.pools = new Numbers("0,0");
    this.table = this.readTable(root);
    this.devices = listOf(root.device_traces, "device_traces").map((events) =>
      listOf(events, "device_traces").map((e) => this.readEvent(e)));
    this.segments = listOf(root.segments, "segments").map((segment) =>
      this.readSegment(segment));
    this.annotations = listOf(root.external_annotations,
      "external_annotations");
    this.stacksAreNotes = this.stacks.begins.length === 2;
    if (this.stacksAreNotes) this.notesAsStacks();
  }

  // Stacks by number, as the command writes them in JSON; null: there are none.
  readTable(root) {
    if (root.stacks === undefined || root.frames === undefined) return null;
    const { stacks } = this;
    // A pickle's list of frames was converted to a stack.
    const frames = typeof root.frames === "number"
      ? stacks.ids.slice(stacks.begins[root.frames],
        stacks.begins[root.frames + 1])
      : listOf(root.frames, "frames").map((frame) => stacks.frameOf(frame));
    return listOf(root.stacks, "stacks").map((list) => {
      const ids = listOf(list, "stacks").map((n) => frames[n]);
      if (ids.includes(undefined))
        throw new ReadError("a stack holds what is no number of a frame");
      return ids.length === 0 ? NO_STACK : stacks.numberOf(ids);
    });
  }

  stackOf(value) {
    if (value === undefined || value === null) return NO_STACK;
    if (typeof value !== "number")
      return this.stacks.of(listOf(value, "frames"));
    const stack = this.table ? this.table[value] : value;
    if (stack === undefined || stack >= this.stacks.begins.length - 1)
      throw new ReadError(`there is a reference to stack ${value}`);
    return stack;
  }

  poolOf(record) {
    return this.pools.of(listOf(record.pool_id ?? record.segment_pool_id ??
      [0, 0], "pool_id").join());
  }

  // The program's text, under either key.
  noteOf(record) {
    return this.stacks.strings.of(textOf(record.user_metadata ??
      record.category, "user_metadata"));
  }

  readEvent(record) {
    dictOf(record, "an event");
    const action = ACTIONS.indexOf(textOf(record.action, "action"));
    return {
      action: action < 0 ? ACTIONS.length - 1 : action,
      address: addressOf(record.addr ?? record.device_free, "addr"),
      size: sizeOf(record.size, "size"),
      stream: this.streams.of(addressOf(record.stream, "stream")),
      time: numberOr(null, record.time_us, -9223372036854775808,
        9223372036854775808), pool: this.poolOf(record),
      known: (record.addr ?? record.device_free ?? null) !== null,
      stack: this.stackOf(record.frames),
      note: this.noteOf(record),
    };
  }

  readSegment(record) {
    dictOf(record, "a segment");
    const address = addressOf(record.address, "address");
    let place = address;
    return {
      address, size: sizeOf(record.total_size, "total_size"),
      device: sizeOf(record.device, "device"),
      stream: this.streams.of(addressOf(record.stream, "stream")),
      pool: this.poolOf(record),
      type: record.segment_type, expandable: record.is_expandable === true,
      blocks: listOf(record.blocks, "blocks").map((block) => {
        const made = this.readBlock(block, place);
        place += made.size;
        return made;
      }),
    };
  }

  // Blocks of old versions have no address: they are adjacent.
  readBlock(record, place) {
    dictOf(record, "a block");
    const history = listOf(record.history, "history");
    const size = sizeOf(record.size, "size");
    const frames = record.frames ?? (history[0] && history[0].frames);
    return {
      address: record.address === undefined || record.address === null ? place
        : addressOf(record.address, "address"),
      size, requested: numberOr(size, record.requested_size, 0, 2 ** 64),
      state: textOf(record.state, "state"),
      stack: this.stackOf(frames), note: this.noteOf(record),
    };
  }

  // [bytes, divisions], in order of application.
  readRoundup(settings) {
    const found = settings && settings.roundup_power2_divisions;
    return found ? Object.entries(found).map(([mib, divisions]) =>
      [Number(mib) * 1048576, divisions]) : [];
  }

  // As recorded; PyTorch writes it in its text alone.
  readLargeSegment(root) {
    const settings = root.allocator_settings || {};
    const text = (root.larder || {}).conf || settings.PYTORCH_CUDA_ALLOC_CONF ||
      settings.PYTORCH_ALLOC_CONF || settings.PYTORCH_HIP_ALLOC_CONF || "";
    const [, mib] = /large_segment_size_mb\s*:\s*(\d+)/.exec(text) || [0, 20];
    return Number(mib) * 1048576;
  }

  // What a request takes from the driver: larder_conf_segment().
  segmentFor(bytes) {
    const size = this.round(bytes);
    if (size <= 1048576) return 2097152;
    return size < 10485760 ? this.largeSegment
      : Math.ceil(size / 2097152) * 2097152;
  }

  // Without call paths the program's notes replace them.
  notesAsStacks() {
    const stackOf = new Map([[0, NO_STACK]]);
    const use = (record) => {
      if (!stackOf.has(record.note))
        stackOf.set(record.note, this.stacks.numberOf(
          [this.stacks.frames.of(`0 0 ${record.note}`)]));
      record.stack = stackOf.get(record.note);
    };
    for (const events of this.devices) events.forEach(use);
    for (const segment of this.segments) segment.blocks.forEach(use);
  }

  // A request's size, rounded as the recorded settings say.
  round(bytes) {
    let divisions = 0, step = 512;
    this.roundup.forEach(([from, count], i) => {
      if (i === 0 || bytes >= from) divisions = count;
    });
    if (bytes > 4611686018427387904) return bytes;
    if (bytes < 512) return 512;
    if (divisions > 1 && bytes > 512 * divisions) {
      let power = 512;
      while (power <= bytes / 2) power *= 2;
      step = Math.max(512, Math.floor(power / divisions));
    }
    return Math.ceil(bytes / step) * step;
  }

  // Devices with events or segments.
  deviceNumbers() {
    const used = new Set(this.segments.map((segment) => segment.device));
    this.devices.forEach((events, i) => { if (events.length) used.add(i); });
    return used.size > 0 ? [...used].sort((x, y) => x - y) : [0];
  }
}

const ZSTD = "40 181 47 253";

// Read the bytes of a file; throws ReadError if it is no snapshot.
function readSnapshot(bytes) {
  if (bytes.subarray(0, 4).join(" ") === ZSTD)
    return readSnapshot(new ZstdReader(bytes).read());
  const stacks = new Stacks();
  const start = bytes.findIndex((byte) => ![9, 10, 13, 32].includes(byte));
  const magic = [...bytes.subarray(0, 4)].join(" ");
  if (magic.startsWith("31 139"))
    throw new ReadError("it is compressed with gzip: unpack it first");
  if (magic.startsWith("80 75"))
    throw new ReadError("it is a zip archive, as torch.save() writes; " +
      "expected what torch.cuda.memory._dump_snapshot() does");
  const value = bytes[start] === 123 ? readJson(bytes)
    : readPickle(bytes, (list) => stacks.of(list));
  return new Snapshot(value, stacks);
}

function readJson(bytes) {
  try {
    return JSON.parse(new TextDecoder("utf-8").decode(bytes));
  } catch (error) {
    throw new ReadError(error.message);
  }
}
