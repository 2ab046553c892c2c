// app.js - a page without data, which reads snapshots that are dropped into it.
// Findings are available only in `larder report`.

function marksOf({ annotations }, lives, number) {
  return annotations
    .filter((a) => (a.device || 0) === number && a.stage !== "END")
    .map((a) => ({ event: lives.eventAt(a.time_us || 0),
      label: textOf(a.name, "name") }));
}

function failuresOf(lives) {
  const ooms = [];
  lives.events.forEach((event, n) => {
    if (ACTIONS[event.action] === "oom")
      ooms.push({ event: n, bytes: event.size, text: "" });
  });
  return ooms;
}

function deviceTexts(snapshot, lives, number) {
  return {
    device: number, verdict: [], ooms: failuresOf(lives),
    marks: marksOf(snapshot, lives, number), categories: CATEGORIES,
    findings: [{ title: "Read in the browser",
      text: "`larder report FILE` says what stands out in this run; " +
        "`larder view FILE` makes a page that has that in it." }],
    streams: snapshot.streams.list.map((stream) => stream < 65536
      ? String(stream) : addressText(stream)),
    note: lives.events.length === 0
      ? "no events were recorded: the last state only"
      : lives.odd > 0 ? `${lives.odd} events do not fit the others` : "",
  };
}

// Each explanation visits everything that was live.  The last is what the
// verdict is about.
const FAILURES_EXPLAINED = 20;

function deviceOf(snapshot, run, lives, number) {
  const sorting = new Sorting(snapshot, run, lives);
  const columns = lives.columns();
  const categories = columns.alloc.category =
    Uint8Array.from(lives.allocs, (a) => sorting.of(a));
  const device = makeDevice(run, deviceTexts(snapshot, lives, number), columns);
  const known = { snapshot, run, lives, device, categories,
    trains: sorting.trains(lives.allocs),
    by: stackSigns(snapshot, run, false) };
  device.verdict = verdictOf(known);
  device.ooms.forEach((oom, n) => {
    oom.text = n < FAILURES_EXPLAINED || n === device.ooms.length - 1
      ? failureText(known, oom.event) : "Not explained: one of many.";
  });
  return device;
}

function runOf(name, snapshot) {
  const devices = snapshot.deviceNumbers()
    .map((number) => [number, new Lifetimes(snapshot, number)]);
  const { stacks } = snapshot, { frame, begin, ids } = stacks.columns();
  const strings = stacks.strings.list;
  const run = makeRun(plain(name), strings.map(plain), frame, begin, ids,
    frameWords(strings, frame, begin, ids));
  run.devices = devices.map(([number, lives]) =>
    deviceOf(snapshot, run, lives, number));
  return run;
}

function say(text, alarm) {
  $("drop-said").textContent = text;
  $("drop-said").className = alarm ? "alarm" : "";
}

// Lets the browser paint first: reading a large file takes seconds.
async function openFile(file) {
  say(`Reading ${file.name} …`);
  await new Promise((done) => setTimeout(done, 30));
  try {
    const bytes = new Uint8Array(await file.arrayBuffer());
    show({ title: file.name, runs: [runOf(file.name, readSnapshot(bytes))] });
    say("");
    for (const id of ["main", "figures"]) $(id).hidden = false;
    document.body.classList.remove("empty");
    $("drop").classList.add("small");
  } catch (error) {
    if (!(error instanceof ReadError)) console.warn(error);
    say(`${file.name} cannot be read as a memory snapshot` +
      (error instanceof ReadError ? ` (${error.message})` : "") +
      ".  Expected a file that torch.cuda.memory._dump_snapshot() wrote.", true);
  }
}

// What to do: words, and every second one code.
const STEPS = [
  ["Before the work: ",
    "torch.cuda.memory._record_memory_history(max_entries=1000000)"],
  ["After it, or where it runs out of memory: ",
    'torch.cuda.memory._dump_snapshot("snapshot.pickle")'],
  ["Open ", "snapshot.pickle", " here: it says what happened, who holds the " +
    "memory and what to do.  The file stays on this machine."],
];

function watchDrops() {
  const choose = element("input");
  choose.type = "file";
  choose.id = "file";
  const label = element("label", "Choose a memory snapshot (pickle or JSON, " +
    "or either .zst), or drop it anywhere on this page: ");
  label.append(choose);
  const steps = element("ol");
  steps.append(...STEPS.map((parts) => {
    const step = element("li");
    step.append(...parts.map((text, i) =>
      i % 2 === 1 ? element("code", text) : text));
    return step;
  }));
  const said = element("p");
  said.id = "drop-said";
  said.setAttribute("role", "status");
  $("drop").append(steps, label, said);
  $("drop").hidden = false;
  choose.addEventListener("change", () => {
    const [file] = choose.files;
    choose.value = ""; // the same file may be selected again after a change
    if (file) openFile(file);
  });
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length > 0)
      openFile(event.dataTransfer.files[0]);
  });
}

prepare();
watchDrops();
for (const id of ["main", "figures"]) $(id).hidden = true;
document.body.classList.add("empty");
$("title").textContent = document.title;
ready();
