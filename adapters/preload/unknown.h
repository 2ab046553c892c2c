/* unknown.h - driver calls that this library does not know. */
#pragma once

#include <stdbool.h>

/* The newest release of CUDA whose calls are all hooked or in harmless.c. */
enum { PRELOAD_KNOWN_VERSION = 13050 };

/* Whether a call, or every variant of this name, does not access memory that
 * can move, so that it need not be held back. */
bool preload_is_harmless(const char *name);

/* The entry point that the program gets for a call that may queue work: a few
 * instructions that end moving when first called, and continue to the call.  If
 * there is no room for them, moving ends at once, and the result is `call`. */
void *preload_unknown(const char *name, void *call);
