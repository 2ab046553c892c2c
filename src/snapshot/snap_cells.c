/* snap_cells.c - numbers a notebook's cells that have no number. */
#include "snapshot/snap_cells.h"

#include <string.h>

/* Longer than any path. */
enum { PATH_LENGTH_MAX = 4096 };

static bool is_of_kernel(const struct snapshot *s, uint32_t file)
{
    const char *text = snapshot_string(s, file);
    const char *at;

    if (snapshot_string_length(s, file) > PATH_LENGTH_MAX)
        return false;
    at = strstr(text, "ipykernel_");
    return at != NULL && at > text && (at[-1] == '/' || at[-1] == '\\');
}

void snap_cells_number(struct snap_builder *b)
{
    enum { NOT_ASKED, NO_CELL, FIRST_CELL }; /* further cells follow */
    struct snapshot *s = b->s;
    size_t bytes = s->string_count * sizeof(uint32_t);
    uint32_t *of_file =
        snap_alloc(&b->memory, s->string_count, sizeof *of_file);
    uint32_t next = FIRST_CELL;

    if (of_file == NULL)
        snap_no_memory(b);
    for (size_t i = 0; i < s->frame_count; i++) {
        uint32_t *number = &of_file[s->frames[i].filename];

        if (*number == NOT_ASKED)
            *number = is_of_kernel(s, s->frames[i].filename) ? next++ : NO_CELL;
        s->frames[i].cell = *number - NO_CELL;
    }
    snap_release(&b->memory, of_file, bytes);
}
