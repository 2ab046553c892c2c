/* snapshot_bytes.h - reads a snapshot that a test has in memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "snapshot/snapshot.h"

/* Like snapshot_read_source(); errors begin with "FILE: " or "FILE:". */
bool snapshot_read_bytes(const void *bytes, size_t count,
                         const struct snapshot_read_options *options,
                         struct snapshot **out, struct tool_error *error);

/* A file of at most 1 MiB; free the result. */
unsigned char *snapshot_load_file(const char *path, size_t *count);
