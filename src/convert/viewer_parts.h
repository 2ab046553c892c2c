/* viewer_parts.h - what the files of viewer_files.h consist of: devices, and
 * strings in JSON. */
#pragma once

#include "convert/viewer_files.h"
#include "snapshot/lifetimes.h"
#include "trace/arena.h"

/* If the text begins with a lone surrogate, which Python makes of a byte of a
 * file's name that is not UTF-8, and which UTF-8 may not contain: write the
 * character that stands for any other, and return the bytes to skip; else 0. */
size_t json_text_surrogate(FILE *out, const char *text, size_t length);

/* Write a string in quotes, surrogates as above.  Check ferror() for
 * success. */
void json_text_write(FILE *out, const struct snapshot *s, uint32_t string);

/* Writes one device; *begun: something was written before.  What it takes from
 * the arena is freed after it. */
typedef void viewer_device(struct arena *arena, const struct lifetimes *l,
                           FILE *out, bool *begun);

/* Write every selected device in turn.  False: no host memory. */
bool viewer_devices(const struct snapshot *s, size_t device, FILE *out,
                    viewer_device *write, struct tool_error *error);
