/* exec.h - the parts of `larder exec`. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

/* ---- the simulated driver and its libraries (exec_place.c) ---- */

/* The folder of our libcuda.so.1: LARDER_FAKECUDA_DIR, or near the command.
 * False: there is none, which is reported on the standard error. */
bool exec_find_folder(char out[PATH_MAX]);

/* The folder of our runtime and the stand-ins for CUDA's libraries:
 * LARDER_CUDART_DIR, or near the command.  False: there is none.  That is not
 * reported, because programs that use only the driver do not need it, unless
 * the setting is wrong. */
bool exec_find_runtime(char out[PATH_MAX], bool *is_wrong);

/* Make the loader prefer that folder, if it can.  False: no host memory. */
bool exec_set_runtime(const char *folder);

/* liblarder_preload.so: LARDER_PRELOAD_LIBRARY, or near the command.  False: as
 * above. */
bool exec_find_preload(char out[PATH_MAX]);

/* Make the loader load the library first; the path may be modified.  False: no
 * host memory. */
bool exec_set_preload(char library[PATH_MAX]);

/* ---- the program (exec_child.c) ---- */

/* Run the words, ended by NULL, and wait.  Signals sent to this process are
 * forwarded to the program; those from the terminal reach it anyway.  Returns
 * the program's exit status, or the shell's value for a signal.  *began: whether
 * there was a program; if not, that was reported. */
int exec_child_run(char **words, bool *began);

/* ---- the simulated driver's report (exec_report.c) ----
 *
 * A line of JSON for each device that a process used. */

/* Print it to `out`, unchanged or as text.  False: it cannot be read. */
bool exec_report(const char *path, bool as_json, FILE *out);
