/* torch_python.h - Python's call stack, through the interpreter's stable
 * functions, which are looked up in the process.  Private to the plug-in. */
#pragma once

#include <larder/torch.h>

/* Set in values that stand for a line of Python; addresses do not have it. */
#define TORCH_PYTHON_FRAME (UINT64_C(1) << 63)

/* Write up to `capacity` values, innermost caller first, and return their
 * number; 0: this thread runs no Python.  May wait for the interpreter's lock:
 * do not hold a lock that a Python thread may wait for. */
size_t larder__python_frames(uint64_t *frames, size_t capacity);

/* What such a value stands for; 0 if it is none. */
int larder__python_frame_name(uint64_t frame, larder_frame *out);
