// remedy.js - changes of a program and how much lower the peak of the whole run
// would be with each, if the page reads the snapshot itself: remedy.c; tests
// compare the two.  What iterations leave behind is left to the command.

const PIECES = 8;
const OF_SOFTMAX = 1, OF_LOSS = 2, OF_FUSED = 4;
const LOSSES = ["cross_entropy", "CrossEntropy", "nll_loss", "NllLoss",
  "log_softmax", "LogSoftmax"];

// A program's own function may have the name of the fused one.
function frameMarks(run, id) {
  const text = (part) => part.length > TEXT_MAX ? "" : part;
  const name = text(frameName(run, id)), file = text(frameFile(run, id));
  if (LOSSES.some((part) => name.includes(part))) return OF_LOSS;
  if (name.includes("scaled_dot_product") && !file.includes(".py"))
    return OF_FUSED;
  return /[sS]oftmax/.test(name) ? OF_SOFTMAX : 0;
}

function stackMarks({ snapshot, run }, stack) {
  let marks = 0;
  if (stack === NO_STACK || snapshot.stacksAreNotes) return marks;
  for (const id of stackFrames(run, stack))
    marks |= frameMarks(run, id);
  return marks;
}

function attentionBytes(known, stack, bytes) {
  return stackMarks(known, stack) === OF_SOFTMAX ? bytes : 0;
}

function lossBytes(known, stack, bytes) {
  return stackMarks(known, stack) & OF_LOSS
    ? Math.floor(bytes / PIECES) * (PIECES - 1) : 0;
}

function mainLine(known, moment, category) {
  const [first] = holdersAt(known.run, moment, (number) =>
    known.categories[number] === category);
  return first ? first.own : -1;
}

function temporariesLine(known, moment) {
  const line = mainLine(known, moment, TEMPORARIES);
  return line >= 0 && known.run.kind[line] >= FRAME_TORCH ? line : -1;
}

// What would be smaller, as functions of an allocation: [name, bytes].
function remediesOf(known, moment) {
  const { run } = known, line = temporariesLine(known, moment);
  const of = (category, less) => ({ rounded }, number) =>
    known.categories[number] === category ? less(rounded) : 0;
  const half = (bytes) => Math.floor(bytes / 2);
  const temporaries = of(TEMPORARIES, half);
  return [
    ["attention", (a) => attentionBytes(known, a.stack, a.rounded)],
    ["loss", (a) => lossBytes(known, a.stack, a.rounded)],
    ["activations", of(ACTIVATIONS, half)],
    ["temporaries", (a, number) =>
      line < 0 || (a.stack !== NO_STACK && ownFrame(run, a.stack) === line)
        ? temporaries(a, number) : 0],
    ["optimizer", of(OPTIMIZER, (bytes) => Math.floor(bytes / 4) * 3)],
    ["weights", of(WEIGHTS, half)]];
}

// By how much the peak of the run is lower without those bytes, wherever it is
// then; of what is in use at the peak, the sum and the largest.
function remedyWorth({ lives, device }, lessOf) {
  const { allocated } = device.curve, count = device.events;
  const less = new Float64Array(count + 2);
  const worth = { bytes: 0, atPeak: 0, largest: null };
  let gone = 0, peak = 0;
  lives.allocs.forEach((a, number) => {
    const bytes = lessOf(a, number);
    const begin = a.start === BEFORE ? 0 : a.start + 1;
    if (bytes === 0 || a.end === BEFORE || begin > a.end) return;
    less[begin] += bytes;
    if (a.end < count) less[a.end + 1] -= bytes;
    if (!inUse(a, device.peak)) return;
    worth.atPeak += a.rounded;
    if (!worth.largest || a.rounded > worth.largest.rounded) worth.largest = a;
  });
  if (worth.atPeak === 0) return worth;
  for (let state = 0; state <= count; state++) {
    gone += less[state];
    peak = Math.max(peak, allocated[state] - gone);
  }
  worth.bytes = allocated[device.peak] - peak;
  return worth;
}
