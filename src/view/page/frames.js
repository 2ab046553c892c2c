// frames.js - call paths: names of frames, the kind of code they belong to,
// their module and library.  The texts are those of the report
// (view.c).

const NO_STACK = 0;

// A run's `frame` has three numbers for each frame: file, line, function.  Stack
// n consists of the frames stack_frame[stack_begin[n]] to
// stack_frame[stack_begin[n + 1]], innermost first; stack 0 is empty.  `kind`,
// `by_line`, `by_function`, `by_module` and `by_library` have for each frame its
// kind and the numbers of its labels; `own` has for each stack the frame that a
// reader would call "the line" plus 1, or 0.

function stackCount(run) {
  return run.stack_begin.length - 1;
}

function stackFrames(run, stack) {
  return run.stack_frame.subarray(run.stack_begin[stack],
    run.stack_begin[stack + 1]);
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
  return run.labels[run[`by_${by}`][id]];
}
