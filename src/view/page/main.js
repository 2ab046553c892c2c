// main.js - initialises the page, with data embedded by C: boxes, menus, tabs,
// the first device.

// A row of tabs, created once, so that a pressed tab keeps the keyboard focus.
function makeTabs(holder, names, controls, onChoose) {
  names.forEach((name, i) => {
    const tab = element("button", { role: "tab", onclick: () => onChoose(i) },
      name);
    tab.setAttribute("aria-controls", controls);
    $(holder).append(tab);
  });
}

// As in the report, whose first verdict is about the first of these: devices
// that ran out of memory, then those that held the most in the end.
function inOrder(devices) {
  const held = devices.map(({ curve, events }) => curve.reserved[events]);
  return devices.map((device, i) => i).sort((x, y) =>
    (devices[y].ooms.length > 0) - (devices[x].ooms.length > 0) ||
    held[y] - held[x] || devices[y].events - devices[x].events || x - y);
}

function fillDevices() {
  const menu = $("device"), { devices } = state.data.runs[0];
  const order = inOrder(devices);
  menu.append(...order.map((i) => element("option", { value: i },
    devices[i].device + (devices[i].ooms.length > 0 ? ", out of memory" : ""))));
  $("device-label").hidden = devices.length < 2;
  menu.value = String(order[0]);
  return order[0];
}

function chooseTheme(theme) {
  document.documentElement.dataset.theme = theme;
  readColours();
  if (state.device) redraw();
}

function watchBoxes() {
  $("device").onchange = () => chooseDevice(Number($("device").value));
  $("axis").onchange = () => chooseAxis($("axis").value);
  $("colour").onchange = () => setGroups($("colour").value);
  $("what").onchange = () => setWhat($("what").value);
  for (const id of ["tree-by", "with-torch", "with-cpp", "inside-out"])
    $(id).onchange = setForm;
  $("map-finer").onclick = () => mapCloser(1);
  $("map-coarser").onclick = () => mapCloser(-1);
  let timer = 0;
  $("search").oninput = () => {
    clearTimeout(timer);
    timer = setTimeout(() => search($("search").value), 150);
  };
  const { dataset } = document.documentElement;
  $("theme").onclick = () =>
    chooseTheme(dataset.theme === "dark" ? "light" : "dark");
  $("help-button").onclick = () => $("help").showModal();
  $("help-close").onclick = () => $("help").close();
  document.onkeydown = onKey;
  window.onresize = redraw;
}

// Initialisation that needs no data.
function prepare() {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  chooseTheme(dark.matches ? "dark" : "light");
  $("keys").append(...terms(KEYS));
  $("what").append(...Object.entries(WHAT).map(([value, text]) =>
    element("option", { value }, text)));
  makeTabs("tabs", TABS, "panel", setTab);
  makeTabs("views", ["Flame graph", "Call tree", "Segments"], "main",
    (i) => setView(VIEWS[i]));
  watchTimeline();
  watchOverview();
  watchViews();
  watchBoxes();
}

function hasStacks(data) {
  return data.runs[0].devices.some((device) =>
    device.alloc.stack.some((stack) => stack !== NO_STACK));
}

// What memory is for says the most, where it is known for some of it.
function firstColours(data, number) {
  const { alloc } = data.runs[0].devices[number];
  if (alloc.category.some((category) => category !== 0)) return "category";
  return hasStacks(data) ? "stack" : "size";
}

// `data` is a title and runs; a run has at least one device.
function show(data) {
  state.data = data;
  $("title").textContent = data.title;
  const first = fillDevices();
  state.by = $("colour").value = firstColours(data, first);
  state.view = hasStacks(data) ? "flame" : "map";
  chooseDevice(first);
}

prepare();
show(decodePage());
document.documentElement.dataset.ready = "yes";
