// frames.js - call paths: names of frames, the kind of code they belong to,
// their module and library.  The texts are those of the report
// (view.c); a page that reads snapshots itself gets them from
// framewords.js.

const NO_STACK = 0;

// From least to most informative about a program (frame_kind.h).
const FRAME_PLUMBING = 0, FRAME_STANDARD = 1, FRAME_COMPILED = 2,
  FRAME_BACKWARD = 3, FRAME_TORCH = 4, FRAME_PACKAGE = 5, FRAME_OWN = 6;

// A frame is three numbers: file, line, function.  Stack n consists of the
// frames from stackBegin[n] to stackBegin[n + 1], innermost first; stack 0
// is empty. `words` has for each frame its kind and, by line, function,
// module and library, the number of its label; and for each stack the frame
// that a reader would call "the line" plus 1, or 0.
function makeRun(name, strings, frame, stackBegin, stackFrame, words) {
  return { name, strings, frame, stackBegin, stackFrame, ...words,
    devices: [] };
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

function frameName(run, id) {
  return run.strings[run.frame[id * 3 + 2]];
}

function frameText(run, id) {
  const file = frameFile(run, id);
  const line = run.frame[id * 3 + 1];
  const name = frameName(run, id);
  if (file === "") return name;
  return line ? `${name}  ${file}:${line}` : `${name}  ${file}`;
}

// Without call paths the program's note replaces them: a frame without a file.
function isNote(run, stack) {
  const frames = stackFrames(run, stack);
  return frames.length === 1 && frameFile(run, frames[0]) === "";
}

// -1: there is none.
function ownFrame(run, stack) {
  return run.own[stack] - 1;
}

// The label by "line", "function", "module" or "library".
function frameLabel(run, id, by) {
  return run.labels[run.by[by][id]];
}
