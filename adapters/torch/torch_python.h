/* torch_python.h - Python's callers, by the interpreter's stable functions,
 * looked up in the process.  Private to the plug-in. */
#ifndef LARDER_ADAPTERS_TORCH_PYTHON_H
#define LARDER_ADAPTERS_TORCH_PYTHON_H

#include <larder/torch.h>

/* Set in a value that stands for a line of Python; addresses have it not. */
#define TORCH_PYTHON_FRAME (UINT64_C(1) << 63)

/* Write up to `capacity` values, the innermost caller first; how many.  0 if
 * this thread runs no Python.  May wait for the interpreter's lock: call it with
 * no lock that a thread of Python can wait for. */
size_t larder__python_frames(uint64_t *frames, size_t capacity);

/* What such a value stands for; 0 if it is none. */
int larder__python_frame_name(uint64_t frame, larder_frame *out);

#endif
