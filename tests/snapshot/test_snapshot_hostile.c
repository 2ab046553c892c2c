/* test_snapshot_hostile.c - files made to be expensive: each is read or refused
 * quickly, within the memory its size allows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <zstd.h>

#include "snapshot/host_peak.h"
#include "snapshot/snapshot.h"
#include "support/snapshot_bytes.h"

static char *bytes;
static size_t count, capacity;

static void put(const void *p, size_t n)
{
    if (count + n > capacity) {
        capacity = 2 * (count + n);
        bytes = realloc(bytes, capacity);
        assert_non_null(bytes);
    }
    memcpy(bytes + count, p, n);
    count += n;
}

#define PUT(text) put(text, sizeof(text) - 1)

static void put_u32(uint32_t v)
{
    unsigned char p[4] = {(unsigned char)v, (unsigned char)(v >> 8),
                          (unsigned char)(v >> 16), (unsigned char)(v >> 24)};

    put(p, 4);
}

static int begin(void **state)
{
    (void)state;
    count = 0;
    return 0;
}

/* NULL: it must be read.  Within about a second on an idle machine. */
static void must(const char *expected)
{
    static struct tool_error error;
    uint64_t limit = 4 * (uint64_t)count + ((uint64_t)64 << 20);
    struct snapshot_read_options options = {0};
    clock_t start = clock();
    struct snapshot *s;
    bool fine;

    host_peak_reset();
    fine = snapshot_read_bytes(bytes, count, &options, &s, &error);
    assert_true(host_peak_get() <= limit);
    assert_true((clock() - start) / CLOCKS_PER_SEC < 20);
    if (expected == NULL && !fine)
        fail_msg("%s", error.text);
    if (expected != NULL && fine)
        fail_msg("read; expected: %s", expected);
    if (expected != NULL && strstr(error.text, expected) == NULL)
        fail_msg("'%s' is not in: %s", expected, error.text);
    snapshot_free(s);
}

static void deep_nesting_stops(void **state)
{
    (void)state;
    PUT("\x80\x04");
    for (int i = 0; i < 1000000; i++)
        PUT("](");
    must("nested deeper than the limit of 1000");
    count = 0;
    PUT("{\"segments\":");
    for (int i = 0; i < 1000000; i++)
        PUT("[");
    must("nested deeper than the limit of 1000");
}

/* Each list contains the previous one: no mark is ever open. */
static void a_chain_of_lists_takes_no_stack(void **state)
{
    (void)state;
    PUT("\x80\x02]q\x00");
    for (int i = 0; i < 300000; i++)
        PUT("]K\x01\x61h\x00\x61q\x00");
    PUT("0.");
    must("");
}

static void too_many_values_are_refused(void **state)
{
    (void)state;
    PUT("\x80\x04");
    for (int i = 0; i < 8000000; i++)
        PUT("N");
    must("takes more than 4 bytes of memory for each byte");
    count = 0;
    PUT("\x80\x04");
    for (int i = 0; i < 8000000; i++)
        PUT("}");
    must("takes more than 4 bytes of memory for each byte");
}

static void lengths_beyond_the_file_cost_nothing(void **state)
{
    (void)state;
    PUT("\x80\x04X\xff\xff\xff\x7f");
    PUT("abc");
    must("the file ends here");
    count = 0;
    PUT("\x80\x04\x8b\xff\xff\xff\x7f");
    must("the file ends here");
    count = 0;
    PUT("\x80\x04Nr\xf0\xff\xff\xff.");
    must("beyond what this file can hold");
}

static void a_million_keys_cost_little(void **state)
{
    (void)state;
    PUT("\x80\x02}(X\x01\x00\x00\x00x}(");
    for (uint32_t i = 0; i < 1000000; i++) {
        PUT("X\x0c\x00\x00\x00"
            "key name");
        for (unsigned digit = 0; digit < 4; digit++) {
            char c = (char)('A' + (i >> 5 * digit) % 32);

            put(&c, 1);
        }
        PUT("K\x01");
    }
    PUT("uX\x08\x00\x00\x00segments]u.");
    must(NULL);
}

static void a_million_appends_cost_little(void **state)
{
    (void)state;
    PUT("\x80\x02}(X\x08\x00\x00\x00segments]X\x01\x00\x00\x00x]");
    for (uint32_t i = 0; i < 1000000; i++)
        PUT("(K\x01K\x02\x65");
    PUT("u.");
    must(NULL);
}

/* A large dict that is used repeatedly is converted once. */
static void a_dict_that_is_used_often_costs_little(void **state)
{
    (void)state;
    PUT("\x80\x02}(X\x08\x00\x00\x00segments]X\x01\x00\x00\x00x]}q\x00");
    for (uint32_t i = 0; i < 100; i++) {
        PUT("(");
        for (uint32_t k = 0; k < 1000; k++)
            PUT("K\x01K\x02");
        PUT("u");
    }
    PUT("\x61X\x01\x00\x00\x00y](");
    for (uint32_t i = 0; i < 500000; i++)
        PUT("h\x00");
    PUT("\x65u.");
    must(NULL);
}

/* The memo changes before each list, so what was cached for it is dropped. */
static void a_changing_memo_costs_little(void **state)
{
    (void)state;
    PUT("\x80\x02}(X\x08\x00\x00\x00filenameX\x01\x00\x00\x00\x61uq\x00");
    for (uint32_t i = 0; i < 50000; i++) {
        PUT("](");
        for (uint32_t k = 0; k < 16; k++) {
            PUT("j");
            put_u32(0);
            if ((i >> k & 1) != 0)
                PUT("h\x00");
        }
        PUT("\x65");
        PUT("0h\x00q\x00\x30");
    }
    PUT(".");
    must("");
}

static void decompressing_stops_at_the_limit(void **state)
{
    static struct tool_error error;
    struct snapshot_read_options options = {.max_input_bytes = 1 << 20};
    size_t length = 64 << 20;
    char *zeros = calloc(length, 1);
    char *packed = malloc(ZSTD_compressBound(length));
    struct snapshot *s;
    size_t n;

    (void)state;
    assert_non_null(zeros);
    assert_non_null(packed);
    memset(zeros, ' ', length);
    zeros[0] = '{';
    n = ZSTD_compress(packed, ZSTD_compressBound(length), zeros, length, 1);
    assert_false(ZSTD_isError(n));
    assert_false(snapshot_read_bytes(packed, n, &options, &s, &error));
    assert_non_null(strstr(error.text, "the limit of 1048576 bytes"));
    free(zeros);
    free(packed);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(deep_nesting_stops),
        TEST(a_chain_of_lists_takes_no_stack),
        TEST(too_many_values_are_refused),
        TEST(lengths_beyond_the_file_cost_nothing),
        TEST(a_million_keys_cost_little),
        TEST(a_million_appends_cost_little),
        TEST(a_dict_that_is_used_often_costs_little),
        TEST(a_changing_memo_costs_little),
        TEST(decompressing_stops_at_the_limit),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    free(bytes);
    return failed;
}
