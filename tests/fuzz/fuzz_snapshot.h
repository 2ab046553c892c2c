/* fuzz_snapshot.h - for targets that read snapshots: what was read is written and
 * read back. */
#pragma once

#include "fuzz.h"
#include "snapshot/snapshot.h"
#include "snapshot/snapshot_write.h"
#include "support/read_file.h"

typedef bool fuzz_snapshot_writer(const struct snapshot *s, FILE *out,
                                  struct tool_error *error);

/* Writes the snapshot and reads it back with all its events and blocks. */
static inline void fuzz_snapshot_rewrite(const struct snapshot *s,
                                         fuzz_snapshot_writer *write_to)
{
    static struct tool_error error;
    struct snapshot *again;
    char name[FUZZ_NAME_MAX];
    int fd = fuzz_file(NULL, 0, name);
    FILE *out = fdopen(dup(fd), "wb");

    REQUIRE(out != NULL);
    REQUIRE(write_to(s, out, &error));
    REQUIRE(fclose(out) == 0);
    if (!snapshot_read(name, NULL, &again, &error)) {
        fprintf(stderr, "%s\n", error.text);
        abort();
    }
    REQUIRE(again->event_count == s->event_count);
    REQUIRE(again->block_count == s->block_count);
    snapshot_free(again);
    close(fd);
}
