/* put_lines.h - the lines of a made-up snapshot (made_snapshot.h), written one
 * after the other.  Header only, for cmocka programs. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { LINES_MAX = 1 << 16 };

/* A test that writes lines empties this first. */
static char lines[LINES_MAX];

static inline void put(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

static inline void put(const char *format, ...)
{
    size_t used = strlen(lines);
    va_list args;

    va_start(args, format);
    vsnprintf(lines + used, sizeof lines - used, format, args);
    va_end(args);
    assert_true(strlen(lines) + 1 < sizeof lines);
}

/* What an iteration works with: a block of its own, still in use, and smaller
 * ones in turn. */
static inline void put_working_set(void)
{
    put("alloc 0 8MiB 0 train.py:5:forward\n");
    for (int k = 0; k < 20; k++)
        put("alloc 10 1MiB 0 m.py:7:layer\nfree_requested 10 1MiB\n"
            "free_completed 10 1MiB\n");
}
