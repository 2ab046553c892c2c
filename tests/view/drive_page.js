// drive_page.js - appended to a page by tests/view/browser.sh: uses it as a
// person would, and writes what came of it where the script can read it.
(() => {
  const out = [];
  const check = (what, ok) => out.push(`${ok ? "ok" : "FAILED"} ${what}`);
  const key = (name) => document.dispatchEvent(
    new KeyboardEvent("keydown", { key: name, bubbles: true }));
  const mouse = (id, type, x, y, more) => {
    const box = $(id).getBoundingClientRect();
    const event = new PointerEvent(type, Object.assign({ bubbles: true,
      pointerId: 1, clientX: box.left + x, clientY: box.top + y }, more));
    $(id).setPointerCapture = () => {};
    $(id).dispatchEvent(event);
  };
  const coloured = (id) => {
    const canvas = $(id);
    const data = canvas.getContext("2d")
      .getImageData(0, 0, canvas.width, canvas.height).data;
    const seen = new Set();
    for (let i = 0; i < data.length; i += 4)
      if (data[i + 3] > 0) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
    return seen.size;
  };

  draw();
  const d = state.device, n = d.alloc.start.length;
  check("something is drawn over the run", coloured("timeline") > 5);
  check("something is drawn of the whole run", coloured("overview") > 2);
  check("segments are drawn", coloured("map") > 2);
  check("the figures are there", $("figures").textContent.includes("peak"));

  const width = state.to - state.from;
  key("+");
  draw();
  check("+ comes closer", state.to - state.from < width);
  const before = state.from;
  key("ArrowRight");
  draw();
  check("the arrow moves along", state.from > before);
  key("0");
  draw();
  check("0 shows the whole run", state.to - state.from === state.axis.end);
  $("timeline").dispatchEvent(new WheelEvent("wheel", { deltaY: -300,
    clientX: 600, clientY: 300, bubbles: true, cancelable: true }));
  check("the wheel comes closer", state.to - state.from < state.axis.end);
  setWindow(0, state.axis.end);

  key("p");
  check("p goes to the peak", state.cursor === d.peak);
  key(".");
  check(". goes an event on",
    state.cursor === Math.min(d.events, d.peak + 1));
  key(",");
  check(", goes back", state.cursor === d.peak);

  if (d.events > 2) {
    moveCursor(1, true);
    key(">");
    check("> goes on by more than nothing", state.cursor > 1);
    key("<");
    check("< goes back", state.cursor >= 0 && state.cursor <= 1);
    // Dragging the line goes through the moments.
    draw();
    const line = state.drawn.view.x(state.axis.at(state.cursor));
    const middle = GRAPH_LEFT + state.drawn.width / 2;
    mouse("timeline", "pointerdown", line, 100);
    mouse("timeline", "pointermove", middle, 100);
    mouse("timeline", "pointerup", middle, 100);
    check("the line is dragged",
      state.cursor === state.axis.index(positionAt(middle)));
    check("and the picture stays", state.to - state.from === state.axis.end);
    moveCursor(d.peak, true);
  }

  // The allocation in the middle of the stack at the peak is clicked on.
  draw();
  const x = state.drawn.view.x(state.axis.at(d.peak));
  const y = state.drawn.view.y(d.curve.allocated[d.peak] / 2);
  mouse("timeline", "pointermove", x, y);
  check("hovering says what is there", !$("tip").hidden);
  mouse("timeline", "pointerdown", x, y);
  mouse("timeline", "pointerup", x, y);
  draw();
  check("a click chooses an allocation", state.selected >= 0);
  check("its details are shown", $("panel").textContent.includes("Size asked"));

  let largest = 0;
  for (let i = 1; i < n; i++)
    if (d.alloc.size[i] > d.alloc.size[largest]) largest = i;
  search(String(d.alloc.size[largest]));
  draw();
  check("a size is found", state.found.list.includes(largest));
  search(addressText(d.alloc.address[largest]));
  check("an address is found", state.found.list.includes(largest));
  search(`>=${d.alloc.size[largest]}`);
  check("a bound is understood", state.found.list.includes(largest));
  const own = ownFrame(d.run, d.alloc.stack[largest]);
  if (own >= 0) {
    search(frameText(d.run, own).split("  ")[0]);
    check("a frame is found", state.found.list.includes(largest));
  }
  const noted = d.alloc.start.findIndex((_, i) => noteText(d, i) !== "");
  if (noted >= 0) {
    search(noteText(d, noted).toUpperCase());
    check("an annotation is found", state.found.list.includes(noted));
    select(noted);
    key("1");
    draw();
    check("its details have it",
      $("panel").textContent.includes(`Annotation${noteText(d, noted)}`));
  }
  if (document.title.includes("noted"))
    check("annotations stand for call paths", $("colour").value === "stack" &&
      state.groups.names.includes("first(1, 2)"));
  search("no such thing anywhere");
  check("nothing is said to be found",
    $("found").textContent === "nothing found");
  key("Escape");
  check("Escape forgets", state.found === null);

  for (let tab = 1; tab <= TABS.length; tab++) {
    key(String(tab));
    draw();
    check(`tab ${tab} shows something`, $("panel").textContent.length > 0);
  }
  chooseAxis("time");
  draw();
  check("time is an axis", coloured("timeline") > 5);
  for (const by of ["category", "stream", "size", "stack"]) {
    $("colour").value = by;
    $("colour").dispatchEvent(new Event("change"));
    draw();
    check(`colours by ${by}`, state.groups.names.length > 0);
  }
  const light = coloured("timeline");
  $("theme").click();
  draw();
  check("the other theme is drawn", light > 0 && coloured("timeline") > 5);
  if (d.ooms.length > 0) {
    key("o");
    draw();
    check("o goes to a failure",
      d.ooms.some((oom) => oom.event + 1 === state.cursor));
    check("and explains it", $("panel").textContent.includes("Why:"));
  }
  const holder = document.createElement("pre");
  holder.id = "driven";
  holder.textContent = `\nBEGIN\n${out.join("\n")}\nEND\n`;
  document.body.append(holder);
})();
