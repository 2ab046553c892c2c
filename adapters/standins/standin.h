/* standin.h - the stand-ins for libraries above the runtime: functions that
 * compute nothing and return success.
 *
 * Most are generated from lists (*.list, by tools/make_standins.py) and weak,
 * so that hand-written ones replace them.  They are declared with more
 * arguments than callers pass: those passed are where the platform's calling
 * convention puts integers and pointers, and no others are used. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { STANDIN_HANDLE_BYTES = 128 };

#define STANDIN_ARGUMENTS                                                      \
    uintptr_t a1, uintptr_t a2, uintptr_t a3, uintptr_t a4, uintptr_t a5,      \
        uintptr_t a6, uintptr_t a7, uintptr_t a8, uintptr_t a9, uintptr_t a10, \
        uintptr_t a11, uintptr_t a12, uintptr_t a13, uintptr_t a14,            \
        uintptr_t a15, uintptr_t a16

/* A function from a list: STANDIN(name) { ... } */
#define STANDIN(name)                                                          \
    __attribute__((weak)) intptr_t name(STANDIN_ARGUMENTS);                    \
    intptr_t name(STANDIN_ARGUMENTS)

/* A hand-written function, with its real arguments. */
#define STANDIN_OWN(type, name, arguments)                                     \
    type name arguments;                                                       \
    type name arguments

/* The version of the toolkit, in numbers of this type. */
#define STANDIN_VERSION(name, type)                                            \
    STANDIN_OWN(int, name, (type * major, type * minor))                       \
    {                                                                          \
        *major = STANDIN_MAJOR;                                                \
        *minor = STANDIN_MAJOR == 12 ? 9 : 0;                                  \
        return 0;                                                              \
    }

/* Destroy what standin_handle() returned, and forget it. */
#define STANDIN_DESTROY(name)                                                  \
    STANDIN_OWN(int, name, (void **handle))                                    \
    {                                                                          \
        free(*handle);                                                         \
        *handle = NULL;                                                        \
        return 0;                                                              \
    }

/* Two hand-written functions: the size and the bytes of one kind of result. */
#define STANDIN_RESULT(size_name, name, bytes)                                 \
    STANDIN_OWN(int, size_name, (void *handle, size_t *out))                   \
    {                                                                          \
        (void)handle;                                                          \
        *out = sizeof(bytes);                                                  \
        return 0;                                                              \
    }                                                                          \
    STANDIN_OWN(int, name, (void *handle, char *out))                          \
    {                                                                          \
        (void)handle;                                                          \
        memcpy(out, bytes, sizeof(bytes));                                     \
        return 0;                                                              \
    }

/* Write zeros through the pointer, if there is one. */
static inline void standin_zero(uintptr_t ptr, size_t bytes)
{
    if (ptr != 0)
        memset((void *)ptr, 0, bytes);
}

/* Return a zeroed handle; standin_keep() stores a stream in its first word.
 * NULL without memory: programs treat that as a handle too, and all calls here
 * accept it. */
static inline void standin_handle(uintptr_t ptr)
{
    void *handle = calloc(1, STANDIN_HANDLE_BYTES);

    if (ptr != 0)
        memcpy((void *)ptr, &handle, sizeof handle);
    else
        free(handle);
    /* cppcheck-suppress memleak; the caller has it, at ptr */
}

static inline void standin_keep(uintptr_t handle, uintptr_t stream)
{
    if (handle != 0)
        memcpy((void *)handle, &stream, sizeof stream);
}

static inline void standin_kept(uintptr_t handle, uintptr_t out)
{
    standin_zero(out, sizeof(uintptr_t));
    if (handle != 0 && out != 0)
        memcpy((void *)out, (void *)handle, sizeof(uintptr_t));
}

/* A late minor version of the major version, because programs reject libraries
 * older than they were built for. */
enum { STANDIN_MINOR = 9 };

static inline void standin_number(uintptr_t out, int number)
{
    if (out != 0)
        memcpy((void *)out, &number, sizeof number);
}

/* 11900 for 11.9 */
static inline void standin_version(uintptr_t out)
{
    standin_number(out, STANDIN_MAJOR * 1000 + STANDIN_MINOR * 100);
}

/* libraryPropertyType: major, minor, patch */
static inline void standin_property(uintptr_t which, uintptr_t out)
{
    standin_number(out, which == 0   ? STANDIN_MAJOR
                        : which == 1 ? STANDIN_MINOR
                                     : 0);
}
