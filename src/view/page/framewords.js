// framewords.js - names and kinds of frames, if the page reads the snapshot
// itself: the rules of frame_kind.c, report_words.c and frame_groups.c;
// tests compare them.

const TEXT_MAX = 4096, LABEL_MAX = 511, HELPER_CALLS = 2;
const PLUMBING = new RegExp("unwind|CapturedTraceback|gather_with_cpp|" +
  "CachingAllocator|c10::|at::detail::|at::empty|empty_|set_output_|" +
  "create_out|_Py|Py_|method_vectorcall|pthread|start_thread|clone|" +
  "native_thread");

// ---- texts ----

// The first `most` bytes of UTF-8, with complete characters.
function cutBytes(text, most) {
  let bytes = 0, out = "";
  for (const char of text) {
    const code = char.codePointAt(0);
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (bytes > most) return out;
    out += char;
  }
  return out;
}

function afterFolders(path) {
  return /[^/\\]*[/\\]?$/.exec(path)[0];
}

function lastParts(path) {
  const parts = /[^/\\]*[/\\]+[^/\\]*[/\\]?$/.exec(path);
  return parts ? parts[0] : path;
}

// The name of a C++ function without its parameters.
function withoutParameters(name) {
  for (let at = name.indexOf("(", 1); at > 0; at = name.indexOf("(", at + 1))
    if (!name.startsWith("(anonymous", at) && !name.startsWith("()", at))
      return name.slice(0, at);
  return name;
}

// ---- whose ----

// The part of a path after the last occurrence of a folder.
function below(path, folder) {
  for (let at = path.lastIndexOf(folder); at > 0;
    at = path.lastIndexOf(folder, at - 1)) {
    const after = at + folder.length;
    if (/[/\\]/.test(path[at - 1]) && /[/\\]/.test(path[after] || ""))
      return path.slice(after + 1);
  }
  return null;
}

function inPackages(file) {
  return below(file, "site-packages") ?? below(file, "dist-packages");
}

function packageName(inside) {
  const name = inside.split(/[/\\]/, 1)[0];
  return name === inside && name.length > 3 ? name.replace(/\.py$/, "") : name;
}

function isKernelFile(file) {
  const at = file.indexOf("ipykernel_");
  return at > 0 && /[/\\]/.test(file[at - 1]);
}

function isCellFile(file) {
  return file.startsWith("<ipython-input-") || file.startsWith("<cell") ||
    isKernelFile(file);
}

function kindOf(file, name) {
  if (isCellFile(file)) return FRAME_OWN;
  if (!file.endsWith(".py") && !file.startsWith("<")) {
    if (/Backward/.test(name) && name.includes("::apply(") &&
        !name.startsWith("c10::"))
      return FRAME_BACKWARD;
    return PLUMBING.test(name) ? FRAME_PLUMBING : FRAME_COMPILED;
  }
  if (below(file, "torch") !== null || isInductorFile(file) ||
      file.startsWith("<eval_with_key"))
    return FRAME_TORCH;
  if (inPackages(file) !== null) return FRAME_PACKAGE;
  return file.includes("/lib/python") || file.startsWith("<") ? FRAME_STANDARD
    : FRAME_OWN;
}

// Code that Inductor generated, in its folder or named by a hash.
function isInductorFile(file) {
  return /[/\\]torchinductor_/.test(file) ||
    /[/\\]([a-z2-7]{2})[/\\]c\1[a-z2-7]{49}\.py$/.test(file);
}

// ---- labels ----

// A kernel names cells by their content, so they are numbered.
function cellNumbers(files) {
  const numbers = new Map();
  for (const file of files)
    if (isKernelFile(file) && !numbers.has(file))
      numbers.set(file, numbers.size + 1);
  return numbers;
}

function cellLabel(file, kernels) {
  return `cell ${kernels.get(file) ?? Number(/\d+/.exec(file) || 0)}`;
}

function lineLabel(f) {
  if (f.kind === FRAME_BACKWARD) {
    const node = f.name.slice(0, f.name.indexOf("::apply(")).split(":").pop();
    return plain(`${cutBytes(node, 60)} of the backward pass`);
  }
  const file = f.cell ??
    (f.file.length > TEXT_MAX ? f.file : afterFolders(f.file));
  const bare = file === "" ? f.name : withoutParameters(f.name);
  const name = cutBytes(bare || "(no name)", 60);
  const line = f.line ? `:${f.line}` : "";
  return plain(file === "??" || file === "" ? name
    : `${cutBytes(file, 300)}${line} ${name}`);
}

function moduleLabel(f) {
  if (f.cell) return f.cell;
  const inside = inPackages(f.file);
  if (inside !== null)
    return plain(cutBytes(inside, LABEL_MAX).replace(/[/\\]/g, ".")
      .replace(/(.)\.py$/, "$1").replace(/(.)\.__init__$/, "$1"));
  return f.kind < FRAME_TORCH ? "(no Python)"
    : plain(cutBytes(lastParts(f.file), LABEL_MAX));
}

function libraryLabel(f) {
  switch (f.kind) {
    case FRAME_OWN: return "the program itself";
    case FRAME_TORCH: return "torch";
    case FRAME_BACKWARD: return "torch (the backward pass)";
    case FRAME_STANDARD: return "Python's own library";
    case FRAME_PACKAGE: return plain(packageName(inPackages(f.file)));
    default: return "(no Python)";
  }
}

function functionLabel(f) {
  return f.kind < FRAME_TORCH ? lineLabel(f) : plain(
    `${cutBytes(moduleLabel(f), 300)} ${cutBytes(f.name, 150)}`);
}

const LABELS = { line: lineLabel, function: functionLabel,
  module: moduleLabel, library: libraryLabel };

// ---- of all frames and stacks ----

// The innermost frame of the program, unless a package was more than two calls
// deep in its own code; otherwise the most informative one.
function ownOf(kind, frames) {
  let best = -1, most = -1, helpers = 0;
  for (const id of frames) {
    if (kind[id] === FRAME_OWN) return id;
    helpers += kind[id] === FRAME_PACKAGE;
    if (kind[id] > most) {
      most = kind[id];
      best = id;
    }
    if (helpers > HELPER_CALLS) break;
  }
  return best;
}

function framesOf(strings, frame) {
  const short = (text) => text.length > TEXT_MAX ? "" : text;
  const files = strings.map(short), list = [];
  const kernels = cellNumbers([...Array(frame.length / 3).keys()]
    .map((id) => files[frame[id * 3]]));
  for (let at = 0; at < frame.length; at += 3) {
    const file = files[frame[at]], name = strings[frame[at + 2]];
    list.push({ file: strings[frame[at]], name, line: frame[at + 1],
      kind: kindOf(file, short(name)),
      cell: isCellFile(file) ? cellLabel(file, kernels) : null });
  }
  return list;
}

// The data about a run's frames and stacks for makeRun().
function frameWords(strings, frame, begin, ids) {
  const list = framesOf(strings, frame), labels = new Numbers("");
  const kind = Uint8Array.from(list, (f) => f.kind), by = {};
  for (const name of Object.keys(LABELS))
    by[name] = Uint32Array.from(list, (f) => labels.of(LABELS[name](f)));
  const own = new Uint32Array(begin.length - 1);
  for (let stack = 0; stack < own.length; stack++)
    own[stack] = ownOf(kind, ids.subarray(begin[stack], begin[stack + 1])) + 1;
  return { kind, own, labels: labels.list, by, frames: list };
}
