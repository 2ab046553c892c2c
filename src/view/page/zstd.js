// zstd.js - decompresses zstd (RFC 8878), which browsers do not support yet.
// Checksums are ignored: damaged data is detected when it is not valid JSON
// or a valid pickle.

const ZSTD_FRAME = 0xfd2fb528, ZSTD_SKIPPED = 0x184d2a50;
const LITERALS_MAX = 1 << 17;

// Length codes: the minimum, and the number of extra bits.
function codes(from, plain, extra) {
  const base = [], bits = [...Array(plain).fill(0), ...extra];
  for (const count of bits) {
    base.push(from);
    from += 2 ** count;
  }
  return { base, bits };
}
const LITERAL_CODES = codes(0, 16, [1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10,
  11, 12, 13, 14, 15, 16]);
const MATCH_CODES = codes(3, 32, [1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10,
  11, 12, 13, 14, 15, 16]);

function broken(what) {
  throw new ReadError(`it is compressed with zstd, and broken: ${what}`);
}

// ---- bits ----

// Bits from bytes; a position may be before the first byte, where bits are
// zero.
function bitsAt(bytes, begin, bit, count) {
  if (count > 24)
    return bitsAt(bytes, begin, bit, 16) +
      bitsAt(bytes, begin, bit + 16, count - 16) * 65536;
  const first = begin + (bit >> 3);
  let word = 0;
  for (let i = 3; i >= 0; i--)
    word = word << 8 | (first + i >= begin ? bytes[first + i] : 0);
  return word >>> (bit & 7) & (1 << count) - 1;
}

// Reads from the end backwards; the highest set bit marks the end.
class BackwardBits {
  constructor(bytes, begin, end) {
    const last = bytes[end - 1];
    if (end <= begin || !last) broken("bits without an end");
    this.bytes = bytes;
    this.begin = begin;
    this.left = (end - begin) * 8 - 1 - Math.clz32(last) + 24;
  }

  read(count) {
    this.left -= count;
    return count === 0 ? 0
      : bitsAt(this.bytes, this.begin, this.left, count);
  }
}

// ---- tables ----

// Finite state entropy: the symbol of each state, and the bits to the next
// state.
class StateTable {
  constructor(counts, log) {
    const size = 1 << log, next = counts.map((n) => n < 0 ? 1 : n);
    this.log = log;
    this.symbol = new Uint8Array(size);
    this.bits = new Uint8Array(size);
    this.base = new Uint16Array(size);
    let high = size - 1, at = 0;
    counts.forEach((n, symbol) => {
      if (n < 0) this.symbol[high--] = symbol;
    });
    counts.forEach((n, symbol) => {
      for (let i = 0; i < n; i++) {
        this.symbol[at] = symbol;
        do at = at + (size >> 1) + (size >> 3) + 3 & size - 1;
        while (at > high);
      }
    });
    for (let state = 0; state < size; state++) {
      const x = next[this.symbol[state]]++;
      this.bits[state] = log - (31 - Math.clz32(x));
      this.base[state] = (x << this.bits[state]) - size;
    }
  }
}

function oneSymbol(symbol) {
  const table = new StateTable([1], 0);
  table.symbol[0] = symbol;
  return table;
}

const ones = (count) => Array(count).fill(1);
const twos = (count) => Array(count).fill(2);
const rare = (count) => Array(count).fill(-1);
// The default tables, if a block does not contain its own.
const USUAL = {
  literal: [[4, 3, ...twos(11), 1, 1, 1, ...twos(9), 3, 2, ...ones(5),
    ...rare(4)], 6],
  offset: [[...ones(6), 2, 2, 2, ...ones(15), ...rare(5)], 5],
  match: [[1, 4, 3, ...twos(6), ...ones(37), ...rare(7)], 6],
};

// A table of codes of up to 11 bits, built from the symbols' weights.
class HuffmanTable {
  constructor(weights) {
    let sum = 0;
    for (const weight of weights) if (weight > 0) sum += 2 ** (weight - 1);
    const log = this.log = 32 - Math.clz32(sum), left = (1 << log) - sum;
    if (sum === 0 || log > 11 || (left & left - 1) !== 0)
      broken("weights that do not add up");
    const all = [...weights, 32 - Math.clz32(left)];
    this.symbol = new Uint8Array(1 << log);
    this.bits = new Uint8Array(1 << log);
    let at = 0;
    for (let weight = 1; weight <= log; weight++)
      all.forEach((own, symbol) => {
        if (own !== weight) return;
        const end = at + (1 << weight - 1);
        this.symbol.fill(symbol, at, end);
        this.bits.fill(log + 1 - weight, at, end);
        at = end;
      });
  }

  decode(bytes, begin, end, out) {
    const stream = new BackwardBits(bytes, begin, end), { log } = this;
    for (let i = 0; i < out.length; i++) {
      const code = bitsAt(bytes, begin, stream.left - log, log);
      out[i] = this.symbol[code];
      stream.left -= this.bits[code];
    }
    if (stream.left !== 0) broken("literals that end elsewhere");
  }
}

// ---- frames ----

class ZstdReader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
    this.out = new Uint8Array(Math.max(65536, bytes.length * 4));
    this.used = 0;
  }

  // A number of `count` bytes, lowest first.
  number(count) {
    let value = 0;
    if (this.at + count > this.bytes.length) broken("it is cut short");
    for (let i = 0; i < count; i++)
      value += this.bytes[this.at++] * 2 ** (8 * i);
    return value;
  }

  // The offset of the next `count` bytes, which are consumed.
  take(count) {
    this.at += count;
    if (this.at > this.bytes.length) broken("it is cut short");
    return this.at - count;
  }

  grow(count) {
    if (this.used + count <= this.out.length) return;
    const wider = new Uint8Array(Math.max(this.out.length * 2,
      this.used + count));
    wider.set(this.out.subarray(0, this.used));
    this.out = wider;
  }

  put(bytes) {
    this.grow(bytes.length);
    this.out.set(bytes, this.used);
    this.used += bytes.length;
  }

  read() {
    while (this.at < this.bytes.length) {
      const magic = this.number(4);
      if (magic === ZSTD_FRAME) this.frame();
      else if ((magic & ~15) === ZSTD_SKIPPED) this.take(this.number(4));
      else broken(`byte ${this.at - 4} is no frame's`);
    }
    return this.out.subarray(0, this.used);
  }

  frame() {
    const flags = this.number(1), single = flags >> 5 & 1;
    if (!single) this.number(1);
    if (this.number([0, 1, 2, 4][flags & 3]) !== 0) broken("a dictionary");
    this.take(flags >> 6 ? 1 << (flags >> 6) : single);
    this.begin = this.used;
    this.huffman = null;
    this.tables = {};
    this.recent = [1, 4, 8];
    for (let last = 0; !last;) {
      const header = this.number(3), size = header >> 3;
      last = header & 1;
      this.block(header >> 1 & 3, size);
    }
    if (flags & 4) this.take(4);
  }

  block(kind, size) {
    if (kind === 0) {
      const from = this.take(size);
      this.put(this.bytes.subarray(from, from + size));
    } else if (kind === 1) {
      this.put(new Uint8Array(size).fill(this.number(1)));
    } else if (kind === 2) {
      const end = this.take(size) + size;
      this.at = end - size;
      this.sequences(this.literals(), end);
      this.at = end;
    } else {
      broken("a block of no kind");
    }
  }

  // ---- literals ----

  literals() {
    const kind = this.bytes[this.at] & 3, form = this.bytes[this.at] >> 2 & 3;
    if (kind < 2) {
      const wide = form === 1 ? 2 : form === 3 ? 3 : 1;
      const size = this.number(wide) >> (wide === 1 ? 3 : 4);
      const from = this.take(kind === 0 ? size : 1);
      return kind === 0 ? this.bytes.subarray(from, from + size)
        : new Uint8Array(size).fill(this.bytes[from]);
    }
    const bits = [10, 10, 14, 18][form], header = this.number([3, 3, 4, 5][form]);
    const size = Math.floor(header / 16) % 2 ** bits;
    const packed = Math.floor(header / 2 ** (4 + bits));
    if (size > LITERALS_MAX) broken("too many literals");
    const end = this.take(packed) + packed;
    this.at = end - packed;
    if (kind === 2) this.huffman = new HuffmanTable(this.weights());
    if (!this.huffman) broken("literals without a table");
    const out = new Uint8Array(size);
    this.streams(out, end, form === 0 ? 1 : 4);
    this.at = end;
    return out;
  }

  streams(out, end, count) {
    const part = count === 1 ? out.length : (out.length + 3) >> 2;
    const sizes = [];
    for (let i = 1; i < count; i++) sizes.push(this.number(2));
    for (let i = 0; i < count; i++) {
      const to = i + 1 < count ? this.at + sizes[i] : end;
      if (to > end) broken("literals beyond their block");
      this.huffman.decode(this.bytes, this.at, to,
        out.subarray(i * part, i + 1 < count ? (i + 1) * part : out.length));
      this.at = to;
    }
  }

  weights() {
    const header = this.number(1), out = [];
    if (header >= 128) {
      const from = this.take(header - 126 >> 1);
      for (let i = 0; i < header - 127; i++)
        out.push(this.bytes[from + (i >> 1)] >> (i % 2 === 0 ? 4 : 0) & 15);
      return out;
    }
    const end = this.take(header) + header;
    this.at = end - header;
    const table = this.stateTable(6);
    const stream = new BackwardBits(this.bytes, this.at, end);
    const states = [stream.read(table.log), stream.read(table.log)];
    for (let i = 0; out.length < 255; i = 1 - i) {
      out.push(table.symbol[states[i]]);
      states[i] = table.base[states[i]] + stream.read(table.bits[states[i]]);
      if (stream.left < 0) {
        out.push(table.symbol[states[1 - i]]);
        break;
      }
    }
    this.at = end;
    return out;
  }

  // ---- sequences ----

  // A table encoded as the frequencies of its symbols.
  stateTable(most) {
    const begin = this.at;
    let bit = 4;
    const log = (this.bytes[begin] & 15) + 5, counts = [];
    if (log > most) broken("a table that is too large");
    for (let left = 1 << log; left > 0;) {
      const wide = 32 - Math.clz32(left + 1), half = (1 << wide - 1) - 1;
      const few = (1 << wide) - 2 - left;
      let value = bitsAt(this.bytes, begin, bit, wide);
      bit += wide;
      if ((value & half) < few) {
        value &= half;
        bit--;
      } else if (value > half) {
        value -= few;
      }
      counts.push(value - 1);
      left -= Math.abs(value - 1);
      for (let more = value === 1 ? 3 : 0; more === 3;) {
        more = bitsAt(this.bytes, begin, bit, 2);
        bit += 2;
        for (let i = 0; i < more; i++) counts.push(0);
      }
      if (left < 0 || counts.length > 256) broken("a table that is too full");
    }
    this.take(bit + 7 >> 3);
    return new StateTable(counts, log);
  }

  tableOf(name, mode, most) {
    if (mode === 0) this.tables[name] = new StateTable(...USUAL[name]);
    else if (mode === 1) this.tables[name] = oneSymbol(this.number(1));
    else if (mode === 2) this.tables[name] = this.stateTable(most);
    if (!this.tables[name]) broken("a table that was never there");
    return this.tables[name];
  }

  sequenceCount() {
    const first = this.number(1);
    if (first < 128) return first;
    return first < 255 ? (first - 128) * 256 + this.number(1)
      : this.number(2) + 0x7f00;
  }

  sequences(literals, end) {
    let count = this.sequenceCount(), done = 0;
    if (count === 0) {
      this.put(literals);
      return;
    }
    const modes = this.number(1);
    const tables = [this.tableOf("literal", modes >> 6, 9),
      this.tableOf("offset", modes >> 4 & 3, 8),
      this.tableOf("match", modes >> 2 & 3, 9)];
    const stream = new BackwardBits(this.bytes, this.at, end);
    const states = tables.map((table) => stream.read(table.log));
    const step = (i) => {
      states[i] = tables[i].base[states[i]] +
        stream.read(tables[i].bits[states[i]]);
    };
    while (count-- > 0) {
      const [literal, offset, match] =
        tables.map((table, i) => table.symbol[states[i]]);
      const far = 2 ** offset + stream.read(offset);
      const long = MATCH_CODES.base[match] + stream.read(MATCH_CODES.bits[match]);
      const few = LITERAL_CODES.base[literal] +
        stream.read(LITERAL_CODES.bits[literal]);
      if (count > 0) [0, 2, 1].forEach(step);
      if (done + few > literals.length) broken("more literals than there are");
      this.put(literals.subarray(done, done += few));
      this.repeat(this.distance(far, few), long);
    }
    this.put(literals.subarray(done));
  }

  // The distance back: one of the last three, or a new one.
  distance(far, few) {
    const { recent } = this;
    if (far > 3) {
      this.recent = [far - 3, recent[0], recent[1]];
      return far - 3;
    }
    const which = far - 1 + (few === 0 ? 1 : 0);
    const back = which < 3 ? recent[which] : recent[0] - 1;
    if (which > 0)
      this.recent = [back, recent[0], which > 1 ? recent[1] : recent[2]];
    return back;
  }

  repeat(back, count) {
    if (!(back >= 1 && back <= this.used - this.begin))
      broken("a repetition of nothing");
    this.grow(count);
    const { out } = this;
    for (let to = this.used + count; this.used < to; this.used++)
      out[this.used] = out[this.used - back];
  }
}
