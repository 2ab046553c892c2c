/* test_trace_zstd.c - compressed traces, complete and damaged; writing and
 * reading back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zstd.h>

#include "support/put_file.h"
#include "trace/trace.h"
#include "support/read_file.h"

enum { IDS = 20000, TEXT_MAX = IDS * 40, PACKED_MAX = 2 * TEXT_MAX };

static char path[] = "/tmp/larder_zstd_XXXXXX";
static char text[TEXT_MAX];
static size_t text_count;
static unsigned char packed[PACKED_MAX];
static size_t packed_count;

/* Numbers that do not compress well, so that the file spans many zstd
 * blocks. */
static uint32_t mix(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352d;
    x ^= x >> 15;
    x *= 0x846ca68b;
    return x ^ x >> 16;
}

static int make_text(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    if (fd < 0)
        return -1;
    close(fd);
    for (unsigned i = 0; i < IDS; i++)
        text_count += (size_t)sprintf(text + text_count, "a %u %u %u\n", i,
                                      mix(i), i % 5);
    packed_count = ZSTD_compress(packed, PACKED_MAX, text, text_count, 3);
    return ZSTD_isError(packed_count) ? -1 : 0;
}

static int remove_text(void **state)
{
    (void)state;
    return unlink(path);
}

static void expect_all(const struct trace *t, size_t from)
{
    assert_int_equal(t->op_count, from + IDS);
    for (unsigned i = 0; i < IDS; i++) {
        const struct trace_op *op = &t->ops[from + i];

        assert_int_equal(op->kind, TRACE_ALLOC);
        assert_int_equal(op->bytes, mix(i));
        assert_int_equal(op->stream, i % 5);
    }
}

static void read_file(struct trace *t)
{
    struct tool_error error;

    if (!trace_read(path, t, &error))
        fail_msg("not read: %s", error.text);
}

static void a_compressed_file_is_recognised_by_its_bytes(void **state)
{
    struct trace t;

    (void)state;
    put_file(path, packed, packed_count);
    read_file(&t);
    expect_all(&t, 0);
    trace_free(&t);
}

static void frames_may_follow_one_another(void **state)
{
    static const unsigned char skippable[] = {0x50, 0x2a, 0x4d, 0x18, 4, 0,
                                              0,    0,    1,    2,    3, 4};
    static unsigned char whole[PACKED_MAX + 256];
    size_t n = sizeof skippable;
    struct trace t;

    (void)state;
    memcpy(whole, skippable, n);
    n += ZSTD_compress(whole + n, 128, "e\n", 2, 3);
    memcpy(whole + n, packed, packed_count);
    put_file(path, whole, n + packed_count);
    read_file(&t);
    assert_int_equal(t.ops[0].kind, TRACE_EMPTY_CACHE);
    expect_all(&t, 1);
    trace_free(&t);
}

static void a_compressed_empty_file_is_an_empty_trace(void **state)
{
    unsigned char empty[64];
    struct trace t;

    (void)state;
    put_file(path, empty, ZSTD_compress(empty, sizeof empty, "", 0, 3));
    read_file(&t);
    assert_int_equal(t.op_count, 0);
    trace_free(&t);
}

/* Cut a file at `count` bytes: the reader must say so, never read less. */
static void expect_cut(size_t count)
{
    struct tool_error error = {""};
    struct trace t;
    char expected[160];

    put_file(path, packed, count);
    assert_false(trace_read(path, &t, &error));
    snprintf(expected, sizeof expected,
             "%s: byte %zu: the file ends inside a zstd frame; expected the "
             "rest of it",
             path, count);
    assert_string_equal(error.text, expected);
}

static void a_truncated_file_is_refused_wherever_it_was_cut(void **state)
{
    (void)state;
    for (size_t n = 4; n < 40; n++)
        expect_cut(n);
    for (size_t n = 40; n < packed_count; n += packed_count / 13)
        expect_cut(n);
    expect_cut(packed_count - 1);
}

static void corrupt_data_is_refused_with_its_place(void **state)
{
    struct tool_error error = {""};
    struct trace t;
    char place[96];

    (void)state;
    memset(packed + packed_count, 'x', 7);
    put_file(path, packed, packed_count + 7);
    assert_false(trace_read(path, &t, &error));
    snprintf(place, sizeof place, "%s: byte %zu: corrupt zstd data (", path,
             packed_count);
    assert_memory_equal(error.text, place, strlen(place));
    assert_non_null(strstr(error.text, "expected a whole zstd frame"));
}

static void a_written_trace_reads_back_the_same(void **state)
{
    static const char all[] = "a 0 512 0\na 1 0 3\nm step one\nr 0 65535\n"
                              "c 7\nf 0\ne\nm x\na 2 9223372036854775807 1\n";
    char *written;
    size_t count;
    FILE *out = open_memstream(&written, &count);
    struct trace t;

    (void)state;
    assert_non_null(out);
    put_file(path, all, strlen(all));
    read_file(&t);
    assert_true(trace_write(&t, out));
    assert_int_equal(fclose(out), 0);
    assert_string_equal(written, all);
    trace_free(&t);
    free(written);
}

static void a_full_disk_is_noticed_when_writing(void **state)
{
    FILE *full = fopen("/dev/full", "w");
    struct trace t;

    (void)state;
    if (full == NULL)
        skip();
    put_file(path, "e\n", 2);
    read_file(&t);
    assert_false(trace_write(&t, full));
    fclose(full);
    trace_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_compressed_file_is_recognised_by_its_bytes),
        cmocka_unit_test(frames_may_follow_one_another),
        cmocka_unit_test(a_compressed_empty_file_is_an_empty_trace),
        cmocka_unit_test(a_truncated_file_is_refused_wherever_it_was_cut),
        cmocka_unit_test(corrupt_data_is_refused_with_its_place),
        cmocka_unit_test(a_written_trace_reads_back_the_same),
        cmocka_unit_test(a_full_disk_is_noticed_when_writing),
    };

    return cmocka_run_group_tests_name("trace_zstd", tests, make_text,
                                       remove_text);
}
