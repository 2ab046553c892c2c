// app.js - a page without data: snapshots are dropped into it, and read here.
// What stands out, categories and why memory ran out are for `larder report`.

// The largest piece of the segments of a state that nothing lies in.
function largestGap(rows) {
  let largest = 0;
  for (const row of rows) {
    let free = row.address;
    for (const block of row.blocks) {
      largest = Math.max(largest, block.address - free);
      free = Math.max(free, block.address + block.bytes);
    }
    largest = Math.max(largest, row.address + row.bytes - free);
  }
  return largest;
}

function failureText(device, oom, left) {
  const k = oom.event, c = device.curve;
  const rows = segmentsAt(device, k);
  const reserved = c.reserved[k], allocated = c.allocated[k];
  return `${bytesText(oom.bytes)} was asked for.` +
    (left > 0 ? `  The driver had ${bytesText(left)} left.` : "") +
    `\nReserved were ${bytesText(reserved)} in ${rows.length} segments: ` +
    `${bytesText(allocated)} in use, ` +
    `${bytesText(Math.max(0, reserved - allocated))} not, the largest piece ` +
    `${bytesText(largestGap(rows))}.\n` +
    "`larder report` says why, and what would have helped.";
}

function deviceTexts(snapshot, lives, number) {
  const { annotations, streams } = snapshot;
  const ooms = [];
  lives.events.forEach((event, n) => {
    if (ACTIONS[event.action] === "oom")
      ooms.push({ event: n, bytes: event.size, text: "" });
  });
  const marks = annotations
    .filter((a) => (a.device || 0) === number && a.stage !== "END")
    .map((a) => ({ event: lives.eventAt(a.time_us || 0),
      label: textOf(a.name, "name") }));
  return {
    device: number, verdict: [], ooms, marks, categories: ["not worked out here"],
    findings: [{ title: "Read in the browser",
      text: "`larder report FILE` says what stands out in this run; " +
        "`larder view FILE` makes a page that has that in it." }],
    streams: streams.list.map((stream) => stream < 65536 ? String(stream)
      : addressText(stream)),
    note: lives.events.length === 0
      ? "no events were recorded: the last state only"
      : lives.odd > 0 ? `${lives.odd} events do not fit the others` : "",
  };
}

function runOf(name, snapshot) {
  const devices = snapshot.deviceNumbers()
    .map((number) => [number, new Lifetimes(snapshot, number)]);
  const { frame, begin, ids } = snapshot.stacks.columns();
  const run = makeRun(name, snapshot.stacks.strings.list, frame, begin, ids);
  for (const [number, lives] of devices) {
    const texts = deviceTexts(snapshot, lives, number);
    const device = makeDevice(run, texts, lives.columns());
    for (const oom of device.ooms)
      oom.text = failureText(device, oom, lives.events[oom.event].address);
    run.devices.push(device);
  }
  return run;
}

function say(text, alarm) {
  $("drop-said").textContent = text;
  $("drop-said").className = alarm ? "alarm" : "";
}

// Waits for a picture first: reading takes seconds where there is much.
async function openFile(file) {
  say(`Reading ${file.name} …`);
  await new Promise((done) => setTimeout(done, 30));
  try {
    const bytes = new Uint8Array(await file.arrayBuffer());
    show({ title: file.name, runs: [runOf(file.name, readSnapshot(bytes))] });
    say("");
    for (const id of ["main", "figures"]) $(id).hidden = false;
    $("drop").classList.add("small");
  } catch (error) {
    if (!(error instanceof ReadError)) console.warn(error);
    say(`${file.name}: ${error instanceof ReadError ? error.message
      : "it is no memory snapshot"}`, true);
  }
}

function watchDrops() {
  const choose = element("input");
  choose.type = "file";
  choose.id = "file";
  const label = element("label", "Drop a memory snapshot here (what torch." +
    "cuda.memory._dump_snapshot() wrote, pickle or JSON), or choose one: ");
  label.append(choose);
  const said = element("p");
  said.id = "drop-said";
  said.setAttribute("role", "status");
  $("drop").append(label, said);
  $("drop").hidden = false;
  choose.addEventListener("change", () => {
    const [file] = choose.files;
    choose.value = ""; // the same file may be chosen again, written anew
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
$("colour").querySelector('[value="category"]').remove();
$("title").textContent = document.title;
ready();
