// categories.js - what allocations are for, if the page reads the snapshot
// itself: the rules of categories.c; tests compare the two.

const CATEGORIES = ["unknown", "weights", "gradients", "optimizer state",
  "activations", "temporaries", "long-lived"];
const UNKNOWN = 0, WEIGHTS = 1, GRADIENTS = 2, OPTIMIZER = 3, ACTIVATIONS = 4,
  TEMPORARIES = 5, LONG_LIVED = 6;
const TEMPORARY_EVENTS = 32;

const BY_OPTIMIZER = 1, BY_BACKWARD = 2, BY_FORWARD = 4, BY_SETUP = 8,
  BY_SOMEONE = 16, BY_ZERO_GRAD = 32;
const SIGNS_OF_FILES = [["/optim/", BY_OPTIMIZER], ["\\optim\\", BY_OPTIMIZER],
  ["optimizer", BY_OPTIMIZER]];
const SIGNS_OF_NAMES = [["Optimizer", BY_OPTIMIZER],
  ["backward", BY_BACKWARD], ["Backward", BY_BACKWARD],
  ["autograd::Engine", BY_BACKWARD], ["forward", BY_FORWARD],
  ["__init__", BY_SETUP], ["from_pretrained", BY_SETUP],
  ["load_state_dict", BY_SETUP], ["_apply", BY_SETUP],
  ["reset_parameters", BY_SETUP], ["zero_grad", BY_ZERO_GRAD]];

// The names of PyTorch's memory profiler.
const TOLD = new Map([["parameter", WEIGHTS], ["parameters", WEIGHTS],
  ["weight", WEIGHTS], ["weights", WEIGHTS], ["gradient", GRADIENTS],
  ["gradients", GRADIENTS], ["optimizer_state", OPTIMIZER],
  ["optimizer", OPTIMIZER], ["optimizer state", OPTIMIZER],
  ["activation", ACTIVATIONS], ["activations", ACTIVATIONS],
  ["autograd_detail", ACTIVATIONS], ["temporary", TEMPORARIES],
  ["temporaries", TEMPORARIES], ["input", LONG_LIVED]]);

function signsOf(signs, text) {
  const short = text.length > TEXT_MAX ? "" : text;
  return signs.reduce((found, [sign, by]) =>
    short.includes(sign) ? found | by : found, 0);
}

// The signs found in each stack's frames.  If both passes occur the inner one
// counts, unless it is told not to: what is recomputed for the backward pass is
// still an activation.
function stackSigns(snapshot, run, inner = true) {
  const by = new Uint8Array(stackCount(run));
  if (snapshot.stacksAreNotes) return by;
  const ofFrame = run.kind.map((kind, id) => BY_SOMEONE |
    signsOf(SIGNS_OF_FILES, frameFile(run, id)) |
    signsOf(SIGNS_OF_NAMES, frameName(run, id)));
  const passes = inner ? BY_FORWARD | BY_BACKWARD : 0;
  for (let stack = 0; stack < by.length; stack++)
    for (const id of stackFrames(run, stack))
      by[stack] |= by[stack] & passes ? ofFrame[id] & ~passes : ofFrame[id];
  return by;
}

class Sorting {
  constructor(snapshot, run, lives) {
    this.run = run;
    this.events = lives.events;
    this.count = lives.events.length;
    this.by = stackSigns(snapshot, run);
  }

  livesLong({ start, end }) {
    return end === this.count || (end !== BEFORE &&
      end - Math.max(start, 0) > Math.floor(this.count / 2));
  }

  // The lifetime of an allocation that nobody freed is unknown.
  livesShort({ start, end }) {
    return end === BEFORE || (start !== BEFORE && end < this.count &&
      end - start <= TEMPORARY_EVENTS);
  }

  // The signs of the code that freed it; 0: nobody did, or it was not recorded.
  freedBy({ end }) {
    return end < this.count ? this.by[this.events[end].stack] : 0;
  }

  // Whether the optimizer's step that freed it allocated an equal one.
  isRemade(a) {
    const begin = Math.max(0, a.end - TEMPORARY_EVENTS);
    return this.events.slice(begin, a.end + TEMPORARY_EVENTS).some((e) =>
      ACTIONS[e.action] === "alloc" && e.size === a.size &&
      this.by[e.stack] & BY_OPTIMIZER);
  }

  // Allocated before the recording, without a stack: its end decides.
  ofOld(a) {
    const freed = this.freedBy(a);
    if (freed & BY_ZERO_GRAD) return GRADIENTS;
    if (freed & BY_OPTIMIZER)
      return this.isRemade(a) ? OPTIMIZER : GRADIENTS;
    if (freed & BY_BACKWARD) return ACTIVATIONS;
    return this.livesLong(a) ? WEIGHTS : ACTIVATIONS;
  }

  ofLong(a, by) {
    if (by & BY_OPTIMIZER) return OPTIMIZER;
    if (by & BY_BACKWARD) return GRADIENTS;
    if (by & BY_SETUP && !(by & BY_FORWARD)) return WEIGHTS;
    if (by & BY_FORWARD && a.start !== BEFORE) return ACTIVATIONS;
    return LONG_LIVED;
  }

  // Gradients stay until the optimizer runs.
  ofBackward(freed) {
    return freed & BY_BACKWARD && !(freed & (BY_ZERO_GRAD | BY_OPTIMIZER))
      ? TEMPORARIES : GRADIENTS;
  }

  of(a) {
    const by = this.by[a.stack];
    const told = TOLD.get(this.run.strings[a.note].toLowerCase());
    if (told !== undefined) return told;
    if (this.count === 0) return UNKNOWN;
    if (this.livesShort(a)) return TEMPORARIES;
    if (by === 0 && a.start === BEFORE) return this.ofOld(a);
    if (this.livesLong(a)) return this.ofLong(a, by);
    if (by & BY_BACKWARD) return this.ofBackward(this.freedBy(a));
    return by & BY_OPTIMIZER ? OPTIMIZER : ACTIVATIONS;
  }

  // Whether a training step was, or may have been, recorded.
  trains(allocs) {
    return allocs.some((a) => a.start !== BEFORE && (this.by[a.stack] === 0 ||
      this.by[a.stack] & (BY_BACKWARD | BY_OPTIMIZER)));
  }
}
