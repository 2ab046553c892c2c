// lifetimes.js - when each allocation lived, computed from a snapshot's events
// and final state, as in src/snapshot/lifetimes.c.

const BEFORE = -1; // before the first event
const TIME_MAX = 9223372036854775807; // the maximum time of the command
const SMALL_MAX = 2097152;
const KIND_SMALL = 0, KIND_LARGE = 1, KIND_EXPANDABLE = 2;

// The reserved addresses while the events are processed.
class Spans {
  constructor() {
    this.all = [];
    this.live = []; // by address
  }

  // The first live span that ends after an address.
  firstAfter(address) {
    let low = 0, high = this.live.length;
    while (low < high) {
      const middle = (low + high) >> 1, span = this.live[middle];
      if (span.address + span.size <= address) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  insert(at, span) {
    this.all.push(span);
    this.live.splice(at, 0, span);
  }

  // Split a live span at an address.
  cut(at, address) {
    const span = this.live[at];
    const rest = { ...span, address,
      size: span.address + span.size - address };
    span.size -= rest.size;
    this.insert(at + 1, rest);
  }

  cutEdges({ address, size }) {
    for (const edge of [address, address + size]) {
      const at = this.firstAfter(edge);
      if (at < this.live.length && this.live[at].address < edge)
        this.cut(at, edge);
    }
  }

  fillGaps(span) {
    const end = span.address + span.size;
    let { address } = span, at = this.firstAfter(address);
    while (address < end) {
      const next = at < this.live.length ? this.live[at].address : end;
      const until = Math.min(next, end);
      if (until > address)
        this.insert(at++, { ...span, address, size: until - address });
      if (at >= this.live.length || this.live[at].address >= end) break;
      address = this.live[at].address + this.live[at].size;
      at++;
    }
  }

  endInside({ address, size }, event) {
    const from = this.firstAfter(address);
    let to = from;
    while (to < this.live.length && this.live[to].address < address + size)
      this.live[to++].end = event;
    this.live.splice(from, to - from);
  }

  add(span) {
    this.cutEdges(span);
    this.endInside(span, span.start);
    this.insert(this.firstAfter(span.address), span);
  }

  remove(span, event) {
    this.cutEdges(span);
    this.fillGaps(span);
    this.endInside(span, event);
  }
}

function isSound(span) {
  return span.size > 0 && span.address + span.size < 18446744073709551616;
}

class Lifetimes {
  constructor(snapshot, device) {
    this.snapshot = snapshot;
    this.events = snapshot.devices[device] || [];
    this.allocs = [];
    this.alive = new Map();
    this.waiting = new Map();
    this.spans = new Spans();
    this.odd = 0;
    this.events.forEach((event, n) => this.onEvent(event, n));
    const segments = snapshot.segments.filter((s) => s.device === device);
    for (const segment of segments) this.addSegment(segment);
    for (const segment of segments) this.correctKind(segment);
    this.allocs = [...this.allocs.filter((a) => a.start === BEFORE),
      ...this.allocs.filter((a) => a.start !== BEFORE)];
  }

  append(from, start) {
    const n = this.events.length;
    const made = { address: from.address, size: from.size,
      rounded: this.snapshot.round(from.size), start, end: n, done: n,
      stack: start === BEFORE ? NO_STACK : from.stack, stream: from.stream,
      note: from.note };
    this.allocs.push(made);
    return made;
  }

  onEvent(event, n) {
    const name = ACTIONS[event.action];
    if (name === "alloc") this.onAlloc(event, n);
    else if (name === "free_requested") this.onFreeRequested(event, n);
    else if (name === "free_completed") this.onFreeCompleted(event, n);
    else if (name.startsWith("segment_")) this.onSegment(event, name, n);
  }

  onAlloc(event, n) {
    const old = this.alive.get(event.address);
    if (old) {
      old.end = old.done = n;
      this.odd++;
    }
    this.alive.set(event.address, this.append(event, n));
  }

  // The allocation that an event ends: one whose allocation was recorded, or
  // one from before the recording.
  endedBy(map, event) {
    const found = map.get(event.address);
    map.delete(event.address);
    return found || this.append(event, BEFORE);
  }

  onFreeRequested(event, n) {
    if (!this.alive.has(event.address) && this.waiting.has(event.address)) {
      this.odd++;
      return;
    }
    const ended = this.endedBy(this.alive, event);
    ended.end = n;
    this.waiting.set(event.address, ended);
  }

  onFreeCompleted(event, n) {
    const ended = this.endedBy(this.waiting, event);
    if (ended.start === BEFORE && ended.end === this.events.length)
      ended.end = BEFORE;
    ended.done = n;
  }

  onSegment(event, name, n) {
    const begins = name === "segment_alloc" || name === "segment_map";
    const mapped = name === "segment_map" || name === "segment_unmap";
    const span = { address: event.address, size: event.size,
      start: begins ? n : BEFORE, end: this.events.length,
      stream: event.stream, pool: event.pool, kind: mapped ? KIND_EXPANDABLE
        : event.size <= SMALL_MAX ? KIND_SMALL : KIND_LARGE };
    if (!isSound(span)) return;
    if (begins) this.spans.add(span);
    else this.spans.remove(span, n);
  }

  kindOf(segment) {
    if (segment.expandable) return KIND_EXPANDABLE;
    return segment.type === "small" ? KIND_SMALL : KIND_LARGE;
  }

  addSegment(segment) {
    const span = { address: segment.address, size: segment.size,
      start: BEFORE, end: this.events.length, stream: segment.stream,
      pool: segment.pool,
      kind: this.kindOf(segment) };
    if (isSound(span)) this.spans.fillGaps(span);
    for (const block of segment.blocks)
      if (block.state !== "inactive") this.addBlock(segment, block);
  }

  // A block of the final state completes what is known of its allocation;
  // without one, it has existed since before the recording.
  addBlock(segment, block) {
    const pending = block.state !== "active_allocated";
    const map = pending ? this.waiting : this.alive;
    const seen = map.get(block.address);
    if (seen) {
      seen.rounded = block.size;
      return;
    }
    const made = this.append({ address: block.address, size: block.requested,
      stream: segment.stream, note: block.note }, BEFORE);
    made.rounded = block.size;
    made.stack = block.stack;
    if (pending) made.end = BEFORE;
    map.set(block.address, made);
  }

  // The type of segments created during the recording is known only from the
  // final state.
  correctKind(segment) {
    if (segment.expandable || !/^(small|large)$/.test(segment.type)) return;
    const span = this.spans.live.find((s) => s.address >= segment.address);
    if (!span || span.address !== segment.address) return;
    span.kind = this.kindOf(segment);
    span.pool = segment.pool;
  }

  // ---- the columns that a page has ----

  column(Type, records, value) {
    return Type.from(records, value);
  }

  allocColumns() {
    const { allocs } = this;
    const column = (Type, name) => this.column(Type, allocs, (a) => a[name]);
    const made = {
      start: column(Int32Array, "start"), end: column(Int32Array, "end"),
      done: column(Int32Array, "done"),
      address: column(Float64Array, "address"),
      size: column(Float64Array, "size"),
      rounded: column(Float64Array, "rounded"),
      stack: column(Uint32Array, "stack"),
      stream: column(Uint32Array, "stream"),
    };
    if (allocs.some((a) => a.note !== 0))
      made.note = column(Uint32Array, "note");
    return made;
  }

  segmentColumns() {
    const column = (Type, name) =>
      this.column(Type, this.spans.all, (s) => s[name]);
    return { address: column(Float64Array, "address"),
      size: column(Float64Array, "size"), start: column(Int32Array, "start"),
      end: column(Int32Array, "end"), stream: column(Uint32Array, "stream"),
      kind: column(Uint8Array, "kind") };
  }

  // Times are microseconds since the first known one, and never decrease.
  eventColumns() {
    const { events } = this;
    const timed = events.find((e) => e.time !== null);
    let latest = 0;
    return {
      action: this.column(Uint8Array, events, (e) => e.action),
      bytes: this.column(Float64Array, events, (e) => e.size),
      address: this.column(Float64Array, events, (e) =>
        ACTIONS[e.action] === "oom" ? 0 : e.address),
      time: this.column(Float64Array, events, (e) => {
        if (e.time !== null) latest = Math.max(latest, e.time - timed.time);
        return Math.min(latest, TIME_MAX);
      }),
    };
  }

  columns() {
    return { event: this.eventColumns(), alloc: this.allocColumns(),
      segment: this.segmentColumns() };
  }

  // The first event not before a time.
  eventAt(time) {
    let low = 0, high = this.events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.events[middle].time || 0) < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
