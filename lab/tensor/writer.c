/* writer.c - writes text to a caller's buffer, and counts what does not fit. */
#include "tensor/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PIECE = 256 };

void lab__writer_init(struct lab__writer *w, char *buf, size_t cap)
{
    w->buf = buf;
    w->cap = buf != NULL ? cap : 0;
    w->length = 0;
    if (w->cap > 0)
        buf[0] = '\0';
}

void lab__write_text(struct lab__writer *w, const char *text, size_t length)
{
    if (w->length + 1 < w->cap) {
        size_t room = w->cap - 1 - w->length;
        size_t fits = length < room ? length : room;

        memcpy(w->buf + w->length, text, fits);
        w->buf[w->length + fits] = '\0';
    }
    w->length += length;
}

/* In pieces: no single one is longer than PIECE. */
void lab__write(struct lab__writer *w, const char *format, ...)
{
    char piece[PIECE];
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    if (length <= 0)
        return;
    lab__write_text(w, piece,
                    (size_t)length < sizeof piece ? (size_t)length
                                                  : sizeof piece - 1);
}

static int digits_after_point(double x)
{
    if (x < 9.995)
        return 2;
    return x < 99.95 ? 1 : 0;
}

const char *lab__bytes_text(uint64_t bytes, char out[LAB__BYTES_TEXT])
{
    static const char *const units[] = {"KiB", "MiB", "GiB",
                                        "TiB", "PiB", "EiB"};
    double x = (double)bytes / 1024;
    unsigned unit = 0;

    if (bytes < 1024) {
        snprintf(out, LAB__BYTES_TEXT, "%" PRIu64 " B", bytes);
        return out;
    }
    /* 1023.5 and above would be rounded to 1024. */
    while (x >= 1023.5 && unit + 1 < sizeof units / sizeof units[0]) {
        x /= 1024;
        unit++;
    }
    snprintf(out, LAB__BYTES_TEXT, "%.*f %s", digits_after_point(x), x,
             units[unit]);
    return out;
}
