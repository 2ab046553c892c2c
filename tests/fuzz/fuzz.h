/* fuzz.h - a fuzz target is one function that accepts any bytes and returns, or
 * the process aborts.  Linked with driver.c, or with libFuzzer. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <larder/larder.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An assert that is active in every build. */
#define REQUIRE(condition)                                                     \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "%s:%d: not so: %s; last error: %s\n", __FILE__,   \
                    __LINE__, #condition, larder_last_error());                \
            abort();                                                           \
        }                                                                      \
    } while (0)

/* The input as text: cut at its first NUL, and NUL-terminated.  Free the
 * result. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    REQUIRE(text != NULL);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

enum { FUZZ_NAME_MAX = 64 };

/* A file in memory that holds the bytes, and its name; close the result. */
static inline int fuzz_file(const void *data, size_t size,
                            char name[FUZZ_NAME_MAX])
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    REQUIRE(fd >= 0);
    REQUIRE(size == 0 || write(fd, data, size) == (ssize_t)size);
    snprintf(name, FUZZ_NAME_MAX, "/proc/self/fd/%d", fd);
    return fd;
}
