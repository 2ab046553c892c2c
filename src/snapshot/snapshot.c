/* snapshot.c - reads a file of either form, and gives access to its
 * contents. */
#include "snapshot/snapshot.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/snap_builder.h"

/* ---- names ---------------------------------------------------------------- */

const char *snapshot_action_name(enum snapshot_action action)
{
    return (unsigned)action < SNAPSHOT_OTHER
               ? larder__snapshot_words[WORD_ALLOC + (unsigned)action]
               : NULL;
}

const char *snapshot_state_name(enum snapshot_state state)
{
    return (unsigned)state < SNAPSHOT_STATES
               ? larder__snapshot_words[WORD_ACTIVE_ALLOCATED + (unsigned)state]
               : NULL;
}

/* ---- reading -------------------------------------------------------------- */

/* Recognise another common format. */
static bool is_zip(const unsigned char *p, size_t count)
{
    return count >= 4 && p[0] == 'P' && p[1] == 'K' && p[2] == 3 && p[3] == 4;
}

static void read_either(struct snap_builder *b)
{
    const unsigned char *p;
    size_t blanks = 0;

    snap_want(b, 4096);
    p = b->in.at;
    while (blanks < snap_input_left(&b->in) && isspace(p[blanks]))
        blanks++;
    if (blanks == snap_input_left(&b->in))
        snap_fail(b, "empty; expected a memory snapshot");
    if (p[blanks] == '{' || p[blanks] == '[') {
        b->s->is_json = true;
        snap_read_json(b);
    } else if (is_zip(p, snap_input_left(&b->in))) {
        snap_fail(b, "a zip archive, as torch.save() writes; expected a pickle "
                     "or JSON");
    } else {
        snap_read_pickle(b);
    }
}

/* ---- cells of notebooks ---------------------------------------------------- */

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

/* Number a notebook's cells that have no number: a kernel names its cells by a
 * hash of their content.  They are numbered in the order of their frames. */
static void number_cells(struct snap_builder *b)
{
    enum { NOT_ASKED, NO_CELL, FIRST_CELL }; /* further cells follow */
    struct snapshot *s = b->s;
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
    free(of_file);
}

/* An error at any depth leads back here. */
static bool read_whole(struct snap_builder *b)
{
    if (setjmp(b->gave_up) != 0)
        return false;
    if (!snap_input_begin(&b->in))
        snap_no_memory(b);
    snap_builder_init(b);
    read_either(b);
    snap_finish(b);
    number_cells(b);
    return true;
}

bool snapshot_read_source(struct trace_source *source, const char *path,
                          const struct snapshot_read_options *options,
                          struct snapshot **out, struct tool_error *error)
{
    const struct snapshot_read_options none = {0};
    const struct snapshot_read_options *o = options ? options : &none;
    struct snap_builder b = {.error = error};
    bool done;

    *out = NULL;
    b.s = calloc(1, sizeof *b.s);
    if (b.s == NULL) {
        trace_source_close(source);
        return tool_fail(error, "%s: out of host memory", path);
    }
    b.in = (struct snap_input){.path = path,
                               .source = source,
                               .memory = &b.memory,
                               .max_bytes = o->max_input_bytes
                                                ? o->max_input_bytes
                                                : SNAPSHOT_INPUT_DEFAULT};
    done = read_whole(&b);
    snap_input_close(&b.in);
    snap_builder_free(&b);
    if (o->peak_memory_bytes != NULL)
        *o->peak_memory_bytes = b.memory.peak;
    if (!done) {
        snapshot_free(b.s);
        return false;
    }
    b.s->input_bytes = b.memory.input_bytes;
    *out = b.s;
    return true;
}

void snapshot_free(struct snapshot *s)
{
    if (s == NULL)
        return;
    free(s->devices);
    free(s->events);
    free(s->segments);
    free(s->blocks);
    free(s->histories);
    free(s->annotations);
    free(s->frames);
    free(s->stack_begins);
    free(s->stack_frames);
    free(s->string_begins);
    free(s->string_bytes);
    free(s->streams);
    free(s->pools);
    for (size_t i = 0; i < SNAPSHOT_RECORDS; i++)
        free(s->rests[i].at);
    free(s->unknown_keys);
    free(s->other_actions);
    free(s);
}

bool snapshot_has_history(const struct snapshot *s, size_t device)
{
    const struct snapshot_device *d;

    if (device >= s->device_count)
        return false;
    d = &s->devices[device];
    for (size_t i = d->first; i < d->first + d->count; i++) {
        uint8_t action = s->events[i].action;

        if (action == SNAPSHOT_ALLOC || action == SNAPSHOT_FREE_REQUESTED ||
            action == SNAPSHOT_OOM)
            return true;
    }
    return false;
}
