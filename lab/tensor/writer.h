/* writer.h - writes text to a caller's buffer and counts like snprintf(): what
 * does not fit is counted and left out, so the required length is known at the
 * end. */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct lab__writer {
    char *buf;
    size_t cap;
    size_t length; /* needed so far, without the NUL */
};

void lab__writer_init(struct lab__writer *w, char *buf, size_t cap);
void lab__write_text(struct lab__writer *w, const char *text, size_t length);
void lab__write(struct lab__writer *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "512 B", "1.50 KiB", "21.9 GiB": three digits or more; returns out. */
#define LAB__BYTES_TEXT 24
const char *lab__bytes_text(uint64_t bytes, char out[LAB__BYTES_TEXT]);
