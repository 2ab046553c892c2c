/* test_trace_source.c - the bytes of a file arrive complete and in order,
 * whatever was inspected before and however much is read at a time, and also
 * when another thread reads ahead. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <zstd.h>

#include "support/count.h"
#include "support/put_file.h"
#include "trace/trace_ahead.h"
#include "trace/trace_source.h"

/* Of trace_source.c: what is read from a file at once; of trace_ahead.c: a slot
 * of what is read ahead, of which there are four. */
enum { INPUT_BYTES = 128 << 10, SLOT_BYTES = 256 << 10, SLOTS = 4 };
enum { TEXT_BYTES = 11 * SLOT_BYTES / 2 };

static unsigned char text[TEXT_BYTES];
static unsigned char got[TEXT_BYTES + 1];
static char path[] = "/tmp/larder_source_XXXXXX";

/* Bytes that compress badly. */
static int make_text(void **state)
{
    uint32_t x = 1;
    int fd = mkstemp(path);

    (void)state;
    if (fd < 0)
        return -1;
    close(fd);
    for (size_t i = 0; i < TEXT_BYTES; i++) {
        x = x * 1664525 + 1013904223;
        text[i] = (unsigned char)(x >> 24);
    }
    return 0;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static struct trace_source *open_file(void)
{
    struct trace_source *s = NULL;
    struct tool_error error;

    if (!trace_source_open(path, &s, &error))
        fail_msg("not opened: %s", error.text);
    return s;
}

static struct trace_source *open_bytes(const void *bytes, size_t count)
{
    struct trace_source *s = NULL;
    struct tool_error error;

    if (!trace_source_open_memory(bytes, count, "bytes", &s, &error))
        fail_msg("not opened: %s", error.text);
    return s;
}

/* Reads of `capacity` bytes bring the first `count` bytes of the text, then the
 * end, twice. */
static void source_brings(struct trace_source *s, size_t capacity, size_t count)
{
    struct tool_error error;
    size_t sum = 0;
    size_t n = 1;

    for (int ends = 0; ends < 2; ends += n == 0) {
        /* Of an earlier call: it says nothing of a read that succeeds. */
        errno = EINTR;
        if (!trace_source_read(s, got + sum,
                               capacity < sizeof got - sum ? capacity
                                                           : sizeof got - sum,
                               &n, &error))
            fail_msg("not read: %s", error.text);
        assert_true(n <= capacity);
        sum += n;
    }
    assert_int_equal(sum, count);
    assert_memory_equal(got, text, count);
}

/* ---- reading --------------------------------------------------------------- */

static const size_t sizes[] = {0,
                               1,
                               3,
                               4,
                               5,
                               TRACE_PEEK_BYTES - 1,
                               TRACE_PEEK_BYTES,
                               TRACE_PEEK_BYTES + 1,
                               1000,
                               INPUT_BYTES - 1,
                               INPUT_BYTES,
                               INPUT_BYTES + 1,
                               2 * INPUT_BYTES + 5};

/* Reads of fewer bytes than the source reads itself, as many, and more. */
static const size_t capacities[] = {1000, INPUT_BYTES - 1, INPUT_BYTES,
                                    INPUT_BYTES + 1};

static void a_file_is_read_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        put_file(path, text, sizes[i]);
        for (size_t k = 0; k < COUNT(capacities); k++) {
            struct trace_source *s = open_file();

            source_brings(s, capacities[k], sizes[i]);
            trace_source_close(s);
            s = open_bytes(text, sizes[i]);
            source_brings(s, capacities[k], sizes[i]);
            trace_source_close(s);
        }
    }
}

static void a_compressed_file_is_read_whole(void **state)
{
    static unsigned char packed[4 * INPUT_BYTES];

    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        size_t n = ZSTD_compress(packed, sizeof packed, text, sizes[i], 1);

        assert_false(ZSTD_isError(n));
        put_file(path, packed, n);
        for (size_t k = 0; k < COUNT(capacities); k++) {
            struct trace_source *s = open_file();

            source_brings(s, capacities[k], sizes[i]);
            trace_source_close(s);
            s = open_bytes(packed, n);
            source_brings(s, capacities[k], sizes[i]);
            trace_source_close(s);
        }
    }
}

static void bytes_that_were_peeked_at_are_read_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct trace_source *s = open_bytes(text, sizes[i]);
        size_t wanted =
            sizes[i] < TRACE_PEEK_BYTES ? sizes[i] : TRACE_PEEK_BYTES;
        struct tool_error error;

        for (int twice = 0; twice < 2; twice++) {
            const unsigned char *bytes;
            size_t count;

            assert_true(trace_source_peek(s, &bytes, &count, &error));
            assert_int_equal(count, wanted);
            assert_memory_equal(bytes, text, count);
        }
        /* Fewer at a time than were looked at. */
        source_brings(s, i % 2 == 0 ? 10 : 1000, sizes[i]);
        trace_source_close(s);
    }
}

/* Each of the sixteen magic numbers of frames to skip, and none beside. */
static void skippable_frames_are_skipped(void **state)
{
    unsigned char frame[] = {0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 'x', 'y'};
    struct tool_error error;
    size_t n;

    (void)state;
    for (unsigned i = 0; i < 18; i++) {
        struct trace_source *s;

        frame[0] = (unsigned char)(0x4f + i);
        s = open_bytes(frame, sizeof frame);
        assert_true(trace_source_read(s, got, sizeof frame, &n, &error));
        assert_int_equal(n, i == 0 || i == 17 ? sizeof frame : 0);
        trace_source_close(s);
    }
}

/* Three bytes of the magic number are text. */
static void a_cut_magic_number_is_text(void **state)
{
    static const unsigned char magic[] = {0x28, 0xb5, 0x2f, 0xfd};
    struct trace_source *s = open_bytes(magic, 3);
    struct tool_error error;
    size_t n;

    (void)state;
    assert_true(trace_source_read(s, got, 10, &n, &error));
    assert_int_equal(n, 3);
    trace_source_close(s);
    s = open_bytes(magic, 4);
    assert_false(trace_source_read(s, got, 10, &n, &error));
    assert_string_equal(error.text,
                        "bytes: byte 4: the file ends inside a zstd frame; "
                        "expected the rest of it");
    trace_source_close(s);
}

/* ---- files ----------------------------------------------------------------- */

static int next_descriptor(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    close(fd);
    return fd;
}

static void a_closed_source_leaves_no_descriptor(void **state)
{
    int next = next_descriptor();
    struct tool_error error;
    struct trace_source *s;

    (void)state;
    put_file(path, "a 0 512\n", 8);
    s = open_file();
    assert_int_not_equal(next_descriptor(), next);
    trace_source_close(s);
    assert_int_equal(next_descriptor(), next);
    assert_false(trace_source_open("/nowhere/at/all", &s, &error));
    assert_string_equal(error.text, "/nowhere/at/all: cannot be opened: No "
                                    "such file or directory");
    assert_false(trace_source_open("/tmp", &s, &error));
    assert_string_equal(error.text, "/tmp: cannot be read: Is a directory");
    assert_int_equal(next_descriptor(), next);
    trace_source_close(NULL);
}

/* Also if it has the number of the standard input, which was closed. */
static void descriptor_0_is_closed_too(void **state)
{
    int input = dup(STDIN_FILENO);
    struct trace_source *s;
    int freed;

    (void)state;
    put_file(path, text, 1000);
    close(STDIN_FILENO);
    s = open_file();
    freed = next_descriptor();
    source_brings(s, 100, 1000);
    trace_source_close(s);
    assert_int_not_equal(freed, STDIN_FILENO);
    assert_int_equal(next_descriptor(), STDIN_FILENO);
    if (input >= 0) {
        assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
        close(input);
    }
}

/* A pipe of packets: a read brings one of them, however short. */
static void a_pipe_brings(size_t capacity)
{
    int input = dup(STDIN_FILENO);
    struct tool_error error;
    struct trace_source *s;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC | O_DIRECT) != 0)
        skip();
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(write(ends[1], text + i, 1), 1);
    assert_int_equal(write(ends[1], text + 6, 994), 994);
    close(ends[1]);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    close(ends[0]);
    assert_true(trace_source_open("-", &s, &error));
    source_brings(s, capacity, 1000);
    trace_source_close(s);
    if (input >= 0) {
        assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
        close(input);
    }
}

static void a_pipe_may_bring_a_byte_at_a_time(void **state)
{
    (void)state;
    a_pipe_brings(100);
    a_pipe_brings(INPUT_BYTES);
}

/* "-" reads the standard input and leaves it open. */
static void the_standard_input_stays_open(void **state)
{
    int input = dup(STDIN_FILENO);
    struct tool_error error;
    struct trace_source *s;
    int fd;

    (void)state;
    put_file(path, text, 1000);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
    close(fd);
    assert_true(trace_source_open("-", &s, &error));
    source_brings(s, 100, 1000);
    trace_source_close(s);
    assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
    if (input >= 0) {
        assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
        close(input);
    }
}

/* ---- reading ahead --------------------------------------------------------- */

static void ahead_brings(struct trace_ahead *a, size_t capacity, size_t count)
{
    struct tool_error error;
    size_t sum = 0;
    size_t n = 1;

    for (int ends = 0; ends < 2; ends += n == 0) {
        size_t room = sizeof got - sum;

        if (!trace_ahead_read(a, got + sum, capacity < room ? capacity : room,
                              &n, &error))
            fail_msg("not read: %s", error.text);
        sum += n;
    }
    assert_int_equal(sum, count);
    assert_memory_equal(got, text, count);
}

/* Less than a slot, all slots, and more, of which the last may be full. */
static void what_was_read_ahead_comes_in_order(void **state)
{
    static const size_t counts[] = {
        0,
        1,
        SLOT_BYTES - 1,
        SLOT_BYTES,
        SLOT_BYTES + 1,
        SLOTS * SLOT_BYTES,
        5 * SLOT_BYTES,
        TEXT_BYTES,
    };
    static const size_t at_once[] = {1000, SLOT_BYTES - 1, SLOT_BYTES,
                                     SLOT_BYTES + 1};

    (void)state;
    for (size_t i = 0; i < COUNT(counts); i++) {
        for (size_t k = 0; k < COUNT(at_once); k++) {
            struct trace_source *s = open_bytes(text, counts[i]);
            struct trace_ahead *a = trace_ahead_start(s);

            assert_non_null(a);
            ahead_brings(a, at_once[k], counts[i]);
            trace_ahead_stop(a);
            trace_source_close(s);
        }
    }
}

/* Before anything was taken, in the middle, and with all slots full. */
static void reading_ahead_can_be_stopped_at_any_time(void **state)
{
    (void)state;
    for (size_t taken = 0; taken <= 3 * SLOT_BYTES; taken += SLOT_BYTES / 2) {
        struct trace_source *s = open_bytes(text, TEXT_BYTES);
        struct trace_ahead *a = trace_ahead_start(s);
        struct tool_error error;
        size_t sum = 0;

        assert_non_null(a);
        while (sum < taken) {
            size_t n;

            assert_true(
                trace_ahead_read(a, got + sum, taken - sum, &n, &error));
            assert_true(n > 0);
            sum += n;
        }
        trace_ahead_stop(a);
        assert_memory_equal(got, text, sum);
        trace_source_close(s);
    }
    trace_ahead_stop(NULL);
}

/* What is before the fault comes first; then the error, again and again. */
static void an_error_ahead_comes_where_it_belongs(void **state)
{
    static unsigned char packed[2 * TEXT_BYTES];
    size_t n = ZSTD_compress(packed, sizeof packed, text, TEXT_BYTES, 1);
    struct tool_error error = {""};
    struct trace_source *s;
    struct trace_ahead *a;
    size_t sum = 0;
    size_t count = 1;
    char wanted[128];

    (void)state;
    assert_false(ZSTD_isError(n));
    s = open_bytes(packed, n - 1);
    a = trace_ahead_start(s);
    assert_non_null(a);
    while (trace_ahead_read(a, got + sum, sizeof got - sum, &count, &error)) {
        assert_true(count > 0);
        sum += count;
    }
    assert_true(sum > SLOTS * SLOT_BYTES && sum < TEXT_BYTES);
    assert_memory_equal(got, text, sum);
    snprintf(wanted, sizeof wanted,
             "bytes: byte %zu: the file ends inside a zstd frame; expected the "
             "rest of it",
             n - 1);
    assert_string_equal(error.text, wanted);
    error.text[0] = '\0';
    assert_false(trace_ahead_read(a, got, 1, &count, &error));
    assert_string_equal(error.text, wanted);
    trace_ahead_stop(a);
    trace_source_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read_whole),
        cmocka_unit_test(a_compressed_file_is_read_whole),
        cmocka_unit_test(bytes_that_were_peeked_at_are_read_again),
        cmocka_unit_test(skippable_frames_are_skipped),
        cmocka_unit_test(a_cut_magic_number_is_text),
        cmocka_unit_test(a_closed_source_leaves_no_descriptor),
        cmocka_unit_test(descriptor_0_is_closed_too),
        cmocka_unit_test(a_pipe_may_bring_a_byte_at_a_time),
        cmocka_unit_test(the_standard_input_stays_open),
        cmocka_unit_test(what_was_read_ahead_comes_in_order),
        cmocka_unit_test(reading_ahead_can_be_stopped_at_any_time),
        cmocka_unit_test(an_error_ahead_comes_where_it_belongs),
    };

#ifdef M_PERTURB
    /* Memory is not empty when it is allocated. */
    mallopt(M_PERTURB, 0x5a);
#endif
    return cmocka_run_group_tests(tests, make_text, remove_file);
}
