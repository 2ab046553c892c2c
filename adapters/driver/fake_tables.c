/* fake_tables.c - the tables of functions that NVIDIA's runtime, linked
 * statically into a program, requests from the driver in addition to its public
 * calls.
 *
 * They are not published.  The tables and the arguments of their functions are
 * known from ZLUDA (dark_api).  That these suffice, and which functions are
 * called, was observed with the runtimes of CUDA 11.8 to 13.5
 * (docs/notes/tables.md):
 *
 *   interface  2  at the start, for each GPU: its primary context
 *   hooks      2  at the start: memory by which tools enable callbacks
 *              6  the same
 *   tools         requested at the start, never called
 *   checks     3  at the start: a number
 *              2  before a context is used, and before a launch
 *   integrity  1  at the start, three times: whether this is a driver
 *   locals     0  at a context's first use: keep a value with it
 *              1  at the end: forget it
 *              2  at most calls: what was kept
 *   recent        requested by CUDA 13.5, not by 13.2; never called
 *
 * Any other function reports being called. */
#include "driver/fake_tables.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* A table begins with its size in bytes; that of the locals does not. */
union slot {
    size_t bytes;
    void (*call)(void);
};

#define CALL(name)                                                             \
    {                                                                          \
        .call = (void (*)(void))(name)                                         \
    }

/* ---- functions that are not known to be called -------------------------- */

static cud_result unknown(const char *table)
{
    fprintf(stderr,
            "larder: this program is linked with NVIDIA's static CUDA runtime, "
            "which calls an unknown function of the driver's table '%s'; link "
            "the program with the shared runtime: nvcc -cudart shared\n",
            table);
    return CUD_NOT_SUPPORTED;
}

#define TABLE_MAP(X)                                                           \
    X(interface)                                                               \
    X(hooks)                                                                   \
    X(tools)                                                                   \
    X(checks)                                                                  \
    X(integrity)                                                               \
    X(locals)                                                                  \
    X(recent)

#define X(table)                                                               \
    static cud_result table##_unknown(void)                                    \
    {                                                                          \
        return unknown(#table);                                                \
    }
TABLE_MAP(X)
#undef X

/* ---- the runtime's interface -------------------------------------------- */

/* Returns only its handle: the runtime makes it current when needed, and does
 * not retain it. */
static cud_result interface_primary(cud_context *out, cud_device device)
{
    struct fake_device *d;
    cud_result answer = fake_begin_device("cuGetExportTable", device, &d);

    if (answer != CUD_SUCCESS)
        return answer;
    d->primary.lent++;
    *out = &d->primary;
    return fake_end(CUD_SUCCESS);
}

static union slot interface[13] = {
    {.bytes = sizeof interface}, [2] = CALL(interface_primary)};

/* ---- tools: there are none ---------------------------------------------- */

/* Zeros: no tool has subscribed. */
static void hooks_calls(void **out, size_t *count)
{
    static uint64_t none[1024];

    *out = none;
    *count = sizeof none / sizeof none[0];
}

static void hooks_rest(void **out, size_t *bytes)
{
    static unsigned char none[14];

    *out = none;
    *bytes = sizeof none;
}

static union slot hooks[7] = {
    {.bytes = sizeof hooks}, [2] = CALL(hooks_calls), [6] = CALL(hooks_rest)};

static union slot tools[4] = {{.bytes = sizeof tools}};

/* ---- checks ------------------------------------------------------------- */

/* Reports that the context is valid. */
static cud_result checks_context(cud_context context, unsigned *out,
                                 const void **more)
{
    (void)context;
    *out = 0;
    *more = NULL;
    return CUD_SUCCESS;
}

static unsigned checks_number(void)
{
    return 0;
}

static union slot checks[4] = {{.bytes = sizeof checks},
                               [2] = CALL(checks_context),
                               [3] = CALL(checks_number)};

static cud_result integrity_check(unsigned version, uint64_t seconds,
                                  uint64_t out[2]);

static union slot integrity[3] = {{.bytes = sizeof integrity},
                                  CALL(integrity_check)};

static cud_result integrity_check(unsigned version, uint64_t seconds,
                                  uint64_t out[2])
{
    const struct fake_tables tables = {interface, integrity,
                                       (void (*)(void))integrity_check};

    fake_integrity_answer(version, seconds, &tables, out);
    return CUD_SUCCESS;
}

/* ---- values of a context ------------------------------------------------ */

static union slot locals[4] = {CALL(fake_local_put), CALL(fake_local_drop),
                               CALL(fake_local_get)};

/* ---- requested by recent runtimes --------------------------------------- */

static union slot recent[95] = {{.bytes = sizeof recent}};

/* ---- the tables --------------------------------------------------------- */

#define TABLE(name) name, sizeof(name) / sizeof(name)[0], name##_unknown

static const struct {
    unsigned char number[16];
    union slot *slots; /* NULL: not provided */
    size_t count;
    cud_result (*unknown)(void);
} tables[] = {
    {{0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39,
      0x12, 0xfd, 0x9d, 0xf9},
     TABLE(interface)},
    {{0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00,
      0x20, 0x0c, 0x0a, 0x66},
     TABLE(hooks)},
    {{0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7,
      0x8a, 0x3a, 0xec, 0xdc},
     TABLE(tools)},
    {{0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3,
      0x55, 0xd8, 0x95, 0x93},
     TABLE(locals)},
    {{0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5,
      0x00, 0x6d, 0xfa, 0x7e},
     TABLE(checks)},
    {{0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12,
      0x3c, 0x66, 0xe1, 0xf2},
     TABLE(integrity)},
    {{0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48, 0x8c, 0xa6, 0x41, 0xff,
      0x73, 0x24, 0xc8, 0xf2},
     TABLE(recent)},
    /* Requested first, as an alternative to the first two. */
    {{0xf8, 0xcf, 0xf9, 0x51, 0x21, 0x46, 0x8b, 0x4e, 0xb9, 0xe2, 0xfb, 0x46,
      0x9e, 0x7c, 0x0d, 0xd9},
     NULL,
     0,
     NULL},
};

/* An empty slot would crash the program without a message. */
static void fill(void)
{
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        for (size_t s = 0; s < tables[i].count; s++) {
            if (tables[i].slots[s].call == NULL)
                tables[i].slots[s].call = (void (*)(void))tables[i].unknown;
        }
    }
}

static void refuse(const unsigned char number[16])
{
    static atomic_flag is_told = ATOMIC_FLAG_INIT;
    char text[33];

    if (atomic_flag_test_and_set(&is_told))
        return;
    for (int i = 0; i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", number[i]);
    fprintf(stderr,
            "larder: this program requests an unpublished driver table that is "
            "unknown here, %s; if it is linked with NVIDIA's static CUDA "
            "runtime, link it with the shared one: nvcc -cudart shared\n",
            text);
}

cud_result cuGetExportTable(const void **out, const void *which)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    size_t i = 0;

    if (out == NULL || which == NULL)
        return CUD_INVALID_VALUE;
    pthread_once(&once, fill);
    while (i < sizeof tables / sizeof tables[0] &&
           memcmp(which, tables[i].number, sizeof tables[i].number) != 0)
        i++;
    *out = NULL;
    if (i == sizeof tables / sizeof tables[0])
        refuse(which);
    else
        *out = tables[i].slots;
    return *out != NULL ? CUD_SUCCESS : CUD_NOT_FOUND;
}
