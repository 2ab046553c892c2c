/* test_snapshot_errors.c - an error in a snapshot is reported with its byte
 * offset; harmless oddities are accepted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/snapshot.h"
#include "support/snapshot_bytes.h"

#define BYTES(text) text, sizeof(text) - 1

static void must_fail(const char *bytes, size_t count, const char *expected)
{
    static struct tool_error error;
    struct snapshot *s;

    if (snapshot_read_bytes(bytes, count, NULL, &s, &error))
        fail_msg("read; expected: %s", expected);
    assert_null(s);
    if (strstr(error.text, expected) == NULL)
        fail_msg("'%s' is not in: %s", expected, error.text);
}

static struct snapshot *must_read(const char *bytes, size_t count)
{
    static struct tool_error error;
    struct snapshot *s;

    if (!snapshot_read_bytes(bytes, count, NULL, &s, &error))
        fail_msg("%s", error.text);
    return s;
}

/* ---- pickle --------------------------------------------------------------- */

static void code_is_refused_by_name(void **state)
{
    (void)state;
    must_fail(BYTES("\x80\x02"
                    "cos\nsystem\n(U\x02lstR."),
              "FILE: byte 2: opcode GLOBAL refers to os.system");
    must_fail(BYTES("\x80\x04\x8c\x02os\x8c\x06system\x93."),
              "byte 14: opcode STACK_GLOBAL refers to os.system");
    must_fail(BYTES("\x80\x04\x8c\x02os\x93."),
              "byte 6: opcode STACK_GLOBAL refers to ?.?");
    must_fail(BYTES("(ios\nsystem\n."),
              "byte 1: opcode INST refers to os.system");
    must_fail(BYTES("\x80\x02NNR."), "byte 4: opcode REDUCE");
    must_fail(BYTES("\x80\x02NNb."), "byte 4: opcode BUILD");
    must_fail(BYTES("\x80\x02(No."), "byte 4: opcode OBJ");
    must_fail(BYTES("\x80\x02NN\x81."), "byte 4: opcode NEWOBJ");
    must_fail(BYTES("\x80\x04NN\x92."), "byte 4: opcode NEWOBJ_EX");
    must_fail(BYTES("\x80\x02NQ."), "byte 3: opcode BINPERSID");
    must_fail(BYTES("\x80\x02\x82\x01."), "byte 2: opcode EXT1");
}

static void truncation_is_placed(void **state)
{
    (void)state;
    must_fail(BYTES(""), "FILE: byte 0: empty");
    must_fail(BYTES("\x80"), "byte 1: the file ends here");
    must_fail(BYTES("\x80\x04}"), "byte 3: the file ends here");
    must_fail(BYTES("\x80\x04\x8c\x09name"), "byte 8: the file ends here");
    must_fail(BYTES("\x80\x04X\xff\xff\xff\x7fname"), "the file ends here");
    must_fail(BYTES("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff"),
              "byte 3: a string of");
    must_fail(BYTES("\x80\x04\x8e\xff\xff\xff\xff\x00\x00\x00\x00name"),
              "the file ends here");
    must_fail(BYTES("\x80\x02I12"), "the file ends here");
    must_fail(BYTES("\x80\x02\x8b\xff\xff\xff\x7f"), "the file ends here");
    must_fail(BYTES("\x80\x02\x8b\x00\x00\x00\x80"),
              "an integer of a negative size");
}

/* One more than a number may have. */
#define MANY_DIGITS                                                            \
    "1234567890123456789012345678901234567890123456789012345678901234"

static void a_damaged_stack_is_an_error(void **state)
{
    (void)state;
    must_fail(BYTES("\x80\x04."), "0 values where the file ends");
    must_fail(BYTES("\x80\x04NN."), "2 values where the file ends");
    must_fail(BYTES("\x80\x04N."), "the file is None; expected a dict");
    must_fail(BYTES("\x80\x04(K\x01K\x02\x91."), "the file is");
    must_fail(BYTES("\x80\x04\x8f(K\x01K\x02\x90."), "the file is");
    must_fail(BYTES("\x80\x04u."), "a mark is missing");
    must_fail(BYTES("\x80\x04(u."), "nothing below the items");
    must_fail(BYTES("\x80\x04N(K\x01u."), "a key without a value");
    must_fail(BYTES("\x80\x04N(K\x01\x65."), "the items are for None");
    must_fail(BYTES("\x80\x04Na."), "too few values");
    must_fail(BYTES("\x80\x04](a."), "too few values");
    must_fail(BYTES("\x80\x04](0K\x01\x61."), "the file is");
    must_fail(BYTES("\x80\x04(11."), "a mark is missing");
    must_fail(BYTES("\x80\x04h\x05."), "byte 2: memo 5 was never set");
    must_fail(BYTES("\x80\x04\x94."), "nothing on the stack to memoize");
    must_fail(BYTES("\x80\x04"
                    "2."),
              "nothing on the stack to duplicate");
    must_fail(BYTES("\x80\x04N(2."), "nothing on the stack to duplicate");
    must_fail(BYTES("\x80\x04Nr\xff\xff\xff\x7f."), "is beyond what this file");
    must_fail(BYTES("\x80\x06N."), "pickle protocol 6; expected 0 to 5");
    must_fail(BYTES("\x80\x04\xff."), "0xff is no pickle opcode");
    must_fail(BYTES("\x80\x04\x8c\x01\xff."), "not UTF-8");
    must_fail(BYTES("PK\x03\x04"), "zip archive");
    must_fail(BYTES("Ix1\n."), "expected a line with a number");
    must_fail(BYTES("I\n."), "expected a line with a number");
    must_fail(BYTES("L" MANY_DIGITS "L\n."), "expected a line with a number");
}

/* Stacks by number: {"frames": [...], "stacks": [[0]], ... "frames": 0}. */
#define NUMBERED(lists, first, second)                                         \
    "{" lists "\"segments\": [], \"device_traces\": [["                        \
    "{\"action\": \"alloc\", \"addr\": 1, \"size\": 2, \"frames\": " first     \
    "}, {\"action\": \"alloc\", \"addr\": 9, \"size\": 2, \"frames\": " second \
    "}]]}"
#define SEGMENT "\"address\":1,\"total_size\":2"
#define BLOCK "\"size\":1,\"state\":\"inactive\""
#define FRAME "{\"filename\": \"a.py\", \"line\": 7, \"name\": \"f\"}"

static void stacks_by_number_are_checked(void **state)
{
    struct snapshot *s = must_read(BYTES(NUMBERED(
        "\"frames\": [" FRAME "], \"stacks\": [[], [0, 0]], ", "0", "1")));
    size_t count;

    (void)state;
    (void)snapshot_stack(s, s->events[0].stack, &count);
    assert_int_equal(count, 0);
    assert_int_equal(*snapshot_stack(s, s->events[1].stack, &count), 0);
    assert_int_equal(count, 2);
    assert_int_equal(s->stack_count, 2);
    snapshot_free(s);
    /* Of segments, blocks and their histories, too. */
    s = must_read(BYTES("{\"frames\": [" FRAME "], \"stacks\": [[], [0, 0]], "
                        "\"segments\": [{" SEGMENT
                        ", \"frames\": 1, \"blocks\": [{" BLOCK
                        ", \"frames\": 1, \"history\": [{\"addr\": 1, "
                        "\"real_size\": 1, \"frames\": 1}]}]}]}"));
    assert_int_equal(s->history_count, 1);
    assert_int_equal(s->segments[0].stack, s->blocks[0].stack);
    assert_int_equal(s->segments[0].stack, s->histories[0].stack);
    (void)snapshot_stack(s, s->segments[0].stack, &count);
    assert_int_equal(count, 2);
    snapshot_free(s);
    /* A list of frames that is also a stack. */
    s = must_read(BYTES(
        NUMBERED("\"frames\": [" FRAME "], \"stacks\": [[0]], ", "0", "0")));
    assert_int_equal(s->stack_count, 2);
    (void)snapshot_stack(s, s->events[1].stack, &count);
    assert_int_equal(count, 1);
    snapshot_free(s);
    must_fail(BYTES(NUMBERED("\"frames\": [" FRAME "], \"stacks\": [[0]], ",
                             "0", "1")),
              "a reference to stack 1; expected a number below 1");
    must_fail(BYTES(NUMBERED("\"frames\": [" FRAME "], \"stacks\": [[1]], ",
                             "0", "0")),
              "not the number of a frame; expected integers below 1");
    must_fail(BYTES(NUMBERED("\"frames\": [], \"stacks\": [0], ", "0", "0")),
              "expected a list of lists of numbers of frames");
    must_fail(BYTES(NUMBERED("\"frames\": [7], \"stacks\": [], ", "0", "0")),
              "expected a list of frames");
    must_fail(BYTES(NUMBERED("\"frames\": [], ", "0", "0")),
              "no key \"stacks\"");
    must_fail(BYTES(NUMBERED("", "0", "0")), "no key \"frames\"");
    must_fail(BYTES(NUMBERED("\"frames\": [" FRAME "], \"stacks\": [[0]], ",
                             "0", "[" FRAME "]")),
              "expected one or the other");
    must_fail(BYTES(NUMBERED("", "-1", "[]")), "or a stack's number");
}

static void a_list_in_itself_is_an_error(void **state)
{
    (void)state;
    must_fail(BYTES("\x80\x04]\x94h\x00\x61."), "");
    must_fail(BYTES("\x80\x04}\x94(\x8c\x08segmentsh\x00u."), "");
    must_fail(BYTES("\x80\x04]\x94(h\x00h\x00h\x00\x65."), "");
}

/* Protocol 0, written by hand: everything is a line. */
static void protocol_0_is_read(void **state)
{
    struct snapshot *s = must_read(BYTES(
        "(dp0\nVsegments\np1\n(lp2\n(dVaddress\nL4096L\nsVtotal_size\n"
        "I2097152\nsVdevice\nI0\nsVis_expandable\nI01\nsVblocks\n(lsas."));

    (void)state;
    assert_int_equal(s->segment_count, 1);
    assert_int_equal(s->segments[0].address, 4096);
    assert_int_equal(s->segments[0].total_size, 2097152);
    assert_true(s->segments[0].expandable);
    assert_int_equal(s->protocol, 0);
    snapshot_free(s);
}

static void integers_are_exact_or_counted(void **state)
{
    struct snapshot *s = must_read(
        BYTES("\x80\x04]}("
              "\x8c\x07"
              "address\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00"
              "\x8c\x0atotal_size\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"
              "\x8c\x06stream\x8a\x01\xff"
              "\x8c\x0b"
              "active_size\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01"
              "ua."));

    (void)state;
    assert_true(s->segments[0].address == UINT64_MAX);
    assert_true(s->segments[0].total_size == INT64_MAX);
    assert_true(snapshot_stream(s, s->segments[0].stream) == UINT64_MAX);
    assert_true(s->segments[0].active_size == UINT64_MAX);
    assert_int_equal(s->clamped_count, 1);
    snapshot_free(s);
}

/* The same bytes are another stack once the memo holds another frame. */
static void a_changed_memo_changes_the_stacks(void **state)
{
    struct snapshot *s = must_read(
        BYTES("\x80\x02}("
              "X\x08\x00\x00\x00segments]"
              "X\x01\x00\x00\x00x]}(X\x08\x00\x00\x00"
              "filenameX\x01\x00\x00\x00\x61uq\x01\x61"
              "X\x0d\x00\x00\x00"
              "device_traces]](}(X\x06\x00\x00\x00"
              "actionX\x05\x00\x00\x00"
              "allocX\x06\x00\x00\x00"
              "frames](h\x01h\x01\x65u}(X\x08\x00\x00\x00"
              "filenameX\x01\x00\x00\x00\x62uq\x01\x30}(X\x06\x00\x00\x00"
              "actionX\x05\x00\x00\x00"
              "allocX\x06\x00\x00\x00"
              "frames](h\x01h\x01\x65u\x65\x61u."));

    (void)state;
    assert_int_equal(s->event_count, 2);
    assert_int_equal(s->frame_count, 2);
    assert_int_not_equal(s->events[0].stack, s->events[1].stack);
    snapshot_free(s);
}

/* A list of frames that begins like the expected one, but is longer. */
static void stacks_that_begin_alike_are_distinguished(void **state)
{
    struct snapshot *s =
        must_read(BYTES("\x80\x02}("
                        "X\x08\x00\x00\x00segments]"
                        "X\x01\x00\x00\x00x]}(X\x08\x00\x00\x00"
                        "filenameX\x01\x00\x00\x00\x61uq\x01\x61"
                        "X\x0d\x00\x00\x00"
                        "device_traces]](}(X\x06\x00\x00\x00"
                        "actionq\x02X\x05\x00\x00\x00"
                        "allocq\x03X\x06\x00\x00\x00"
                        "framesq\x04](h\x01h\x01\x65u"
                        "}(h\x02h\x03h\x04](h\x01h\x01\x65u"
                        "}(h\x02h\x03h\x04](h\x01h\x01h\x01\x65u"
                        "}(h\x02h\x03h\x04](h\x01h\x01\x65u\x65\x61u."));
    size_t count;

    (void)state;
    assert_int_equal(s->event_count, 4);
    assert_int_equal(s->events[0].stack, s->events[1].stack);
    assert_int_equal(s->events[0].stack, s->events[3].stack);
    snapshot_stack(s, s->events[1].stack, &count);
    assert_int_equal(count, 2);
    snapshot_stack(s, s->events[2].stack, &count);
    assert_int_equal(count, 3);
    snapshot_free(s);
}

/* ---- JSON, and keys ------------------------------------------------------- */

static void malformed_json_is_placed(void **state)
{
    (void)state;
    must_fail(BYTES("{"), "FILE:1: byte 1: the file ends here; expected a key");
    must_fail(BYTES("{\n\"a\" 1}"), "FILE:2: byte 6: '1'; expected ':'");
    must_fail(BYTES("{\"a\":1,}"), "byte 7: '}'; expected a key in quotes");
    must_fail(BYTES("{\"a\":[1,]}"), "byte 8: ']'; expected a value");
    must_fail(BYTES("{\"a\":[1 2]}"), "byte 8: '2'; expected ',' or ']'");
    must_fail(BYTES("{\"a\":\"x"), "byte 7: the file ends here");
    must_fail(BYTES("{\"a\":\"\\x\"}"), "expected an escape");
    must_fail(BYTES("{\"a\":\"\\u12\"}"), "expected an escape");
    must_fail(BYTES("{\"a\":\"\n\"}"), "expected the rest of a string");
    must_fail(BYTES("{\"a\":01}"), "expected a number");
    must_fail(BYTES("{\"a\":1.}"), "expected a number");
    must_fail(BYTES("{\"a\":-}"), "expected a number");
    must_fail(BYTES("{\"a\":1e}"), "expected a number");
    must_fail(BYTES("{\"a\":1E3 e}"), "byte 9: 'e'; expected ',' or '}'");
    must_fail(BYTES("{\"a\":tru}"), "expected a value");
    must_fail(BYTES("{\"a\":~}"), "byte 5: '~'; expected a value");
    must_fail(BYTES("{\"a\":\x7f}"), "byte 5: byte 0x7f; expected a value");
    must_fail(BYTES("{\"a\":null"), "byte 9: the file ends here; expected ','");
    must_fail(BYTES("{\"segments\":[]} x"), "expected nothing after the end");
    must_fail(BYTES("{\"a\":\"\xff\"}"), "in UTF-8");
}

/* What memory_snapshot() returns is a list of segments; before the first
 * allocation it is empty. */
static void a_bare_list_is_one_of_segments(void **state)
{
    static const char *const none[] = {"[]", "\x80\x04].", "(lp0\n."};

    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        struct snapshot *s = must_read(none[i], strlen(none[i]));

        assert_int_equal(s->segment_count, 0);
        snapshot_free(s);
    }
    must_fail(BYTES("[" FRAME "]"), "the file is a list of frames");
    must_fail(BYTES("(dp0\nVaddress\nI1\nsVtotal_size\nI2\ns."),
              "the file is a segment; expected a dict");
}

/* Behind many windows' worth of bytes, and of lines. */
static void an_error_far_into_the_file_is_placed(void **state)
{
    enum { LINES = 3 << 20 };
    static char text[LINES + 2] = "[";

    (void)state;
    memset(text + 1, '\n', LINES);
    text[LINES + 1] = '?';
    must_fail(text, sizeof text,
              "FILE:3145729: byte 3145729: '?'; expected a value");
}

static void wrong_types_are_placed(void **state)
{
    (void)state;
    must_fail(BYTES("{}"), "without the key \"segments\"");
    must_fail(BYTES("{\"segments\":1}"),
              "byte 12: \"segments\" is an integer; expected a list");
    must_fail(BYTES("[{" SEGMENT ",\"device\":\"x\"}]"),
              "byte 38: \"device\" of a segment is a string; expected an "
              "integer");
    must_fail(BYTES("[{" SEGMENT ",\"stream\":1.0}]"), "is a float");
    must_fail(BYTES("[{\"total_size\":-1,\"address\":1}]"),
              "expected an integer from 0");
    must_fail(BYTES("[{\"total_size\":1}]"), "without the key \"address\"");
    must_fail(BYTES("[{" SEGMENT ",\"blocks\":[1]}]"), "a list of blocks");
    must_fail(BYTES("[{" SEGMENT ",\"frames\":[1]}]"), "a list of frames");
    must_fail(BYTES("[{" SEGMENT ",\"segment_pool_id\":[1,2,3]}]"),
              "expected a pair of integers");
    must_fail(BYTES("[{" SEGMENT ",\"is_expandable\":1}]"), "expected a bool");
    must_fail(
        BYTES("[{" SEGMENT ",\"blocks\":[{\"size\":1,\"state\":\"x\"}]}]"),
        "expected active_allocated");
    must_fail(BYTES("{\"segments\":[],\"x\":[{" BLOCK "}]}"),
              "a block is in no segment");
    must_fail(BYTES("{\"segments\":[],\"device_traces\":[1]}"),
              "expected a list of events");
    must_fail(BYTES("{\"segments\":[],\"device_traces\":[[{\"action\":3}]]}"),
              "\"action\" of an event is an integer; expected a string");
    must_fail(
        BYTES("{\"segments\":[],\"device_traces\":[[{\"action\":\"alloc\","
              "\"size\":-5,\"addr\":1,\"stream\":0}]]}"),
        "\"size\" of an event is a negative integer; expected an integer "
        "from 0 to 2^64 - 1");
    must_fail(BYTES("{\"segments\":[],\"x\":[{\"action\":\"alloc\"}]}"),
              "outside device_traces");
    must_fail(BYTES("{\"segments\":[],\"allocator_settings\":{"
                    "\"expandable_segments\":1}}"),
              "expected a bool");
}

/* Values that nothing depends on. */
static void what_makes_no_sense_is_unknown(void **state)
{
    static const char *const values[] = {"-1",
                                         "4294967296",
                                         "18446744073709551615",
                                         "36893488147419103232",
                                         "1.5",
                                         "\"12\"",
                                         "[]",
                                         "true"};

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char text[1024];
        struct snapshot *s;
        size_t n;

        n = (size_t)snprintf(
            text, sizeof text,
            "{\"segments\":[{" SEGMENT ",\"allocated_size\":%s,"
            "\"requested_size\":%s,\"blocks\":[{" BLOCK
            ",\"requested_size\":%s}]}],\"device_traces\":[[{"
            "\"action\":\"alloc\",\"size\":5,\"addr\":1,\"device\":%s,"
            "\"frames\":[{\"filename\":\"a\",\"name\":\"b\","
            "\"line\":%s}]}]]}",
            i == 0 ? "-1" : "-5", "-5", i == 2 ? "-7" : "1.5",
            i == 0 ? "-2" : values[i], values[i]);
        s = must_read(text, n);
        assert_int_equal(s->frames[0].line, 0);
        assert_int_equal(s->events[0].has & SNAPSHOT_HAS_DEVICE, 0);
        assert_int_equal(s->blocks[0].has & SNAPSHOT_HAS_REQUESTED, 0);
        assert_int_equal(s->segments[0].has & SNAPSHOT_HAS_REQUESTED, 0);
        snapshot_free(s);
    }
}

static void a_time_that_makes_no_sense_is_unknown(void **state)
{
    struct snapshot *s = must_read(
        BYTES("{\"segments\":[],\"device_traces\":[[{\"action\":\"alloc\","
              "\"size\":5,\"addr\":1,\"time_us\":9223372036854775809},"
              "{\"action\":\"alloc\",\"size\":5,\"addr\":9,"
              "\"time_us\":7}]]}"));

    (void)state;
    assert_int_equal(s->events[0].has & SNAPSHOT_HAS_TIME, 0);
    assert_int_not_equal(s->events[1].has & SNAPSHOT_HAS_TIME, 0);
    assert_int_equal(s->events[1].time_us, 7);
    snapshot_free(s);
}

static void unknown_keys_are_counted(void **state)
{
    struct snapshot *s = must_read(
        BYTES("{\"segments\":[{" SEGMENT ",\"new\":{\"a\":[1,{}]}},{" SEGMENT
              ",\"new\":null}],\"device_traces\":[[{\"action\":\"moved\"},"
              "{\"action\":\"alloc\",\"frames\":[{\"filename\":\"a\\u00e9\","
              "\"name\":\"\\ud83d\\ude00\",\"line\":-1}]}]],\"more\":1}"));

    (void)state;
    assert_int_equal(s->unknown_key_count, 2);
    assert_string_equal(snapshot_string(s, s->unknown_keys[0].name), "new");
    assert_int_equal(s->unknown_keys[0].count, 2);
    assert_string_equal(snapshot_string(s, s->unknown_keys[1].name), "more");
    assert_int_equal(s->other_action_count, 1);
    assert_string_equal(snapshot_string(s, s->other_actions[0].name), "moved");
    assert_int_equal(s->events[0].action, SNAPSHOT_OTHER);
    assert_int_equal(s->events[1].action, SNAPSHOT_ALLOC);
    assert_string_equal(snapshot_string(s, s->frames[0].filename), "a\xc3\xa9");
    assert_string_equal(snapshot_string(s, s->frames[0].name),
                        "\xf0\x9f\x98\x80");
    snapshot_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_is_refused_by_name),
        cmocka_unit_test(truncation_is_placed),
        cmocka_unit_test(a_damaged_stack_is_an_error),
        cmocka_unit_test(stacks_by_number_are_checked),
        cmocka_unit_test(a_list_in_itself_is_an_error),
        cmocka_unit_test(protocol_0_is_read),
        cmocka_unit_test(integers_are_exact_or_counted),
        cmocka_unit_test(a_changed_memo_changes_the_stacks),
        cmocka_unit_test(stacks_that_begin_alike_are_distinguished),
        cmocka_unit_test(malformed_json_is_placed),
        cmocka_unit_test(a_bare_list_is_one_of_segments),
        cmocka_unit_test(an_error_far_into_the_file_is_placed),
        cmocka_unit_test(wrong_types_are_placed),
        cmocka_unit_test(what_makes_no_sense_is_unknown),
        cmocka_unit_test(a_time_that_makes_no_sense_is_unknown),
        cmocka_unit_test(unknown_keys_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
