// verdict.js - the three lines at the top and why memory ran out, if the page
// reads the snapshot itself: the texts of verdict.c, advice.c and
// explain_oom.c; tests compare them.  What needs a replay, or iterations, is
// left to the command.

const HOLDERS_ON_TOP = 3, HOLDERS_SHOWN = 5;
const TO_RECORD = "Record one: torch.cuda.memory._record_memory_history(" +
  "max_entries=1000000) before the work, torch.cuda.memory._dump_snapshot(" +
  '"snapshot.pickle") after it or where it runs out of memory.';

function percentText(part, whole) {
  return `${fixedText(whole > 0 ? 100 * part / whole : 0, 0)} %`;
}

function plural(count) {
  return count === 1 ? "" : "s";
}

function lineText(run, own) {
  return own < 0 ? "no call path" : frameLabel(run, own, "line");
}

// What the group of a line is called.
function holderText(run, { own, older, count }) {
  return own >= 0 ? lineText(run, own) : pathlessName(older, count);
}

function requesterText({ snapshot, run }, stack) {
  const line = lineText(run, ownFrame(run, stack));
  return snapshot.stacksAreNotes ? `at the mark "${line}"` : `by ${line}`;
}

function allocationsAfter({ lives }, event) {
  return lives.events.slice(event + 1)
    .filter((e) => ACTIONS[e.action] === "alloc").length;
}

// ---- what happened ----

// `known` has everything about a device: snapshot, run, lives, device,
// categories, trains.
function happenedFailure(known, s) {
  const { device } = known, { stack } = s.event;
  const asker = stack === NO_STACK ? "" : ` ${requesterText(known, stack)}`;
  const times = device.ooms.length > 1
    ? ` (the last of ${device.ooms.length} times)` : "";
  const but = s.cause === "pieces"
    ? `, but the rest lay in pieces of at most ${bytesText(s.wouldFit)}`
    : s.cause === "limit" ? `, and the driver had ${bytesText(s.driverFree)} ` +
      "left: a limit of its own, most likely" : "";
  const after = allocationsAfter(known, s.number);
  const had = s.cause === "limit" ? ""
    : `of the ${bytesText(s.attainable)} that it could have, `;
  return `It ran out of memory when ${bytesText(s.asked)} was asked for` +
    `${asker}${times}: ${had}${bytesText(s.moment.allocated)} were in ` +
    `use${but}.` + (after > 0
    ? `  It went on: ${after} allocation${plural(after)} followed.` : "");
}

function mostReserved(device) {
  return device.pyramid.reserved.range(0, device.events).most;
}

// The optimizer's state that the next step begins with, and this did not:
// next_step.c.
function nextStep({ lives, device, categories }) {
  const state = { atPeak: 0, atEnd: 0, made: 0 };
  let passed = 0;
  lives.allocs.forEach((a, number) => {
    if (categories[number] !== OPTIMIZER) return;
    if (inUse(a, device.peak)) state.atPeak += a.rounded;
    if (a.end !== device.events) return;
    state.atEnd += a.rounded;
    if (a.start !== BEFORE) state.made = Math.max(state.made, a.start);
  });
  lives.allocs.forEach((a, number) => {
    if (a.start !== BEFORE && a.start > state.made &&
        categories[number] === ACTIVATIONS) passed += a.rounded;
  });
  const least = Math.floor(device.curve.allocated[device.peak] / 100);
  const more = state.atEnd - state.atPeak;
  return passed > least || more <= least ? 0 : more;
}

// Where a curve is highest: at the peak, if it is as high there.
function mostAt(curve, peak) {
  const most = curve.indexOf(curve.reduce((x, y) => Math.max(x, y), 0));
  return curve[peak] === curve[most] ? peak : most;
}

function happenedPeak(known) {
  const { device } = known, next = nextStep(known);
  const { time } = device.event, reserved = mostReserved(device);
  const last = device.events > 0 ? time[device.events - 1] : 0;
  const most = mostAt(device.curve.reserved, device.peak);
  const twoTimes = reserved > 0 && most !== device.peak;
  const when = (state) => last > 0
    ? `, ${timeText(state > 0 ? time[state - 1] : 0)} into ${timeText(last)}`
    : "";
  return `It did not run out of memory while it was recorded: at most ` +
    `${bytesText(device.curve.allocated[device.peak])} were in use` +
    (twoTimes ? when(device.peak) : "") +
    (reserved > 0 ? `, and ${bytesText(reserved)} reserved from the driver`
      : "") + when(twoTimes ? most : device.peak) + "." +
    (next > 0 ? "  That is the first step alone: the next begins with " +
      `${bytesText(next)} of optimizer state more.` : "");
}

function happenedNothing({ device }) {
  return "No history was recorded: this is only what there was when the " +
    `snapshot was taken, ${bytesText(device.curve.allocated[device.peak])} in ` +
    `use of ${bytesText(mostReserved(device))} reserved.`;
}

function hasHistory({ device }) {
  return [...device.event.action].some((action) =>
    ["alloc", "free_requested", "oom"].includes(ACTIONS[action]));
}

// ---- who ----

function whoHolds(known, moment) {
  const { run } = known;
  const holders = holdersAt(run, moment).slice(0, HOLDERS_ON_TOP);
  if (holders.length === 0) return "Nobody: nothing was in use.";
  return holders.map((held) => `${holderText(run, held)} ` +
    `${bytesText(held.bytes)} (${percentText(held.bytes, moment.allocated)})`)
    .join("; ") + ".";
}

// ---- what to do ----

function ofCategory(known, moment, ...wanted) {
  return moment.used.reduce((sum, { a, number }) =>
    wanted.includes(known.categories[number]) ? sum + a.rounded : sum, 0);
}

function missingBytes(s) {
  return s.needed > s.attainable ? s.needed - s.attainable : s.asked;
}

// Without any rounding, too.
function noSetting(s) {
  return s.cause === "too much" &&
    s.moment.requested + s.moment.pending + s.asked > s.attainable;
}

// A change of one call that is enough.
function adviseCall(known, s, missing) {
  const spare = (lessOf) => lessOf(known, s.event.stack, s.asked) +
    s.moment.used.reduce((sum, { a }) =>
      sum + lessOf(known, a.stack, a.rounded), 0);
  const softmax = spare(attentionBytes), loss = spare(lossBytes);
  if (softmax >= missing && softmax >= loss)
    return "Fused attention (scaled_dot_product_attention) would: " +
      `${bytesText(softmax)} of it is of a softmax.`;
  return loss >= missing ? "Computing the loss in pieces would: in eight of " +
    `them it takes ${bytesText(loss)} less.` : "";
}

function adviseLess(known, s) {
  const missing = missingBytes(s), line =
    mainLine(known, s.moment, ACTIVATIONS);
  const passing = s.asked +
    ofCategory(known, s.moment, ACTIVATIONS, TEMPORARIES);
  const least = `Hold ${bytesText(missing)} less at that moment` +
    `${noSetting(s) ? "; no setting does that" : ""}.  `;
  const call = adviseCall(known, s, missing);
  if (call) return least + call;
  if (missing >= passing)
    return `${least}Quantising, sharding or offloading what stays would.`;
  return `${least}A batch or sequence smaller by ` +
    `${Math.ceil(100 * missing / passing)} % would (activations, temporaries ` +
    `and the request are ${bytesText(passing)})` + (line < 0 ? "" :
    `, or recomputing activations, first those of ${lineText(known.run, line)}`) +
    ".";
}

// No setting is named that was not replayed.
function advisePieces(known, s) {
  return `Free what pins ${bytesText(s.free)} of free memory earlier, or ` +
    (known.snapshot.expandable
      ? "allocate it first: segments can grow already."
      : "find a setting that can use it: `larder tune` replays them.");
}

function adviseCause(known, s) {
  switch (s.cause) {
    case "too much": return adviseLess(known, s);
    case "pieces": return advisePieces(known, s);
    case "pending":
      return "Let the other stream catch up before this request, or use " +
        `record_stream less: ${bytesText(s.moment.pending)} was freed but ` +
        "still in use by it.";
    case "streams":
      return "Allocate on the stream that owns the memory, or on fewer " +
        `streams: a free block of ${bytesText(s.streamLargest)} belonged to ` +
        "another.";
    case "pools":
      return "Release the captured graph or memory pool that holds a free " +
        `block of ${bytesText(s.poolLargest)} before this request.`;
    case "limit":
      return "Raise the process's own limit (set_per_process_memory_" +
        `fraction): the driver had ${bytesText(s.driverFree)} left.`;
    default:
      return `Raise the limit${known.snapshot.maxSplit ? " or max_split_size_mb"
        : ""}: a free block of ${bytesText(s.ownLargest)} was not used.  Which rule kept it back was not ` +
        "recorded.";
  }
}

// The most that an earlier one of the last failures lacked.
function worstBefore({ snapshot, lives, device }) {
  return device.ooms.slice(-FAILURES_EXPLAINED, -1)
    .map((oom) => new Shortage(snapshot, lives, oom.event))
    .reduce((most, s) => s.cause === "too much"
      ? Math.max(most, missingBytes(s)) : most, 0);
}

// The bytes that the advice is about.
function savedThen(s) {
  return { "too much": missingBytes(s), pieces: s.free,
    pending: s.moment.pending, streams: s.streamLargest,
    pools: s.poolLargest, limit: s.driverFree, refused: s.ownLargest }[s.cause];
}

function adviseFailure(known, s) {
  const worst = worstBefore(known);
  return adviseCause(known, s) + (worst > savedThen(s)
    ? `  An earlier failure lacked ${bytesText(worst)}.` : "") +
    (allocationsAfter(known, s.number) === 0
    ? "  What follows that request was not recorded."
    : "  That is for this request alone.");
}

const NO_PATHS = "  No call path says whose.";

// A mark of the program is none.
function hasPath({ snapshot }, line) {
  return line >= 0 && !snapshot.stacksAreNotes;
}

function adviseTemporaries(known, moment, { atPeak, bytes }) {
  const line = mainLine(known, moment, TEMPORARIES);
  const name = lineText(known.run, line);
  const all = bytesText(atPeak), half = bytesText(bytes);
  if (!hasPath(known, line))
    return `Halve the temporaries: they are ${all} of the peak, and half of ` +
      `them ${half} less.${NO_PATHS}`;
  return temporariesLine(known, moment) < 0
    ? "Halve the batch, or fuse what the backward pass takes apart: its " +
      `temporaries are ${all} of the peak (most of them from ${name}), and ` +
      `half of them ${half} less.`
    : `Do the step at ${name} in place or in parts: its temporaries are ` +
      `${all} of the peak, and half of them ${half} less.`;
}

function largestLine({ run }, { largest }) {
  return lineText(run, largest.stack === NO_STACK ? -1
    : ownFrame(run, largest.stack));
}

// Whether most of them were made by a forward pass or freed by a backward pass:
// evidence.c.
function activationsKnown({ run, lives, device, categories, by }, moment) {
  let evident = 0, all = 0;
  for (const { a, number } of moment.used) {
    if (categories[number] !== ACTIVATIONS) continue;
    const freed = a.end < device.events ? by[lives.events[a.end].stack] : 0;
    const told = TOLD.has(run.strings[a.note].toLowerCase());
    all += a.rounded;
    if (told || by[a.stack] & BY_FORWARD || freed & BY_BACKWARD)
      evident += a.rounded;
  }
  return evident >= all - evident;
}

function adviseActivations(known, moment, { bytes }) {
  const saves = `that saves about ${bytesText(bytes)}`;
  const own = mainLine(known, moment, ACTIVATIONS);
  const line = lineText(known.run, own);
  if (!hasPath(known, own))
    return `Hold half of what is kept for a while: ${saves}.${NO_PATHS}`;
  if (!activationsKnown(known, moment))
    return "Hold half of what is kept for a while, most of it from " +
      `${line}: ${saves}.  Half the batch does that if the batch sets its size.`;
  return (known.trains
    ? "Recompute activations (checkpointing), or halve the batch"
    : "Halve the batch or the sequence") +
    `: ${saves}; the largest are from ${line}.`;
}

// Whether nothing but their age speaks for most of the weights.
function areOlder({ run, categories }, moment) {
  let older = 0, all = 0;
  for (const { a, number } of moment.used) {
    if (categories[number] !== WEIGHTS) continue;
    all += a.rounded;
    const told = TOLD.has(run.strings[a.note].toLowerCase());
    if (a.start === BEFORE && a.stack === NO_STACK && !told)
      older += a.rounded;
  }
  return older > all - older;
}

const ADVICE = {
  attention: (known, _, worth) => "Use fused attention " +
    `(scaled_dot_product_attention) at ${largestLine(known, worth)}: without ` +
    `what its softmax allocates the peak is ${bytesText(worth.bytes)} lower.`,
  loss: (known, _, worth) =>
    `Compute the loss at ${largestLine(known, worth)} in pieces: in eight of ` +
    `them the peak is ${bytesText(worth.bytes)} lower.`,
  activations: adviseActivations,
  temporaries: adviseTemporaries,
  optimizer: (known, _, { bytes }) => "An optimizer with state of 8 bits, or " +
    `sharded or offloaded state, saves about ${bytesText(bytes)}.  That is of ` +
    "state in 32 bits.",
  weights: (known, moment, { bytes }) => (areOlder(known, moment)
    ? "Keep what is older than the recording, weights most likely, in half as " +
      "many bits (quantised), or part of it elsewhere: "
    : "Keep the weights in half as many bits (quantised), or part of them " +
      "elsewhere: ") + `${bytesText(bytes)} less of the peak.`,
};

function isOffered(known, moment, name, { bytes }) {
  return bytes > Math.floor(moment.allocated / 20) && (name !== "weights" ||
    (!known.trains && bytes >= Math.floor(moment.allocated / 4)));
}

// What changes one call is easier than what changes the program.
function advisePeak(known, moment) {
  let most = 0, words = "Nothing stands out: memory that is held is in use, " +
    "and none of it for longer than needed.";
  for (const [name, lessOf] of remediesOf(known, moment)) {
    const worth = remedyWorth(known, lessOf);
    const weight = worth.bytes *
      (name === "attention" || name === "loss" ? 2 : 1);
    if (!isOffered(known, moment, name, worth) || weight <= most) continue;
    [most, words] = [weight, ADVICE[name](known, moment, worth)];
  }
  return words;
}

function verdictOf(known) {
  const { device, snapshot, lives } = known, last = device.ooms.at(-1);
  if (last) {
    const s = new Shortage(snapshot, lives, last.event);
    return [happenedFailure(known, s), whoHolds(known, s.moment),
      adviseFailure(known, s)];
  }
  const moment = new Moment(lives, device.peak);
  const who = whoHolds(known, moment);
  return hasHistory(known)
    ? [happenedPeak(known), who, advisePeak(known, moment)]
    : [happenedNothing(known), who, TO_RECORD];
}

// ---- a failure ----

function whyText(s) {
  const free = bytesText(s.free + s.driverFree);
  switch (s.cause) {
    case "too much":
      return "Why: not enough memory.  In use or requested: " +
        `${bytesText(s.needed)}, available to this process: ` +
        `${bytesText(s.attainable)}; ` +
        `${bytesText(Math.max(0, s.needed - s.attainable))} is missing.` +
        (noSetting(s) ? "  No setting changes that." : "");
    case "pieces":
      return `Why: fragmentation.  ${free} was free` +
        (s.driverFree > 0 ? ", including the driver's free memory" : "") +
        ", which is enough, but not in one block: " +
        `${bytesText(s.free - s.wholeFree)} is in segments that are partly ` +
        "in use" + (s.wholeFree > 0
        ? `, and ${bytesText(s.wholeFree)} in segments that are entirely free ` +
          "but were not released" : "") + ".";
    case "streams":
      return "Why: each stream has its own free memory.  A block of " +
        `${bytesText(s.streamLargest)} was free, but belongs to another stream.`;
    case "pools":
      return "Why: each pool has its own free memory.  A block of " +
        `${bytesText(s.poolLargest)} was free, but in a pool that this request ` +
        "may not use.";
    case "pending":
      return `Why: ${bytesText(s.moment.pending)} was freed, but recorded ` +
        "streams still used it.";
    case "limit":
      return "Why: not for lack of memory.  The driver had " +
        `${bytesText(s.driverFree)} left, which is enough: a limit of the ` +
        "process (set_per_process_memory_fraction) refused the request, or " +
        "the driver could not find that much in one block.";
    default:
      return `Why: a block of ${bytesText(s.ownLargest)} was free, but was ` +
        "not used: a memory limit, or max_split_size, which keeps large " +
        "blocks unsplit, prevented it.";
  }
}

function figuresText(known, s) {
  const { snapshot } = known, m = s.moment, areas = m.areas.length;
  const asker = s.event.stack === NO_STACK ? ""
    : `Requested ${requesterText(known, s.event.stack)}.\n`;
  return `${bytesText(s.asked)} was requested on stream ` +
    `${snapshot.streams.list[s.event.stream]}.` +
    (s.driverKnown ? `  The driver had ${bytesText(s.driverFree)} left.` : "") +
    `\n${asker}Reserved: ${bytesText(m.reserved)} in ${areas} segment` +
    `${plural(areas)}: ${bytesText(m.allocated)} in use, ${bytesText(s.free)} ` +
    `free in ${m.gaps} block${plural(m.gaps)}` + (m.pending > 0
    ? `, ${bytesText(m.pending)} freed but still in use by other streams` : "") +
    (m.outside > 0 ? `.\n${bytesText(m.outside)} is in segments that the ` +
      "recording does not show" : "") +
    ".\nThe largest free block that this request could use: " +
    `${bytesText(s.ownLargest)}.`;
}

function failureText(known, event) {
  const s = new Shortage(known.snapshot, known.lives, event);
  const holders = holdersAt(known.run, s.moment).slice(0, HOLDERS_SHOWN)
    .map((held) => `  ${bytesText(held.bytes).padStart(10)}  ` +
      `${percentText(held.bytes, s.moment.allocated).padStart(5)}  in ` +
      `${String(held.count).padStart(5)}  ${holderText(known.run, held)}`);
  return [figuresText(known, s), whyText(s), "Who held the most:", ...holders,
    `What would have fitted: up to ${bytesText(s.wouldFit)}.`,
    "`larder report` says what pinned the free memory, and `larder tune` which " +
    "settings would have helped."].join("\n") + "\n";
}
