/* test_trace_read.c - what the trace reader accepts, and its errors for what it
 * does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/put_file.h"
#include "trace/trace.h"
#include "support/read_file.h"

/* ---- helpers ----------------------------------------------------------- */

static char folder[] = "/tmp/larder_trace_XXXXXX";
static char path[sizeof folder + 16];

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/t.trace", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void read_bytes(const void *bytes, size_t count, struct trace *t)
{
    struct tool_error error;

    put_file(path, bytes, count);
    if (!trace_read(path, t, &error))
        fail_msg("not read: %s", error.text);
}

static void read_text(const char *text, struct trace *t)
{
    read_bytes(text, strlen(text), t);
}

/* The error is that text after the path, and the trace is empty. */
static void expect_error(const void *bytes, size_t count, const char *expected)
{
    struct tool_error error = {""};
    struct trace t;

    put_file(path, bytes, count);
    assert_false(trace_read(path, &t, &error));
    assert_memory_equal(error.text, path, strlen(path));
    assert_string_equal(error.text + strlen(path), expected);
    assert_null(t.ops);
    assert_int_equal(t.op_count, 0);
}

static void expect_text_error(const char *text, const char *expected)
{
    expect_error(text, strlen(text), expected);
}

static void expect_op(const struct trace *t, size_t i, enum trace_kind kind,
                      uint32_t id, uint64_t bytes, uint16_t stream)
{
    assert_true(i < t->op_count);
    assert_int_equal(t->ops[i].kind, kind);
    assert_int_equal(t->ops[i].id, id);
    assert_int_equal(t->ops[i].bytes, bytes);
    assert_int_equal(t->ops[i].stream, stream);
}

/* ---- what is accepted -------------------------------------------------- */

static void every_operation_is_read(void **state)
{
    struct trace t;

    (void)state;
    read_text("a 0 512\na 1 0 3\nm step one\nr 0 65535\nc 7\nf 0\ne\n", &t);
    assert_int_equal(t.op_count, 7);
    expect_op(&t, 0, TRACE_ALLOC, 0, 512, 0);
    expect_op(&t, 1, TRACE_ALLOC, 1, 0, 3);
    assert_int_equal(t.ops[2].kind, TRACE_MARK);
    assert_string_equal(trace_label(&t, &t.ops[2]), "step one");
    expect_op(&t, 3, TRACE_RECORD, 0, 0, 65535);
    expect_op(&t, 4, TRACE_COMPLETE, 0, 0, 7);
    expect_op(&t, 5, TRACE_FREE, 0, 0, 0);
    expect_op(&t, 6, TRACE_EMPTY_CACHE, 0, 0, 0);
    trace_free(&t);
}

static void marks_are_not_counted_as_operations(void **state)
{
    struct trace t;

    (void)state;
    read_text("m x\na 0 1\nm y\nf 0\n", &t);
    assert_int_equal(t.counted_ops, 2);
    assert_int_equal(t.mark_count, 2);
    assert_int_equal(t.id_count, 1);
    trace_free(&t);
}

static void record_and_complete_are_what_orders_work(void **state)
{
    static const struct {
        const char *text;
        bool orders;
    } cases[] = {{"a 0 1\nf 0\ne\nm x\n", false},
                 {"a 0 1\nr 0 1\n", true},
                 {"c 0\n", true}};
    struct trace t;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        read_text(cases[i].text, &t);
        assert_int_equal(t.orders_work, cases[i].orders);
        trace_free(&t);
    }
}

static void an_empty_file_is_an_empty_trace(void **state)
{
    struct trace t;

    (void)state;
    read_text("", &t);
    assert_int_equal(t.op_count, 0);
    read_text("\n\n# nothing\n", &t);
    assert_int_equal(t.op_count, 0);
}

static void blanks_comments_and_crlf_are_accepted(void **state)
{
    struct trace t;

    (void)state;
    read_text("# head\r\n\r\n  a\t0   512  2 # first\r\n\t\nf 0#now\r\n"
              "m  two words  # not this\r\n  # end",
              &t);
    assert_int_equal(t.op_count, 3);
    expect_op(&t, 0, TRACE_ALLOC, 0, 512, 2);
    expect_op(&t, 1, TRACE_FREE, 0, 0, 0);
    assert_string_equal(trace_label(&t, &t.ops[2]), "two words");
    trace_free(&t);
}

static void a_label_ends_before_blanks_and_carriage_returns(void **state)
{
    struct trace t;

    (void)state;
    read_text("m one\rtwo \r \r\r\n", &t);
    assert_string_equal(trace_label(&t, &t.ops[0]), "one\rtwo");
    trace_free(&t);
    expect_text_error("m \r \r\n", ":1: 'm' without LABEL; expected m LABEL");
}

static void the_last_line_needs_no_end(void **state)
{
    struct trace t;

    (void)state;
    read_text("a 0 1\nf 0", &t);
    assert_int_equal(t.op_count, 2);
    trace_free(&t);
}

static void the_largest_numbers_are_read(void **state)
{
    struct trace t;

    (void)state;
    read_text("a 0 9223372036854775807 65535\n", &t);
    expect_op(&t, 0, TRACE_ALLOC, 0, INT64_MAX, 65535);
    trace_free(&t);
}

static void a_long_trace_is_read_whole(void **state)
{
    enum { COUNT = 100000 };
    char *text = malloc(COUNT * 32);
    size_t n = 0;
    struct trace t;

    (void)state;
    assert_non_null(text);
    for (unsigned i = 0; i < COUNT; i++)
        n += (size_t)sprintf(text + n, "a %u %u %u\n", i, i * 3, i % 7);
    read_bytes(text, n, &t);
    assert_int_equal(t.op_count, COUNT);
    for (unsigned i = 0; i < COUNT; i++)
        expect_op(&t, i, TRACE_ALLOC, i, i * 3, (uint16_t)(i % 7));
    trace_free(&t);
    free(text);
}

static void peak_requested_is_the_highest_live_sum(void **state)
{
    struct trace t;
    uint64_t peak;

    (void)state;
    read_text("a 0 100\na 1 50\nf 0\na 2 90\nf 1\nf 2\na 3 149\n", &t);
    assert_true(trace_peak_requested(&t, &peak));
    assert_int_equal(peak, 150);
    trace_free(&t);
}

static void peak_requested_does_not_wrap_around(void **state)
{
    struct trace t;
    uint64_t peak;

    (void)state;
    read_text("a 0 9223372036854775807\na 1 9223372036854775807\n"
              "a 2 9223372036854775807\nf 0\nf 1\nf 2\na 3 5\n",
              &t);
    assert_true(trace_peak_requested(&t, &peak));
    assert_true(peak == UINT64_MAX);
    trace_free(&t);
}

/* ---- what is refused --------------------------------------------------- */

static void unknown_operations_are_named(void **state)
{
    (void)state;
    expect_text_error("a 0 1\nx 1\n",
                      ":2: unknown operation 'x'; expected "
                      "a, f, r, c, e or m, as the lines of a trace "
                      "begin");
    expect_text_error("alloc 0 1\n",
                      ":1: unknown operation 'alloc'; expected "
                      "a, f, r, c, e or m, as the lines of a trace "
                      "begin");
    expect_text_error("\n\nA 0 1\n",
                      ":3: unknown operation 'A'; expected "
                      "a, f, r, c, e or m, as the lines of a trace "
                      "begin");
}

static void bytes_that_are_no_text_are_shown_as_numbers(void **state)
{
    (void)state;
    expect_text_error("\xff\x01q\n",
                      ":1: unknown operation '\\xff\\x01q'; "
                      "expected a, f, r, c, e or m, as the lines of a trace "
                      "begin");
}

static void a_long_field_is_shown_cut_short(void **state)
{
    (void)state;
    expect_text_error("qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq\n",
                      ":1: unknown operation "
                      "'qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq...'; "
                      "expected a, f, r, c, e or m, as the lines of a trace "
                      "begin");
}

static void missing_fields_are_named(void **state)
{
    (void)state;
    expect_text_error("a\n", ":1: 'a' without ID; expected "
                             "a ID BYTES [STREAM]");
    expect_text_error("a 0\n", ":1: 'a' without BYTES; expected "
                               "a ID BYTES [STREAM]");
    expect_text_error("f # 0\n", ":1: 'f' without ID; expected f ID");
    expect_text_error("a 0 1\nr\n", ":2: 'r' without ID; expected "
                                    "r ID STREAM");
    expect_text_error("a 0 1\nr 0\n", ":2: 'r' without STREAM; expected "
                                      "r ID STREAM");
    expect_text_error("c\n", ":1: 'c' without STREAM; expected c STREAM");
    expect_text_error("m  \n", ":1: 'm' without LABEL; expected m LABEL");
}

static void extra_fields_are_named(void **state)
{
    (void)state;
    expect_text_error("a 0 1 2 3 4\n", ":1: extra field '3'; expected "
                                       "a ID BYTES [STREAM]");
    expect_text_error("a 0 1\nf 0 0\n", ":2: extra field '0'; expected f ID");
    expect_text_error("a 0 1\nr 0 1 2\n", ":2: extra field '2'; expected "
                                          "r ID STREAM");
    expect_text_error("c 0 x\n", ":1: extra field 'x'; expected c STREAM");
    expect_text_error("e all\n", ":1: extra field 'all'; expected e");
}

static void invalid_numbers_are_named(void **state)
{
    (void)state;
    expect_text_error("a zero 1\n", ":1: ID 'zero' is not a number; expected "
                                    "a number from 0 to 4294967294");
    expect_text_error("a 0 1k\n",
                      ":1: BYTES '1k' is not a number; expected a number "
                      "from 0 to 9223372036854775807");
    expect_text_error("a 0 0x10\n",
                      ":1: BYTES '0x10' is not a number; expected a number "
                      "from 0 to 9223372036854775807");
    expect_text_error("a 0 +1\n",
                      ":1: BYTES '+1' is not a number; expected a number "
                      "from 0 to 9223372036854775807");
    expect_text_error("a 0 -\n",
                      ":1: BYTES '-' is not a number; expected a number "
                      "from 0 to 9223372036854775807");
}

static void negative_numbers_are_named(void **state)
{
    (void)state;
    expect_text_error("a 0 -5\n",
                      ":1: BYTES '-5' is negative; expected a number from 0 "
                      "to 9223372036854775807");
    expect_text_error("c -1\n", ":1: STREAM '-1' is negative; expected a "
                                "number from 0 to 65535");
}

static void numbers_that_are_too_large_are_named(void **state)
{
    (void)state;
    expect_text_error("a 0 9223372036854775808\n",
                      ":1: BYTES '9223372036854775808' is too large; expected "
                      "a number from 0 to 9223372036854775807");
    expect_text_error("a 0 99999999999999999999999\n",
                      ":1: BYTES '99999999999999999999999' is too large; "
                      "expected a number from 0 to 9223372036854775807");
    expect_text_error("a 4294967295 1\n",
                      ":1: ID '4294967295' is too large; expected a number "
                      "from 0 to 4294967294");
    expect_text_error("a 0 1 65536\n", ":1: STREAM '65536' is too large; "
                                       "expected a number from 0 to 65535");
    expect_text_error("c 65536\n", ":1: STREAM '65536' is too large; expected "
                                   "a number from 0 to 65535");
}

static void ids_must_be_dense_from_zero(void **state)
{
    (void)state;
    expect_text_error("a 1 1\n", ":1: ID 1 is not the next; expected ID 0 "
                                 "(IDs are dense from 0)");
    expect_text_error("a 0 1\na 2 1\n", ":2: ID 2 is not the next; expected "
                                        "ID 1 (IDs are dense from 0)");
}

static void an_id_is_allocated_once(void **state)
{
    (void)state;
    expect_text_error("a 0 1\nf 0\na 0 1\n",
                      ":3: ID 0 is allocated a second time; expected ID 1");
}

static void ids_must_be_allocated_before_use(void **state)
{
    (void)state;
    expect_text_error("f 0\n", ":1: ID 0 was not allocated; expected an ID of "
                               "an 'a' above");
    expect_text_error("a 0 1\nr 1 2\n", ":2: ID 1 was not allocated; expected "
                                        "an ID of an 'a' above");
}

static void a_freed_id_is_not_used_again(void **state)
{
    (void)state;
    expect_text_error("a 0 1\nf 0\nf 0\n",
                      ":3: ID 0 was freed before; expected a live ID");
    expect_text_error("a 0 1\nf 0\nr 0 1\n",
                      ":3: ID 0 was freed before; expected a live ID");
}

static void nul_bytes_are_refused(void **state)
{
    (void)state;
    expect_error("a 0 1\na 1\0 1\n", 13, ":2: a NUL byte; expected text");
    expect_error("# \0\n", 4, ":1: a NUL byte; expected text");
}

static void a_line_may_have_65535_bytes_and_not_more(void **state)
{
    static char text[2 * TRACE_LINE_MAX + 64];
    struct trace t;

    (void)state;
    memset(text, '#', sizeof text);
    text[0] = 'e';
    text[1] = '\n';
    text[2 + TRACE_LINE_MAX] = '\n';
    text[3 + TRACE_LINE_MAX] = 'e';
    read_bytes(text, TRACE_LINE_MAX + 4, &t);
    assert_int_equal(t.op_count, 2);
    trace_free(&t);
    text[2 + TRACE_LINE_MAX] = '#';
    expect_error(text, TRACE_LINE_MAX + 3,
                 ":2: a line of more than 65535 bytes; expected one operation "
                 "a line");
    memset(text, 'a', sizeof text);
    expect_error(text, sizeof text,
                 ":1: a line of more than 65535 bytes; expected one operation "
                 "a line");
}

static void snapshots_are_recognised_and_refused(void **state)
{
    (void)state;
    expect_error("\x80\x02}q\0", 5,
                 ": looks like a memory snapshot (pickle); expected trace "
                 "text");
    expect_text_error(" {\"segments\": []}\n",
                      ": looks like a memory snapshot (JSON); expected trace "
                      "text");
    expect_text_error("[]", ": looks like a memory snapshot (JSON); expected "
                            "trace text");
}

static void a_missing_file_is_named(void **state)
{
    struct tool_error error;
    struct trace t;

    (void)state;
    assert_false(trace_read("/nonexistent/x.trace", &t, &error));
    assert_string_equal(error.text, "/nonexistent/x.trace: cannot be opened: "
                                    "No such file or directory");
}

static void a_folder_is_named(void **state)
{
    struct tool_error error;
    struct trace t;
    char expected[128];

    (void)state;
    assert_false(trace_read(folder, &t, &error));
    snprintf(expected, sizeof expected, "%s: cannot be read: Is a directory",
             folder);
    assert_string_equal(error.text, expected);
}

static void an_unreadable_file_is_named(void **state)
{
    struct tool_error error;
    struct trace t;
    char expected[128];

    (void)state;
    if (geteuid() == 0)
        skip(); /* root reads everything */
    put_file(path, "e\n", 2);
    assert_int_equal(chmod(path, 0), 0);
    assert_false(trace_read(path, &t, &error));
    assert_int_equal(chmod(path, 0600), 0);
    snprintf(expected, sizeof expected,
             "%s: cannot be opened: Permission denied", path);
    assert_string_equal(error.text, expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_is_read),
        cmocka_unit_test(marks_are_not_counted_as_operations),
        cmocka_unit_test(record_and_complete_are_what_orders_work),
        cmocka_unit_test(an_empty_file_is_an_empty_trace),
        cmocka_unit_test(blanks_comments_and_crlf_are_accepted),
        cmocka_unit_test(a_label_ends_before_blanks_and_carriage_returns),
        cmocka_unit_test(the_last_line_needs_no_end),
        cmocka_unit_test(the_largest_numbers_are_read),
        cmocka_unit_test(a_long_trace_is_read_whole),
        cmocka_unit_test(peak_requested_is_the_highest_live_sum),
        cmocka_unit_test(peak_requested_does_not_wrap_around),
        cmocka_unit_test(unknown_operations_are_named),
        cmocka_unit_test(bytes_that_are_no_text_are_shown_as_numbers),
        cmocka_unit_test(a_long_field_is_shown_cut_short),
        cmocka_unit_test(missing_fields_are_named),
        cmocka_unit_test(extra_fields_are_named),
        cmocka_unit_test(invalid_numbers_are_named),
        cmocka_unit_test(negative_numbers_are_named),
        cmocka_unit_test(numbers_that_are_too_large_are_named),
        cmocka_unit_test(ids_must_be_dense_from_zero),
        cmocka_unit_test(an_id_is_allocated_once),
        cmocka_unit_test(ids_must_be_allocated_before_use),
        cmocka_unit_test(a_freed_id_is_not_used_again),
        cmocka_unit_test(nul_bytes_are_refused),
        cmocka_unit_test(a_line_may_have_65535_bytes_and_not_more),
        cmocka_unit_test(snapshots_are_recognised_and_refused),
        cmocka_unit_test(a_missing_file_is_named),
        cmocka_unit_test(a_folder_is_named),
        cmocka_unit_test(an_unreadable_file_is_named),
    };

    return cmocka_run_group_tests_name("trace_read", tests, make_folder,
                                       remove_folder);
}
