// pickle.js - converts a pickle (protocols 0 to 5) to objects, lists, strings
// and numbers.  Opcodes that run code are rejected: no snapshot needs them.

class ReadError extends Error {}

const PICKLE_DEEPEST = 1000;

class PickleReader {
  constructor(bytes) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
    this.begin = 0;
    this.stack = [];
    this.marks = [];
    this.memo = [];
    this.decoder = new TextDecoder("utf-8");
  }

  fail(what) {
    throw new ReadError(`byte ${this.begin}: ${what}`);
  }

  // The offset of the next `count` bytes, which are consumed.
  take(count) {
    const from = this.at;
    if (count < 0 || count > this.bytes.length - from)
      this.fail("the file ends here; expected more of a pickle");
    this.at += count;
    return from;
  }

  byte() { return this.bytes[this.take(1)]; }

  uint16() { return this.view.getUint16(this.take(2), true); }

  uint32() { return this.view.getUint32(this.take(4), true); }

  int32() { return this.view.getInt32(this.take(4), true); }

  uint64() {
    const from = this.take(8);
    return this.view.getUint32(from, true) +
      this.view.getUint32(from + 4, true) * 4294967296;
  }

  text(count) {
    const from = this.take(count);
    return this.decoder.decode(this.bytes.subarray(from, this.at));
  }

  line() {
    const end = this.bytes.indexOf(10, this.at);
    if (end < 0) this.fail("a line without an end");
    const text = this.text(end - this.at);
    this.at++;
    return text;
  }

  // Little-endian, two's complement.
  long(count) {
    const from = this.take(count);
    let value = 0, scale = 1;
    for (let i = 0; i < count; i++, scale *= 256)
      value += this.bytes[from + i] * scale;
    return count > 0 && this.bytes[this.at - 1] > 127 ? value - scale : value;
  }

  push(value) { this.stack.push(value); }

  pop() {
    if (this.stack.length === 0) this.fail("nothing is on the stack");
    return this.stack.pop();
  }

  top() {
    if (this.stack.length === 0) this.fail("nothing is on the stack");
    return this.stack[this.stack.length - 1];
  }

  mark() {
    if (this.marks.length === PICKLE_DEEPEST)
      this.fail(`nested deeper than the limit of ${PICKLE_DEEPEST}`);
    this.marks.push(this.stack.length);
  }

  // The values since the last mark.
  sinceMark() {
    const base = this.marks.pop();
    if (base === undefined || base > this.stack.length)
      this.fail("no mark is open here");
    return this.stack.splice(base);
  }

  append(values) {
    const list = this.top();
    if (!Array.isArray(list)) this.fail("items for what is no list");
    for (const value of values) list.push(value);
  }

  setItems(values) {
    const dict = this.top();
    if (dict === null || typeof dict !== "object" || Array.isArray(dict))
      this.fail("keys for what is no dict");
    if (values.length % 2 !== 0) this.fail("a key without a value");
    for (let i = 0; i < values.length; i += 2)
      if (values[i] !== "__proto__") dict[values[i]] = values[i + 1];
    // Most of a snapshot is lists of frames: each is replaced by a number at
    // once.
    if (Array.isArray(dict.frames)) dict.frames = this.stackOf(dict.frames);
  }

  get(index) {
    if (!(index in this.memo)) this.fail(`memo ${index} was never set`);
    this.push(this.memo[index]);
  }

  put(index) { this.memo[index] = this.top(); }

  // Decimal, with a trailing L for a long.
  decimal() {
    const text = this.line();
    if (text === "00" || text === "01") return text === "01";
    const value = Number(text.replace(/L$/, ""));
    if (text === "" || Number.isNaN(value)) this.fail("no integer");
    return value;
  }

  real() {
    const value = Number(this.line());
    if (Number.isNaN(value)) this.fail("no float");
    return value;
  }

  // A string literal of Python.
  quoted() {
    const text = this.line();
    if (!/^(['"]).*\1$/s.test(text)) this.fail("no string");
    return text.slice(1, -1).replace(/\\(?:x([0-9a-f]{2})|(.))/gi,
      (all, hex, char) => hex ? String.fromCharCode(parseInt(hex, 16))
        : { n: "\n", t: "\t", r: "\r" }[char] || char);
  }

  raw() {
    return this.line().replace(/\\u([0-9a-f]{4})|\\U([0-9a-f]{8})/gi,
      (all, four, eight) => String.fromCodePoint(parseInt(four || eight, 16)));
  }

  read() {
    for (;;) {
      this.begin = this.at;
      const opcode = this.byte();
      if (opcode === STOP) return this.pop();
      const act = PICKLE_OPCODES[opcode];
      if (!act)
        this.fail(`opcode 0x${opcode.toString(16)}; expected one that makes ` +
          "lists, dicts, strings and numbers");
      act(this);
    }
  }
}

const STOP = ".".charCodeAt(0);

// By opcode, named as in Python's pickletools.
const PICKLE_OPCODES = [];
for (const [code, act] of Object.entries({
  "(": (r) => r.mark(),
  0: (r) => r.pop(),
  1: (r) => r.sinceMark(),
  2: (r) => r.push(r.top()),
  N: (r) => r.push(null),
  I: (r) => r.push(r.decimal()),
  L: (r) => r.push(r.decimal()),
  F: (r) => r.push(r.real()),
  J: (r) => r.push(r.int32()),
  K: (r) => r.push(r.byte()),
  M: (r) => r.push(r.uint16()),
  G: (r) => r.push(r.view.getFloat64(r.take(8), false)),
  S: (r) => r.push(r.quoted()),
  T: (r) => r.push(r.text(r.uint32())),
  U: (r) => r.push(r.text(r.byte())),
  V: (r) => r.push(r.raw()),
  X: (r) => r.push(r.text(r.uint32())),
  "]": (r) => r.push([]),
  l: (r) => r.push(r.sinceMark()),
  ")": (r) => r.push([]),
  t: (r) => r.push(r.sinceMark()),
  "}": (r) => r.push({}),
  d: (r) => { const items = r.sinceMark(); r.push({}); r.setItems(items); },
  a: (r) => { const value = r.pop(); r.append([value]); },
  e: (r) => r.append(r.sinceMark()),
  s: (r) => { const value = r.pop(), key = r.pop(); r.setItems([key, value]); },
  u: (r) => r.setItems(r.sinceMark()),
  p: (r) => r.put(r.decimal()),
  q: (r) => r.put(r.byte()),
  r: (r) => r.put(r.uint32()),
  g: (r) => r.get(r.decimal()),
  h: (r) => r.get(r.byte()),
  j: (r) => r.get(r.uint32()),
  "\x80": (r) => {
    const protocol = r.byte();
    if (protocol > 5) r.fail(`pickle protocol ${protocol}; expected 0 to 5`);
  },
  "\x85": (r) => r.push([r.pop()]),
  "\x86": (r) => r.push(r.stack.splice(-2)),
  "\x87": (r) => r.push(r.stack.splice(-3)),
  "\x88": (r) => r.push(true),
  "\x89": (r) => r.push(false),
  "\x8a": (r) => r.push(r.long(r.byte())),
  "\x8b": (r) => r.push(r.long(r.int32())),
  "\x8c": (r) => r.push(r.text(r.byte())),
  "\x8d": (r) => r.push(r.text(r.uint64())),
  "\x94": (r) => r.put(r.memo.length),
  "\x95": (r) => r.take(8),
}))
  PICKLE_OPCODES[code.charCodeAt(0)] = act;

// `stackOf` converts a list of frames to what represents it.
function readPickle(bytes, stackOf) {
  const reader = new PickleReader(bytes);
  reader.stackOf = stackOf;
  return reader.read();
}
