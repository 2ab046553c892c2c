/* trace_source.c - the bytes of a trace file, decompressed while reading. */
#include "trace/trace_source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zstd.h>

enum { INPUT_BYTES = 128 * 1024 };

struct trace_source {
    const char *path;
    int fd;                      /* -1: the source is in memory */
    const unsigned char *memory; /* the part not read yet */
    size_t memory_left;
    ZSTD_DStream *zstd; /* NULL: plain text */
    bool in_frame;      /* inside a zstd frame */
    bool at_end;
    uint64_t input_offset; /* offset of input[0] in the file */
    size_t input_used;
    size_t input_count;
    size_t peeked_used;
    size_t peeked_count;
    unsigned char peeked[TRACE_PEEK_BYTES];
    unsigned char input[INPUT_BYTES];
};

/* Read at most `capacity` bytes; *count is 0 only at the end. */
static bool source_take(struct trace_source *s, void *buffer, size_t capacity,
                        size_t *count, struct tool_error *error)
{
    ssize_t n;

    if (s->fd < 0) {
        *count = s->memory_left < capacity ? s->memory_left : capacity;
        if (*count > 0)
            memcpy(buffer, s->memory, *count);
        s->memory += *count;
        s->memory_left -= *count;
        return true;
    }
    do {
        n = read(s->fd, buffer, capacity);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return tool_fail(error, "%s: cannot be read: %s", s->path,
                         strerror(errno));
    *count = (size_t)n;
    return true;
}

/* Read the next bytes of the file into input[], behind those not used yet. */
static bool source_fill(struct trace_source *s, struct tool_error *error)
{
    size_t left = s->input_count - s->input_used;
    size_t n;

    memmove(s->input, s->input + s->input_used, left);
    s->input_offset += s->input_used;
    s->input_used = 0;
    s->input_count = left;
    if (!source_take(s, s->input + left, INPUT_BYTES - left, &n, error))
        return false;
    s->at_end = n == 0;
    s->input_count += n;
    return true;
}

/* Whether it begins with the magic number of a zstd frame or of one of the
 * sixteen skippable frames. */
static bool is_zstd(const unsigned char *p, size_t count)
{
    uint32_t magic;

    if (count < 4)
        return false;
    magic = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
            (uint32_t)p[3] << 24;
    return magic == ZSTD_MAGICNUMBER || (magic & 0xfffffff0) == 0x184d2a50;
}

static bool source_begin(struct trace_source *s, struct tool_error *error)
{
    /* A pipe may return less than requested. */
    while (s->input_count < 4 && !s->at_end) {
        if (!source_fill(s, error))
            return false;
    }
    if (!is_zstd(s->input, s->input_count))
        return true;
    s->zstd = ZSTD_createDStream();
    if (s->zstd == NULL)
        return tool_fail(error, "%s: out of host memory", s->path);
    return true;
}

/* Inspect the first bytes of the opened file, which now belongs to the
 * source. */
static bool source_open(struct trace_source *s, struct trace_source **out,
                        struct tool_error *error)
{
    if (!source_begin(s, error)) {
        trace_source_close(s);
        return false;
    }
    *out = s;
    return true;
}

bool trace_source_open(const char *path, struct trace_source **out,
                       struct tool_error *error)
{
    struct trace_source *s = calloc(1, sizeof *s);

    if (s == NULL)
        return tool_fail(error, "%s: out of host memory", path);
    s->path = path;
    s->fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO)
                                   : open(path, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0) {
        tool_set_error(error, "%s: cannot be opened: %s", path,
                       strerror(errno));
        free(s);
        return false;
    }
    return source_open(s, out, error);
}

bool trace_source_open_memory(const void *bytes, size_t count, const char *path,
                              struct trace_source **out,
                              struct tool_error *error)
{
    struct trace_source *s = calloc(1, sizeof *s);

    if (s == NULL)
        return tool_fail(error, "%s: out of host memory", path);
    s->path = path;
    s->fd = -1;
    s->memory = bytes;
    s->memory_left = count;
    return source_open(s, out, error);
}

void trace_source_close(struct trace_source *s)
{
    if (s == NULL)
        return;
    ZSTD_freeDStream(s->zstd);
    if (s->fd >= 0)
        close(s->fd);
    free(s);
}

static void source_copy(struct trace_source *s, void *buffer, size_t capacity,
                        size_t *count)
{
    size_t n = s->input_count - s->input_used;

    if (n > capacity)
        n = capacity;
    memcpy(buffer, s->input + s->input_used, n);
    s->input_used += n;
    *count = n;
}

static bool source_inflate(struct trace_source *s, void *buffer,
                           size_t capacity, size_t *count,
                           struct tool_error *error)
{
    ZSTD_inBuffer in = {s->input, s->input_count, s->input_used};
    ZSTD_outBuffer out = {buffer, capacity, 0};
    size_t r = ZSTD_decompressStream(s->zstd, &out, &in);

    s->input_used = in.pos;
    if (ZSTD_isError(r))
        return tool_fail(error,
                         "%s: byte %" PRIu64 ": corrupt zstd data (%s); "
                         "expected a whole zstd frame",
                         s->path, s->input_offset + in.pos,
                         ZSTD_getErrorName(r));
    s->in_frame = r != 0;
    *count = out.pos;
    return true;
}

/* Plain text, input[] is empty, and the buffer is large: bypass input[]. */
static bool source_read_through(struct trace_source *s, void *buffer,
                                size_t capacity, size_t *count,
                                struct tool_error *error)
{
    if (!source_take(s, buffer, capacity, count, error))
        return false;
    s->at_end = *count == 0;
    return true;
}

static bool source_read(struct trace_source *s, void *buffer, size_t capacity,
                        size_t *count, struct tool_error *error)
{
    *count = 0;
    if (s->zstd == NULL && s->input_used == s->input_count && !s->at_end &&
        capacity >= INPUT_BYTES)
        return source_read_through(s, buffer, capacity, count, error);
    for (;;) {
        bool empty = s->input_used == s->input_count;

        if (empty && !s->at_end) {
            if (!source_fill(s, error))
                return false;
            continue;
        }
        if (s->zstd == NULL) {
            source_copy(s, buffer, capacity, count);
            return true;
        }
        /* zstd may still have output of a frame in its own buffer at the
         * end. */
        if (empty && !s->in_frame)
            return true;
        if (!source_inflate(s, buffer, capacity, count, error))
            return false;
        if (*count != 0)
            return true;
        if (empty)
            return tool_fail(error,
                             "%s: byte %" PRIu64 ": the file ends inside a "
                             "zstd frame; expected the rest of it",
                             s->path, s->input_offset + s->input_used);
    }
}

bool trace_source_peek(struct trace_source *s, const unsigned char **bytes,
                       size_t *count, struct tool_error *error)
{
    size_t more = 1;

    while (s->peeked_count < TRACE_PEEK_BYTES && more > 0) {
        if (!source_read(s, s->peeked + s->peeked_count,
                         TRACE_PEEK_BYTES - s->peeked_count, &more, error))
            return false;
        s->peeked_count += more;
    }
    *bytes = s->peeked;
    *count = s->peeked_count;
    return true;
}

bool trace_source_read(struct trace_source *s, void *buffer, size_t capacity,
                       size_t *count, struct tool_error *error)
{
    size_t n = s->peeked_count - s->peeked_used;

    if (n == 0)
        return source_read(s, buffer, capacity, count, error);
    if (n > capacity)
        n = capacity;
    memcpy(buffer, s->peeked + s->peeked_used, n);
    s->peeked_used += n;
    *count = n;
    return true;
}
