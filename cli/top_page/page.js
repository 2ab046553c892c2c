// page.js - the page of `larder top --serve`: what each process holds, now and in
// the last minutes, and the run of a program that is recorded, as it grows.
"use strict";

const KEPT_MS = 600000;
const KEPT_LOOKS = 600;
const BANDS = 8; // processes with a colour of their own; the rest is one band
const COLOURS = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee",
  "#aa3377", "#ee8866", "#44bb99", "#999999"];
const VIEW_CHOICES = ["device", "axis", "colour", "what", "tree-by", "search"];
// The page of a long run is made in this part of the time between two.
const REST = 10;

const $ = id => document.getElementById(id);
const looks = [];
let last = 0;
let recorded = [];

function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, value);
  }
  return made;
}

function shape(tag, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, value);
  }
  return made;
}

function bytes(n) {
  if (n === null) return "–";
  let unit = 0;
  while (n >= (unit === 0 ? 1024 : 1023.5) && unit < 5) {
    n /= 1024;
    unit++;
  }
  const digits = unit === 0 || n >= 99.95 ? 0 : n >= 9.995 ? 1 : 2;
  return `${n.toFixed(digits)} ${["B", "KiB", "MiB", "GiB", "TiB", "PiB"][unit]}`;
}

// ---- devices ----

// A device is known by its number and its ledger: a group's has the same card.
const keyOf = device => `${device.uuid} ${device.ledger}`;

// What processes of a device held, look by look: [{ms, total, held: Map}].
function pastOf(key) {
  const past = [];
  for (const look of looks) {
    const device = look.devices.find(d => keyOf(d) === key);
    if (device === undefined) continue;
    past.push({
      ms: look.ms,
      used: device.used_bytes,
      held: new Map(device.processes.map(p => [p.pid, p.held_bytes])),
    });
  }
  return past;
}

const colours = new Map(); // of each device: Map of the processes' colours

// A process keeps the colour it has got while the curve shows it; without one,
// it is in the last band.
function coloursOf(key, past) {
  const there = new Set(past.flatMap(at => [...at.held.keys()]));
  const kept = new Map([...colours.get(key) || []]
    .filter(([pid]) => there.has(pid)));
  const taken = new Set(kept.values());
  for (const pid of there) {
    let colour = kept.has(pid) ? BANDS : 0;
    while (taken.has(colour)) colour++;
    if (colour >= BANDS) continue;
    kept.set(pid, colour);
    taken.add(colour);
  }
  colours.set(key, kept);
  return pid => kept.has(pid) ? kept.get(pid) : BANDS;
}

// What the processes of each colour held.
function bandsOf(at, colourOf) {
  const bands = COLOURS.map(() => 0);
  for (const [pid, held] of at.held) bands[colourOf(pid)] += held;
  return bands;
}

function path(points, below, x, y) {
  const there = points.map(([ms, value]) => `${x(ms)},${y(value)}`);
  const back = below.map(([ms, value]) => `${x(ms)},${y(value)}`).reverse();
  return `M${[...there, ...back].join("L")}Z`;
}

// The processes' memory, one above the other, over the last minutes.
function curve(past, total, colourOf) {
  const begin = past[0].ms;
  const span = Math.max(past[past.length - 1].ms - begin, 1);
  const x = ms => (1000 * (ms - begin) / span).toFixed(1);
  const y = value => (100 - 100 * value / total).toFixed(2);
  const svg = shape("svg", {viewBox: "0 0 1000 100", preserveAspectRatio: "none",
    role: "img", "aria-label":
      `The last ${Math.round(span / 1000)} seconds; the table has the figures`});
  const bands = past.map(at => bandsOf(at, colourOf));
  let below = past.map(at => [at.ms, 0]);
  COLOURS.forEach((colour, index) => {
    const above = past.map((at, i) => [at.ms, below[i][1] + bands[i][index]]);
    svg.append(shape("path", {d: path(above, below, x, y), fill: colour}));
    below = above;
  });
  svg.append(shape("path", {
    d: `M${past.map(at => `${x(at.ms)},${y(at.used)}`).join("L")}`, fill: "none",
    stroke: "currentColor", "vector-effect": "non-scaling-stroke"}));
  return svg;
}

function processRow(process, colour) {
  const row = element("tr", "");
  const name = element("td", "");
  const key = element("span", "", {class: "key"});
  key.style.background = colour;
  name.append(key, process.name);
  row.append(name);
  for (const text of [process.pid, ...["held", "in_use", "cached"]
    .map(part => bytes(process[`${part}_bytes`])),
  process.minimum_bytes ? bytes(process.minimum_bytes) : "–",
  bytes(process.limit_bytes)]) {
    row.append(element("td", text));
  }
  const last = element("td", "");
  const run = recorded.find(r => r.pid === process.pid);
  if (run !== undefined) last.append(runButton(run));
  row.append(last);
  return row;
}

function showDevice(device) {
  const section = element("section", "");
  const past = pastOf(keyOf(device));
  const colourOf = coloursOf(keyOf(device), past);
  section.append(element("h2", `${device.name || "GPU"}: ` +
    `${bytes(device.used_bytes)} of ${bytes(device.total_bytes)} in use`));
  section.append(curve(past, device.total_bytes, colourOf));
  const scroll = element("div", "", {class: "scroll"});
  const table = element("table", "");
  const head = element("tr", "");
  for (const text of ["process", "pid", "held", "in use", "cached", "minimum",
    "limit", ""]) {
    head.append(element("th", text));
  }
  table.append(head);
  for (const process of device.processes) {
    table.append(processRow(process, COLOURS[colourOf(process.pid)]));
  }
  scroll.append(table);
  section.append(scroll);
  return section;
}

// Programs that are recorded and hold no memory that a ledger or a driver tells.
function showOthers(devices) {
  const seen = new Set(devices.flatMap(d => d.processes.map(p => p.pid)));
  const others = recorded.filter(run => !seen.has(run.pid));
  const section = element("section", "");
  section.append(element("h2", "Recorded programs"));
  for (const run of others) {
    const line = element("p", `${run.name} ${run.pid} `);
    line.append(runButton(run));
    section.append(line);
  }
  return others.length > 0 ? [section] : [];
}

// A button that is replaced between a press and its release is not clicked: what
// is pressed stays, for a moment longer than it is (a tap's click comes later),
// and not for ever if the release is not told.
const PRESSED_MS = 5000;
const RELEASED_MS = 300;
let pressedUntil = 0;

function stayFor(ms) {
  return () => {
    pressedUntil = performance.now() + ms;
  };
}

for (const kind of ["pointerdown", "keydown"]) {
  $("devices").addEventListener(kind, stayFor(PRESSED_MS));
}
for (const kind of ["pointerup", "pointercancel", "keyup"]) {
  addEventListener(kind, stayFor(RELEASED_MS));
}

function show() {
  if (performance.now() < pressedUntil) return;
  const devices = looks.length > 0 ? looks[looks.length - 1].devices : [];
  const focus = document.activeElement && document.activeElement.id;
  const sections = [...devices.map(showDevice), ...showOthers(devices)];
  if (sections.length === 0) {
    sections.push(element("section",
      "No process shares a device through Larder, and none is recorded."));
  }
  $("devices").replaceChildren(...sections);
  if (focus && $(focus)) $(focus).focus();
}

// ---- a run, as it grows ----

let run = null; // {pid, name, timer, isFirst}

function runButton(which) {
  const button = element("button", "timeline",
    {type: "button", id: `run-${which.pid}`,
      "aria-label": `timeline of ${which.name} ${which.pid}`});
  button.addEventListener("click", () => openRun(which));
  return button;
}

function openRun(which) {
  closeRun();
  run = {...which, timer: 0, isFirst: true};
  $("live").hidden = false;
  $("live-name").textContent = `${run.name} ${run.pid}`;
  $("live-why").textContent = "…";
  loadRun(run);
}

function closeRun() {
  if (run !== null) clearTimeout(run.timer);
  run = null;
  $("live").hidden = true;
  $("frames").replaceChildren();
}

// What was chosen in the page that is shown is chosen in the next.
function takeChoices(from, to) {
  for (const id of VIEW_CHOICES) {
    const [old, fresh] = [from.getElementById(id), to.getElementById(id)];
    if (!old || !fresh || old.value === fresh.value) continue;
    fresh.value = old.value;
    const kind = id === "search" ? "input" : "change";
    fresh.dispatchEvent(new Event(kind, {bubbles: true}));
  }
}

function loadRun(which) {
  const frame = document.createElement("iframe");
  const begun = performance.now();
  frame.title = "The run";
  frame.addEventListener("load", () => {
    if (run !== which) return;
    const inside = frame.contentDocument;
    const isPage = inside !== null && inside.getElementById("timeline") !== null;
    if (isPage) showRun(frame);
    else frame.remove();
    $("live-why").textContent = isPage ? ""
      : inside !== null ? inside.body.textContent : "";
    // The first takes longer: PyTorch loads what it needs for it.
    const took = which.isFirst ? 0 : performance.now() - begun;
    which.isFirst = false;
    which.timer = setTimeout(nextRun, Math.max(2000, REST * took), which);
  });
  frame.src = `recorded/${which.pid}`;
  $("frames").append(frame);
}

function showRun(frame) {
  const shown = document.querySelector("#frames .shown");
  if (shown !== null) {
    takeChoices(shown.contentDocument, frame.contentDocument);
    shown.remove();
  }
  frame.className = "shown";
}

function nextRun(which) {
  if (run !== which) return;
  if ($("follow").checked) loadRun(which);
  else which.timer = setTimeout(nextRun, 500, which);
}

$("close").addEventListener("click", closeRun);

// ---- asking ----

async function ask() {
  let wait = 1000;
  try {
    const answer = await fetch(`data?after=${last}`);
    if (!answer.ok) throw new Error(answer.statusText);
    const said = await answer.json();
    looks.push(...said.looks);
    if (looks.length > 0) last = looks[looks.length - 1].n;
    while (looks.length > 0 &&
      (looks.length > KEPT_LOOKS ||
        looks[0].ms < looks[looks.length - 1].ms - KEPT_MS)) {
      looks.shift();
    }
    recorded = said.recorded;
    wait = said.period_ms;
    $("state").textContent = "";
    show();
    document.documentElement.dataset.ready = "yes";
  } catch {
    $("state").textContent = "larder top does not answer any more";
  }
  setTimeout(ask, wait);
}

ask();
