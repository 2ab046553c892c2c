/* snap_input.c - the decompressed bytes of a file through a moving window. */
#include "snapshot/snap_input.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Small enough to stay in the CPU's cache. */
enum { WINDOW_BYTES = 256 << 10 };

/* Larger files are worth a thread. */
enum { AHEAD_FROM_BYTES = 4 << 20 };

bool snap_input_begin(struct snap_input *in)
{
    bool ok =
        snap_reserve(in->memory, &in->window, &in->capacity, WINDOW_BYTES, 1);

    in->at = in->end = in->window;
    return ok;
}

void snap_input_close(struct snap_input *in)
{
    trace_ahead_stop(in->ahead);
    trace_source_close(in->source);
    free(in->window);
}

/* Move the unread rest to the start of the window. */
static void input_shift(struct snap_input *in)
{
    size_t left = snap_input_left(in);

    in->window_offset += (uint64_t)(in->at - in->window);
    memmove(in->window, in->at, left);
    in->at = in->window;
    in->end = in->window + left;
}

/* The window is full and more is needed: double it, which the bytes read so far
 * allow for. */
static bool input_widen(struct snap_input *in, struct tool_error *error)
{
    size_t left = snap_input_left(in);

    if (!snap_reserve(in->memory, &in->window, &in->capacity, in->capacity * 2,
                      1))
        return tool_fail(error, "%s: byte %" PRIu64 ": out of host memory",
                         in->path, in->window_offset);
    in->at = in->window;
    in->end = in->window + left;
    return true;
}

static bool fetch(struct snap_input *in, size_t left, size_t *count,
                  struct tool_error *error)
{
    unsigned char *to = in->window + left;
    size_t room = in->capacity - left;

    if (in->ahead == NULL && !in->alone &&
        in->memory->input_bytes >= AHEAD_FROM_BYTES) {
        in->ahead = trace_ahead_start(in->source);
        in->alone = in->ahead == NULL;
    }
    return in->ahead != NULL
               ? trace_ahead_read(in->ahead, to, room, count, error)
               : trace_source_read(in->source, to, room, count, error);
}

static bool input_read(struct snap_input *in, struct tool_error *error)
{
    size_t left = snap_input_left(in);
    size_t count;

    if (!fetch(in, left, &count, error))
        return false;
    in->at_end = count == 0;
    in->end += count;
    in->memory->input_bytes += count;
    if (in->memory->input_bytes > in->max_bytes)
        return tool_fail(error,
                         "%s: byte %" PRIu64 ": holds more, decompressed, than "
                         "the limit of %" PRIu64 " bytes",
                         in->path, in->max_bytes, in->max_bytes);
    return true;
}

bool snap_input_want(struct snap_input *in, size_t count,
                     struct tool_error *error)
{
    if (snap_input_left(in) >= count || in->at_end)
        return true;
    input_shift(in);
    while (snap_input_left(in) < count && !in->at_end) {
        if (snap_input_left(in) == in->capacity && !input_widen(in, error))
            return false;
        if (!input_read(in, error))
            return false;
    }
    return true;
}
