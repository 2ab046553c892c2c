// app.js - asks Larder, compiled to WebAssembly, about snapshots that are opened
// here.  What is shown is what the command writes.

const $ = (id) => document.getElementById(id);

// `args` is the command; `json`: it has an option of that name.
const VIEWS = [
  { id: "page", name: "Timeline", args: () => ["view", "-o", "-"] },
  { id: "report", name: "Report", json: true, args: () => ["report"] },
  { id: "tune", name: "Settings", json: true, args: () => ["tune"] },
  { id: "fit", name: "Cards", json: true,
    args: () => ["fit", "--gpu", $("card").value] },
  { id: "replay", name: "Replay", json: true, args: replayArgs },
  { id: "diff", name: "Compare", json: true, files: 2, args: () => ["diff"] },
];

// `turn` counts what was asked for, `framed` is what the frame has.
const state = { files: [], view: VIEWS[0], job: null, shown: null, turn: 0,
  framed: null };

function replayArgs() {
  const conf = $("conf").value.trim(), capacity = $("capacity").value.trim();
  return ["replay", ...(conf ? ["--conf", conf] : []),
    ...(capacity ? ["--device", `sim:${capacity}`] : [])];
}

// ---- running the command --------------------------------------------------

function decodeBase64(id) {
  const binary = atob($(id).textContent.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

let compiled = null;

// Once, and not before it is needed.
function compile() {
  compiled ??= new Response(new Blob([decodeBase64("wasm")]).stream()
    .pipeThrough(new DecompressionStream("gzip"))).arrayBuffer()
    .then((bytes) => WebAssembly.compile(bytes));
  return compiled;
}

let workerAddress = null;

function startWorker() {
  workerAddress ??= URL.createObjectURL(
    new Blob([$("worker").textContent], { type: "text/javascript" }));
  return new Worker(workerAddress);
}

class Job {
  constructor(args) {
    this.args = args;
    this.worker = null;
    this.stopped = false;
  }

  // What the command wrote: { status, bytes, said }, or { error }.
  async run(files, onProgress) {
    const module = await compile();
    if (this.stopped) return { error: "stopped" };
    this.worker = startWorker();
    const ended = new Promise((done) => {
      this.end = done;
      this.worker.onmessage = ({ data }) =>
        "percent" in data ? onProgress(data.percent) : done(data);
      this.worker.onerror = (event) => done({ error: event.message });
    });
    this.worker.postMessage({ module, files, args: this.args });
    const result = await ended;
    this.worker.terminate();
    return result;
  }

  stop() {
    this.stopped = true;
    this.worker?.terminate();
    this.end?.({ error: "stopped" });
  }
}

// ---- showing --------------------------------------------------------------

function say(text, alarm) {
  $("said").textContent = text;
  $("said").className = alarm ? "alarm" : "";
  $("said").hidden = text === "";
}

function showWork(working) {
  $("progress").hidden = $("stop").hidden = !working;
  $("progress").removeAttribute("value");
}

function clear() {
  for (const id of ["start", "page", "text", "footer"]) $(id).hidden = true;
}

function wordsOf({ error, said }) {
  if (error === "stopped") return "Stopped.";
  if (/out of memory|memory access|Aborted|allocate/i.test(error ?? ""))
    return "The browser gave no more memory: the most is 4 GiB.  The command " +
      "`larder` has no such limit.";
  return error ?? said;
}

const text = (bytes) => new TextDecoder().decode(bytes);

function showResult(view, args, result) {
  state.shown = { view, args, result };
  say(wordsOf(result), result.error !== undefined || result.status > 1);
  if (result.error !== undefined || result.bytes.length === 0) return;
  if (view.id === "page") {
    if (state.framed !== result) $("page").srcdoc = text(result.bytes);
    state.framed = result;
    $("page").hidden = false;
  } else {
    $("text").textContent = text(result.bytes);
    $("text").hidden = false;
  }
  $("command").textContent =
    ["larder", ...args].map((word) => /^[\w./:,=-]+$/.test(word)
      ? word : `'${word.replaceAll("'", "'\\''")}'`).join(" ");
  $("json").hidden = !view.json;
  $("footer").hidden = false;
}

async function runJob(args) {
  state.job?.stop();
  const job = state.job = new Job(args);
  showWork(true);
  const result = await job.run(state.files, (percent) => {
    $("progress").value = percent;
  });
  if (state.job === job) {
    state.job = null;
    showWork(false);
  }
  return result;
}

const argsOf = (view) =>
  [...view.args(), ...state.files.slice(0, view.files).map(({ name }) => name)];

async function show(view) {
  const args = argsOf(view), turn = ++state.turn;
  state.view = view;
  for (const tab of $("tabs").children) {
    const chosen = tab.dataset.view === view.id;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
  }
  $("form").hidden = !["fit", "replay"].includes(view.id);
  for (const of of ["fit", "replay"])
    document.querySelectorAll(`.for-${of}`).forEach((element) => {
      element.hidden = of !== view.id;
    });
  clear();
  say("");
  const key = args.join("\0");
  const result = state.known.get(key) ?? await runJob(args);
  if (result.error === undefined) state.known.set(key, result);
  if (state.turn === turn) showResult(view, args, result);
}

// ---- files ----------------------------------------------------------------

// Unlike each other, and none that could be an option.
function nameFiles(files) {
  const taken = new Set();
  return [...files].map((file) => {
    const plain = (file.webkitRelativePath || file.name).replace(/^-/, "./-");
    let name = plain;
    for (let n = 2; taken.has(name); n++) name = `${n}/${plain}`;
    taken.add(name);
    return { name, file };
  });
}

// Snapshots among what else lies in a folder.
const isSnapshot = ({ name }) => /\.(pickle|pkl|json)(\.zst)?$/i.test(name);

function openFiles(files) {
  if (files.length === 0) return;
  state.files = nameFiles(files);
  state.known = new Map();
  const names = state.files.map(({ name }) => name);
  $("names").textContent = names.length > 3
    ? `${names.slice(0, 2).join(", ")} and ${names.length - 2} more`
    : names.join(", ");
  document.title = `${names[0]} - Larder`;
  $("tabs").hidden = false;
  for (const tab of $("tabs").children) {
    const { files: needed } = VIEWS.find(({ id }) => id === tab.dataset.view);
    tab.hidden = needed !== undefined && names.length !== needed;
  }
  show(VIEWS[0]);
}

function openFolder(files) {
  const found = files.filter(isSnapshot);
  if (found.length === 0)
    say("There is no snapshot in that folder: no .pickle, .pkl or .json.", true);
  openFiles(found);
}

function openExample() {
  openFiles([new File([decodeBase64("oom")], "oom.pickle")]);
}

// A dropped folder's files, to any depth.
async function filesOf(entry) {
  if (entry.isFile)
    return [await new Promise((done, failed) => entry.file(done, failed))];
  const reader = entry.createReader(), found = [];
  for (;;) {
    const some = await new Promise((done, failed) =>
      reader.readEntries(done, failed));
    if (some.length === 0) return found;
    for (const inner of some) found.push(...await filesOf(inner));
  }
}

async function openDropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.());
  const files = [...transfer.files];
  if (!entries.some((entry) => entry?.isDirectory)) {
    openFiles(files);
    return;
  }
  const found = [];
  for (const entry of entries.filter(Boolean))
    found.push(...await filesOf(entry));
  openFolder(found);
}

// In this page, and in the frame, which would otherwise open the file itself.
function watchDrops(target) {
  target.addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  target.addEventListener("dragleave", () =>
    document.body.classList.remove("dropping"));
  target.addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    openDropped(event.dataTransfer);
  });
}

// ---- the rest of the page -------------------------------------------------

function save(bytes, name, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([bytes], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function saveShown() {
  const { view, result } = state.shown;
  const base = state.files[0].file.name.replace(/\.[^.]*$/, "");
  if (view.id === "page") save(result.bytes, `${base}.html`, "text/html");
  else save(result.bytes, `${base}-${view.id}.txt`, "text/plain");
}

async function saveJson() {
  const { view, args: [command, ...rest] } = state.shown;
  const result = await runJob([command, "--json", ...rest]);
  if (result.error !== undefined || result.status > 1)
    say(wordsOf(result), true);
  else
    save(result.bytes, `${view.id}.json`, "application/json");
}

function makeTabs() {
  for (const view of VIEWS) {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.textContent = view.name;
    tab.dataset.view = view.id;
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", "main");
    tab.addEventListener("click", () => show(view));
    $("tabs").append(tab);
  }
  $("tabs").addEventListener("keydown", ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (step === undefined) return;
    const tabs = [...$("tabs").children].filter((tab) => !tab.hidden);
    const at = tabs.indexOf(document.activeElement);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    next.focus();
    next.click();
  });
}

function makeCards() {
  const cards = JSON.parse($("cards").textContent);
  for (const [id, name] of [["all", "all"], ...cards]) {
    const option = document.createElement("option");
    option.value = id;
    option.textContent = name;
    $("card").append(option);
  }
  $("card").value = "rtx4090"; // all: as long as fifty of one
  $("card").addEventListener("change", () => show(state.view));
}

function watchInputs() {
  for (const [id, open] of [["files", openFiles], ["folder", openFolder]]) {
    $(id).addEventListener("change", () => {
      const files = [...$(id).files];
      $(id).value = ""; // the same file may be opened again after a change
      open(files);
    });
  }
  $("example").addEventListener("click", openExample);
  $("stop").addEventListener("click", () => state.job?.stop());
  $("save").addEventListener("click", saveShown);
  $("json").addEventListener("click", saveJson);
  $("form").addEventListener("submit", (event) => {
    event.preventDefault();
    show(state.view);
  });
  $("page").addEventListener("load", () => {
    if ($("page").contentDocument) watchDrops($("page").contentDocument);
  });
}

makeTabs();
makeCards();
watchInputs();
watchDrops(document);
document.documentElement.dataset.ready = "yes";
if (location.hash === "#example") openExample();
