// shortage.js - the state at a moment, and why a request failed, if the page
// reads the snapshot itself: the rules of moment.c and shortage.c; tests
// compare them.

const MIB = 1048576;

// ---- a moment ----

function began(start, state) {
  return start === BEFORE || start < state;
}

function inUse(a, state) {
  return began(a.start, state) && a.end !== BEFORE && a.end >= state;
}

function isPending(a, state) {
  return began(a.start, state) && !inUse(a, state) && a.done >= state;
}

// Adjacent reserved addresses of one stream and pool.
function areasOf(lives, state) {
  const areas = [];
  const spans = lives.spans.all
    .filter((s) => began(s.start, state) && s.end >= state)
    .sort((x, y) => x.address - y.address);
  for (const { address, size, stream, pool, kind } of spans) {
    const last = areas[areas.length - 1];
    if (last && kind === KIND_EXPANDABLE && last.kind === KIND_EXPANDABLE &&
        last.stream === stream && last.pool === pool &&
        last.address + last.size === address)
      last.size += size;
    else
      areas.push({ address, size, stream, pool, kind, allocated: 0, pending: 0,
        largestGap: 0, count: 0 });
  }
  return areas;
}

class Moment {
  constructor(lives, state) {
    this.state = state;
    this.areas = areasOf(lives, state);
    this.live = lives.allocs.map((a, number) => ({ a, number }))
      .filter(({ a }) => inUse(a, state) || isPending(a, state))
      .sort((x, y) => x.a.address - y.a.address);
    this.gaps = 0;
    this.outside = 0;
    this.reserved = this.areas.reduce((sum, area) => sum + area.size, 0);
    const sum = (list) => list.reduce((all, { a }) => all + a.rounded, 0);
    this.used = this.live.filter(({ a }) => inUse(a, state));
    this.allocated = sum(this.used);
    this.requested = this.used.reduce((all, { a }) => all + a.size, 0);
    this.pending = sum(this.live) - this.allocated;
    let at = 0;
    for (const area of this.areas) at = this.fill(area, at);
    this.outside += sum(this.live.slice(at));
  }

  gap(area, from, to) {
    if (from >= to) return;
    this.gaps++;
    area.largestGap = Math.max(area.largestGap, to - from);
  }

  // Fill in an area from its allocations, which begin at live[at].
  fill(area, at) {
    const { live } = this, end = area.address + area.size;
    let free = area.address;
    for (; at < live.length && live[at].a.address < free; at++)
      this.outside += live[at].a.rounded;
    for (; at < live.length && live[at].a.address < end; at++) {
      const { a } = live[at];
      this.gap(area, free, a.address);
      free = Math.max(free, a.address + a.rounded);
      area[inUse(a, this.state) ? "allocated" : "pending"] += a.rounded;
      area.count++;
    }
    this.gap(area, free, end);
    return at;
  }
}

// ---- an out-of-memory event ----

class Shortage {
  constructor(snapshot, lives, number) {
    const event = lives.events[number];
    const moment = this.moment = new Moment(lives, number);
    Object.assign(this, { event, number, asked: event.size,
      segmentBytes: snapshot.segmentFor(event.size), small: event.size <= MIB,
      expandable: snapshot.expandable,
      driverKnown: event.known, driverFree: event.known ? event.address : 0,
      free: 0, wholeFree: 0, ownFree: 0, ownLargest: 0, streamLargest: 0,
      poolLargest: 0 });
    for (const area of moment.areas) this.look(area);
    this.attainable = this.driverFree +
      Math.max(moment.reserved, moment.allocated + moment.pending);
    this.wouldFit = Math.max(this.ownLargest,
      Math.floor(this.driverFree / (2 * MIB)) * 2 * MIB);
    this.needed = moment.allocated + moment.pending + this.asked;
    this.cause = this.causeOf();
  }

  mayUse(area) {
    return area.stream === this.event.stream && area.pool === this.event.pool &&
      (area.kind === KIND_EXPANDABLE ||
        this.small === (area.kind === KIND_SMALL));
  }

  look(area) {
    const free = Math.max(0, area.size - area.allocated - area.pending);
    this.free += free;
    if (area.count === 0) this.wholeFree += free;
    if (area.kind === KIND_EXPANDABLE) this.expandable = true;
    const largest = this.mayUse(area) ? "ownLargest"
      : area.stream !== this.event.stream ? "streamLargest" : "poolLargest";
    this[largest] = Math.max(this[largest], area.largestGap);
  }

  causeOf() {
    const { asked } = this, all = this.free + this.driverFree;
    if (this.driverKnown && this.driverFree >= this.segmentBytes) return "limit";
    if (this.ownLargest >= asked) return "refused";
    if (this.streamLargest >= asked) return "streams";
    if (this.poolLargest >= asked) return "pools";
    if (all >= asked) return "pieces";
    return all + this.moment.pending >= asked ? "pending" : "too much";
  }
}

// The holders of memory in use: [label, bytes, allocations], largest first.
function holdersAt(run, moment, wanted) {
  const held = new Map();
  for (const { a, number } of moment.used) {
    if (wanted && !wanted(number)) continue;
    const own = ownFrame(run, a.stack);
    const group = held.get(own) || { own, bytes: 0, count: 0, older: 0 };
    group.bytes += a.rounded;
    group.count++;
    group.older += a.start === BEFORE && moment.events > 0;
    held.set(own, group);
  }
  const order = (own) => own < 0 ? Infinity : own;
  return [...held.values()].sort((x, y) => y.bytes - x.bytes ||
    order(x.own) - order(y.own));
}
