/* trace_zstd.c - an output stream that compresses. */
#include "trace/trace_zstd.h"

#include <errno.h>
#include <stdlib.h>

#include <zstd.h>

enum { OUTPUT_BYTES = 64 * 1024, LEVEL = 10 };

struct zstd_stream {
    FILE *out;
    ZSTD_CStream *zstd;
    bool failed;
    char buffer[OUTPUT_BYTES];
};

/* Compress the input and write the output; with ZSTD_e_end all of it. */
static bool compress(struct zstd_stream *s, ZSTD_inBuffer *in,
                     ZSTD_EndDirective end)
{
    size_t left;

    do {
        ZSTD_outBuffer out = {s->buffer, sizeof s->buffer, 0};

        left = ZSTD_compressStream2(s->zstd, &out, in, end);
        if (ZSTD_isError(left) ||
            fwrite(s->buffer, 1, out.pos, s->out) != out.pos) {
            s->failed = true;
            return false;
        }
    } while (end == ZSTD_e_end ? left != 0 : in->pos < in->size);
    return true;
}

static ssize_t stream_write(void *cookie, const char *bytes, size_t count)
{
    struct zstd_stream *s = cookie;
    ZSTD_inBuffer in = {bytes, count, 0};

    return compress(s, &in, ZSTD_e_continue) ? (ssize_t)count : 0;
}

static int stream_close(void *cookie)
{
    struct zstd_stream *s = cookie;
    ZSTD_inBuffer in = {NULL, 0, 0};
    bool ok = !s->failed && compress(s, &in, ZSTD_e_end);

    ZSTD_freeCStream(s->zstd);
    free(s);
    if (!ok && errno == 0)
        errno = EIO;
    return ok ? 0 : -1;
}

FILE *trace_zstd_open(FILE *out)
{
    static const cookie_io_functions_t functions = {.write = stream_write,
                                                    .close = stream_close};
    struct zstd_stream *s = calloc(1, sizeof *s);
    FILE *made = NULL;

    if (s == NULL)
        return NULL;
    s->out = out;
    s->zstd = ZSTD_createCStream();
    if (s->zstd != NULL && !ZSTD_isError(ZSTD_CCtx_setParameter(
                               s->zstd, ZSTD_c_compressionLevel, LEVEL)))
        made = fopencookie(s, "w", functions);
    if (made == NULL) {
        ZSTD_freeCStream(s->zstd);
        free(s);
    }
    return made;
}
