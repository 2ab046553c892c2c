/* test_emit.c - how a snapshot's values are written, byte for byte. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/pickle.h"
#include "base/emit.h"

struct written {
    size_t used;
    size_t writes;
    size_t refuse_at; /* this write is refused; 0: none */
    unsigned char bytes[1 << 17];
};

static struct emit e;
static struct written w;
static uint32_t words[SNAP_WORD_COUNT];

static int keep(void *ctx, const void *data, size_t bytes)
{
    struct written *to = ctx;

    if (++to->writes == to->refuse_at)
        return 1;
    assert_true(to->used + bytes <= sizeof to->bytes);
    memcpy(to->bytes + to->used, data, bytes);
    to->used += bytes;
    return 0;
}

static void emit_to_memory(enum emit_form form)
{
    memset(&w, 0, offsetof(struct written, bytes));
    memset(words, 0, sizeof words);
    larder__emit_begin(&e, form, words, keep, &w);
}

/* The output equals `want`, between the fixed beginning and end of every
 * pickle. */
static void assert_pickle(const void *want, size_t count)
{
    assert_true(larder__emit_end(&e));
    assert_int_equal(w.used, count + 3);
    assert_memory_equal(w.bytes, "\x80\x04", 2);
    assert_memory_equal(w.bytes + 2, want, count);
    assert_int_equal(w.bytes[w.used - 1], PICKLE_STOP);
}

static void assert_json(const char *want)
{
    assert_true(larder__emit_end(&e));
    assert_int_equal(w.bytes[w.used - 1], '\n');
    w.bytes[w.used - 1] = '\0';
    assert_string_equal((const char *)w.bytes, want);
    assert_int_equal(w.used, strlen(want) + 1);
}

#define assert_pickle_is(want) assert_pickle((want), sizeof(want) - 1)

/* In a list of `items` True values, one byte each: no other byte looks like an
 * opcode. */
static size_t count_in_list(size_t items, unsigned char opcode)
{
    size_t count = 0;

    emit_to_memory(EMIT_PICKLE);
    larder__emit_list_begin(&e);
    for (size_t i = 0; i < items; i++)
        larder__emit_bool(&e, true);
    larder__emit_close(&e);
    assert_true(larder__emit_end(&e));
    for (size_t i = 0; i < w.used; i++)
        count += w.bytes[i] == opcode;
    return count;
}

/* Otherwise the reader's stack would hold all of it, as Python's pickle
 * documents. */
static void a_long_list_is_appended_in_batches(void **state)
{
    static const struct {
        size_t items, batches;
    } lists[] = {{0, 0},
                 {1, 1},
                 {EMIT_BATCH, 1},
                 {EMIT_BATCH + 1, 2},
                 {3 * EMIT_BATCH, 3}};

    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        assert_int_equal(count_in_list(lists[i].items, PICKLE_APPENDS),
                         lists[i].batches);
        assert_int_equal(count_in_list(lists[i].items, PICKLE_MARK),
                         lists[i].batches);
    }
}

/* ---- values ---------------------------------------------------------------- */

/* Each number takes as few bytes as can hold it. */
static void numbers_have_the_widths_of_protocol_4(void **state)
{
    static const struct {
        int64_t value;
        const char *json;
        const char *pickle;
        size_t count;
    } numbers[] = {
#define N(value, json, pickle) {value, json, pickle, sizeof(pickle) - 1}
        N(0, "0", "K\0"),
        N(9, "9", "K\x09"),
        N(10, "10", "K\x0A"),
        N(255, "255", "K\xFF"),
        N(256, "256", "M\0\x01"),
        N(65535, "65535", "M\xFF\xFF"),
        N(65536, "65536", "J\0\0\x01\0"),
        N(INT32_MAX, "2147483647", "J\xFF\xFF\xFF\x7F"),
        N(INT64_C(2147483648), "2147483648", "\x8A\x05\0\0\0\x80\0"),
        N(INT64_C(0x7FFFFFFFFF), "549755813887",
          "\x8A\x05\xFF\xFF\xFF\xFF\x7F"),
        N(INT64_C(0x8000000000), "549755813888", "\x8A\x06\0\0\0\0\x80\0"),
        N(INT64_MAX, "9223372036854775807",
          "\x8A\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F"),
        N(-1, "-1", "\x8A\x01\xFF"),
        N(-128, "-128", "\x8A\x01\x80"),
        N(-129, "-129", "\x8A\x02\x7F\xFF"),
        N(-32769, "-32769", "\x8A\x03\xFF\x7F\xFF"),
        N(INT64_MIN, "-9223372036854775808", "\x8A\x08\0\0\0\0\0\0\0\x80"),
#undef N
    };

    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        emit_to_memory(EMIT_JSON);
        larder__emit_signed(&e, numbers[i].value);
        assert_json(numbers[i].json);
        emit_to_memory(EMIT_PICKLE);
        larder__emit_signed(&e, numbers[i].value);
        assert_pickle(numbers[i].pickle, numbers[i].count);
    }
}

static void numbers_above_the_signed_range_stay_positive(void **state)
{
    (void)state;
    emit_to_memory(EMIT_JSON);
    larder__emit_unsigned(&e, UINT64_MAX);
    assert_json("18446744073709551615");
    emit_to_memory(EMIT_PICKLE);
    larder__emit_unsigned(&e, UINT64_MAX);
    assert_pickle_is("\x8A\x09\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\0");
}

static void reals_and_booleans_are_written_as_such(void **state)
{
    (void)state;
    emit_to_memory(EMIT_JSON);
    larder__emit_list_begin(&e);
    larder__emit_real(&e, 0.6);
    larder__emit_real(&e, 2);
    larder__emit_real(&e, 1e300);
    larder__emit_bool(&e, true);
    larder__emit_bool(&e, false);
    larder__emit_close(&e);
    assert_json("[0.59999999999999998,2.0,1.0000000000000001e+300,true,false]");
    emit_to_memory(EMIT_PICKLE);
    larder__emit_real(&e, 0.6);
    assert_pickle_is("G\x3F\xE3\x33\x33\x33\x33\x33\x33");
    emit_to_memory(EMIT_PICKLE);
    larder__emit_bool(&e, false);
    assert_pickle_is("\x89");
}

/* ---- text ------------------------------------------------------------------ */

#define BAD "\xEF\xBF\xBD"

/* On both sides of each limit of UTF-8: invalid sequences are replaced byte by
 * byte. */
static void invalid_utf8_is_replaced(void **state)
{
    static const struct {
        const char *text, *written;
    } texts[] = {
        {"\x7F", "\x7F"},
        {"\x80", BAD},
        {"\x81\x90\x80\x80", BAD BAD BAD BAD},
        {"\xC1\xBF", BAD BAD},
        {"\xC2\x7F", BAD "\x7F"},
        {"\xC2\x80", "\xC2\x80"},
        {"\xDF\xBF", "\xDF\xBF"},
        {"\xDF\xC0", BAD BAD},
        {"\xE0\x80\x80", BAD BAD BAD},
        {"\xE0\x9F\xBF", BAD BAD BAD},
        {"\xE0\xA0\x80", "\xE0\xA0\x80"},
        {"\xED\x9F\xBF", "\xED\x9F\xBF"},
        {"\xED\xA0\x80", BAD BAD BAD},
        {"\xED\xBF\xBF", BAD BAD BAD},
        {"\xEE\x80\x80", "\xEE\x80\x80"},
        {"\xEF\xBF\xBF", "\xEF\xBF\xBF"},
        {"\xF0\x8F\xBF\xBF", BAD BAD BAD BAD},
        {"\xF0\x90\x80\x80", "\xF0\x90\x80\x80"},
        {"\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"},
        {"\xF4\x90\x80\x80", BAD BAD BAD BAD},
        {"\xF5\x80\x80\x80", BAD BAD BAD BAD},
        {"\xC3", BAD},
        {"\xE2\x82 a", BAD BAD " a"},
        {"\xF0\x9F\x98", BAD BAD BAD},
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char json[32];

        snprintf(json, sizeof json, "\"%s\"", texts[i].written);
        emit_to_memory(EMIT_JSON);
        larder__emit_text(&e, texts[i].text);
        assert_json(json);
        json[0] = (char)PICKLE_SHORT_BINUNICODE;
        memmove(json + 2, texts[i].written, strlen(texts[i].written));
        json[1] = (char)strlen(texts[i].written);
        emit_to_memory(EMIT_PICKLE);
        larder__emit_text(&e, texts[i].text);
        assert_pickle(json, strlen(texts[i].written) + 2);
    }
}

static void json_escapes_quotes_backslashes_and_controls(void **state)
{
    (void)state;
    emit_to_memory(EMIT_JSON);
    larder__emit_text(&e, "a\"b\\c\x01\x0F\x10\x1F ~");
    assert_json("\"a\\\"b\\\\c\\u0001\\u000f\\u0010\\u001f ~\"");
}

static void a_text_of_256_bytes_has_a_long_length(void **state)
{
    char text[257];
    char want[261];

    (void)state;
    memset(text, 'x', sizeof text);
    memset(want, 'x', sizeof want);
    text[255] = '\0';
    memcpy(want, "\x8C\xFF", 2);
    emit_to_memory(EMIT_PICKLE);
    larder__emit_text(&e, text);
    assert_pickle(want, 257);
    text[255] = 'x';
    text[256] = '\0';
    memcpy(want, "X\0\x01\0\0", 5);
    emit_to_memory(EMIT_PICKLE);
    larder__emit_text(&e, text);
    assert_pickle(want, 261);
}

/* ---- dicts and lists ------------------------------------------------------- */

static void put_nested(void)
{
    larder__emit_dict_begin(&e);
    larder__emit_text(&e, "a");
    larder__emit_list_begin(&e);
    larder__emit_unsigned(&e, 1);
    larder__emit_pair(&e, 2, 3);
    larder__emit_list_begin(&e);
    larder__emit_close(&e);
    larder__emit_close(&e);
    larder__emit_word(&e, KEY_SIZE);
    larder__emit_word(&e, WORD_ALLOC);
    larder__emit_text(&e, "c");
    larder__emit_dict_begin(&e);
    larder__emit_word(&e, KEY_SIZE);
    larder__emit_signed(&e, -1);
    larder__emit_close(&e);
    larder__emit_close(&e);
}

/* Commas only between items; a mark only before the first item; a repeated word
 * refers to the first one by its number. */
static void nested_containers_are_closed_in_place(void **state)
{
    (void)state;
    emit_to_memory(EMIT_JSON);
    put_nested();
    assert_json("{\"a\":[1,[2,3],[]],\"size\":\"alloc\",\"c\":{\"size\":-1}}");
    emit_to_memory(EMIT_PICKLE);
    put_nested();
    assert_pickle_is("}(\x8C\x01"
                     "a](K\x01K\x02K\x03\x86]e"
                     "\x8C\x04size\x94\x8C\x05"
                     "alloc\x94"
                     "\x8C\x01"
                     "c}(h\0\x8A\x01\xFFuu");
}

static void items_in_json_are_separated_by_commas(void **state)
{
    (void)state;
    emit_to_memory(EMIT_JSON);
    larder__emit_list_begin(&e);
    larder__emit_text(&e, "a");
    larder__emit_word(&e, WORD_ALLOC);
    larder__emit_bool(&e, true);
    larder__emit_real(&e, 0.5);
    larder__emit_signed(&e, -1);
    larder__emit_unsigned(&e, 1);
    larder__emit_pair(&e, 1, 2);
    larder__emit_dict_begin(&e);
    larder__emit_close(&e);
    larder__emit_close(&e);
    assert_json("[\"a\",\"alloc\",true,0.5,-1,1,[1,2],{}]");
}

/* The 257th memoized object has a four-byte number. */
static void memoized_values_are_written_by_number(void **state)
{
    uint32_t places[257] = {0};

    (void)state;
    emit_to_memory(EMIT_PICKLE);
    assert_false(larder__emit_again(&e, &places[0]));
    for (size_t i = 0; i < 257; i++)
        larder__emit_keep(&e, &places[i]);
    assert_true(larder__emit_again(&e, &places[255]));
    assert_true(larder__emit_again(&e, &places[256]));
    assert_true(larder__emit_end(&e));
    assert_memory_equal(w.bytes + 2 + 257, "h\xFFj\0\x01\0\0.", 8);
    assert_int_equal(w.used, 2 + 257 + 8);
}

static void strings_are_kept_once_in_a_pickle_alone(void **state)
{
    uint32_t place = 0;

    (void)state;
    for (int form = EMIT_PICKLE; form <= EMIT_JSON; form++) {
        emit_to_memory((enum emit_form)form);
        larder__emit_list_begin(&e);
        larder__emit_string(&e, "a\0\xED\xA0\x81", 5, &place);
        larder__emit_string(&e, "a\0\xED\xA0\x81", 5, &place);
        larder__emit_close(&e);
        if (form == EMIT_PICKLE)
            assert_pickle_is("](\x8C\x05"
                             "a\0\xED\xA0\x81\x94h\0e");
        else
            assert_json("[\"a\\u0000\\ud801\",\"a\\u0000\\ud801\"]");
        place = 0;
    }
}

/* json.dumps([1, [], {"a": 0.5, "b": None}, nan, -inf]) */
static void json_is_also_written_as_python_does(void **state)
{
    static const char want[] =
        "[1, [], {\"a\": 0.5, \"b\": null}, NaN, -Infinity]";

    (void)state;
    emit_to_memory(EMIT_JSON_DUMP);
    larder__emit_list_begin(&e);
    larder__emit_unsigned(&e, 1);
    larder__emit_list_begin(&e);
    larder__emit_close(&e);
    larder__emit_dict_begin(&e);
    larder__emit_text(&e, "a");
    larder__emit_real(&e, 0.5);
    larder__emit_text(&e, "b");
    larder__emit_none(&e);
    larder__emit_close(&e);
    larder__emit_real(&e, (double)NAN);
    larder__emit_real(&e, -(double)INFINITY);
    larder__emit_close(&e);
    assert_true(larder__emit_end(&e));
    assert_int_equal(w.used, sizeof want - 1);
    assert_memory_equal(w.bytes, want, w.used);
}

/* ---- the buffer ------------------------------------------------------------ */

static void a_text_longer_than_the_buffer_arrives_whole(void **state)
{
    static char text[2 * EMIT_BUFFER];
    size_t length;

    (void)state;
    for (length = EMIT_BUFFER - 3; length < 2 * EMIT_BUFFER - 1;
         length += length < EMIT_BUFFER + 3 ? 1 : EMIT_BUFFER - 5) {
        for (size_t i = 0; i < length; i++)
            text[i] = (char)('a' + i % 26);
        text[length] = '\0';
        emit_to_memory(EMIT_JSON);
        larder__emit_text(&e, text);
        assert_true(larder__emit_end(&e));
        assert_int_equal(w.used, length + 3);
        assert_memory_equal(w.bytes + 1, text, length);
        assert_int_equal(w.writes,
                         (length + 3 + EMIT_BUFFER - 1) / EMIT_BUFFER);
    }
}

static void after_a_refused_write_nothing_more_is_written(void **state)
{
    (void)state;
    emit_to_memory(EMIT_PICKLE);
    w.refuse_at = 2;
    for (size_t i = 0; i < 4 * EMIT_BUFFER; i++)
        larder__emit_bool(&e, true);
    assert_false(larder__emit_end(&e));
    assert_int_equal(w.writes, 2);
    assert_int_equal(w.used, EMIT_BUFFER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_list_is_appended_in_batches),
        cmocka_unit_test(numbers_have_the_widths_of_protocol_4),
        cmocka_unit_test(numbers_above_the_signed_range_stay_positive),
        cmocka_unit_test(reals_and_booleans_are_written_as_such),
        cmocka_unit_test(invalid_utf8_is_replaced),
        cmocka_unit_test(json_escapes_quotes_backslashes_and_controls),
        cmocka_unit_test(a_text_of_256_bytes_has_a_long_length),
        cmocka_unit_test(nested_containers_are_closed_in_place),
        cmocka_unit_test(items_in_json_are_separated_by_commas),
        cmocka_unit_test(memoized_values_are_written_by_number),
        cmocka_unit_test(strings_are_kept_once_in_a_pickle_alone),
        cmocka_unit_test(json_is_also_written_as_python_does),
        cmocka_unit_test(a_text_longer_than_the_buffer_arrives_whole),
        cmocka_unit_test(after_a_refused_write_nothing_more_is_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
