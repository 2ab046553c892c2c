// frames.js - call paths: what a frame is called, whose it is, what module and
// library it belongs to.

const NO_STACK = 0;

// A frame is three numbers: file, line, function.  Stack n is the frames from
// stackBegin[n] to stackBegin[n + 1], innermost first; stack 0 has none.
function makeRun(name, strings, frame, stackBegin, stackFrame) {
  const run = { name, strings, frame, stackBegin, stackFrame, devices: [] };
  run.ownness = new Int8Array(frame.length / 3).fill(-1);
  run.own = new Map();
  return run;
}

function stackCount(run) {
  return run.stackBegin.length - 1;
}

function stackFrames(run, stack) {
  return run.stackFrame.subarray(run.stackBegin[stack],
    run.stackBegin[stack + 1]);
}

function frameFile(run, id) {
  return run.strings[run.frame[id * 3]];
}

function frameText(run, id) {
  const file = frameFile(run, id);
  const line = run.frame[id * 3 + 1];
  const name = run.strings[run.frame[id * 3 + 2]];
  if (file === "") return name;
  return line ? `${name}  ${file}:${line}` : `${name}  ${file}`;
}

// Without call paths the note stands in for one: a frame without a file.
function isNote(run, stack) {
  const frames = stackFrames(run, stack);
  return frames.length === 1 && frameFile(run, frames[0]) === "";
}

// How much a frame is its reader's own: installed packages less than a
// program's files, machinery that unwinds stacks or runs hooks not at all.
// report_words.c decides in the same way.
const PLUMBING = new RegExp("unwind|CapturedTraceback|gather_with_cpp|" +
  "CachingAllocator|c10::|at::detail::|at::empty|empty_|set_output_|" +
  "create_out|_Py|Py_|method_vectorcall|pthread|start_thread|clone|" +
  "native_thread");
const OWN_NODE = 2, OWN_TORCH = 3, OWN_LIBRARY = 4, OWN = 5;

function findOwnness(run, id) {
  const file = frameFile(run, id);
  if (!file.endsWith(".py") && !file.startsWith("<")) {
    const name = run.strings[run.frame[id * 3 + 2]];
    if (/Backward.*::apply\(/.test(name) && !name.startsWith("c10::"))
      return OWN_NODE;
    return PLUMBING.test(name) ? 0 : 1;
  }
  if (/[/\\]torch[/\\]/.test(file)) return OWN_TORCH;
  return /[/\\](site|dist)-packages[/\\]|\/lib\/python|^</.test(file)
    ? OWN_LIBRARY : OWN;
}

function ownness(run, id) {
  if (run.ownness[id] < 0) run.ownness[id] = findOwnness(run, id);
  return run.ownness[id];
}

// The innermost frame of those most its reader's own: what a person calls
// "the line".  -1: there is none.
function findOwnFrame(run, stack) {
  let best = -1, most = -1;
  for (const id of stackFrames(run, stack)) {
    const own = ownness(run, id);
    if (own > most) {
      most = own;
      best = id;
    }
    if (own === OWN) break;
  }
  return best;
}

function ownFrame(run, stack) {
  let frame = run.own.get(stack);
  if (frame === undefined) {
    frame = findOwnFrame(run, stack);
    run.own.set(stack, frame);
  }
  return frame;
}

// A function of C++ without its parameters.
function withoutParameters(name) {
  for (let at = name.indexOf("(", 1); at > 0; at = name.indexOf("(", at + 1))
    if (!name.startsWith("(anonymous", at) && !name.startsWith("()", at))
      return name.slice(0, at);
  return name;
}

function baseName(file) {
  return file.slice(Math.max(file.lastIndexOf("/"),
    file.lastIndexOf("\\")) + 1);
}

function functionName(run, id) {
  const whole = run.strings[run.frame[id * 3 + 2]];
  return frameFile(run, id) === "" ? whole : withoutParameters(whole);
}

// For places without room for a whole path.
function frameShort(run, id) {
  const line = run.frame[id * 3 + 1];
  const name = functionName(run, id);
  const base = baseName(frameFile(run, id));
  const where = line ? `${base}:${line}` : base;
  const short = name.length > 48 ? name.slice(0, 47) + "…" : name;
  return where === "??" || where === "" ? short : `${where} ${short}`;
}

// ---- modules and libraries ----

// A Python file as its module is imported: what stands before the folder of
// installed packages, or of PyTorch's own sources, is left out.
function moduleName(run, id) {
  const own = ownness(run, id);
  if (own <= OWN_NODE) return "C++";
  const path = frameFile(run, id).replaceAll("\\", "/");
  const found = /[/](?:site|dist)-packages[/](.*)$/.exec(path) ||
    /[/]lib[/]python[0-9.]*[/](.*)$/.exec(path) ||
    /[/](torch[/].*)$/.exec(path);
  const inside = found ? found[1] : own === OWN ? baseName(path) : path;
  return inside.replace(/\.py$/, "").replace(/[/]__init__$/, "")
    .replaceAll("/", ".");
}

function libraryName(run, id) {
  const own = ownness(run, id);
  if (own === OWN) return "the program";
  if (own <= OWN_NODE) return "C++";
  const file = frameFile(run, id).replaceAll("\\", "/");
  if (/[/]lib[/]python[0-9.]*[/](?!site-packages|dist-packages)/.test(file))
    return "Python's library";
  return moduleName(run, id).split(".")[0];
}
