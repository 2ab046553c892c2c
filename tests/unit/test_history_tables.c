/* test_history_tables.c - stacks and texts are kept once each, to the last word
 * and the last number there is, and what does not fit is counted; a history's
 * options are taken to their borders. */
#include <string.h>

#include "support/rig.h"

#include <larder/history.h>

#include "base/host.h"
#include "core/history/recording.h"
#include "core/history/history_tables.h"
#include "support/host_faults.h"

/* ---- stacks ------------------------------------------------------------------ */

enum { LEAST_WORDS = 256, LEAST_STACKS = 63, LONGEST = 1024 };

static struct stack_table stacks_up(uint64_t words)
{
    struct stack_table t;

    assert_true(larder__stacks_init(&t, words * sizeof(uint64_t)));
    return t;
}

/* Spread so that some of them meet in the table. */
static uint64_t frame_of(uint64_t of, size_t i)
{
    return of * of * 7919 + i;
}

/* A stack of its own for each number. */
static uint32_t put(struct stack_table *t, uint64_t of, size_t depth)
{
    uint64_t frames[LONGEST];

    for (size_t i = 0; i < depth; i++)
        frames[i] = frame_of(of, i);
    return larder__stacks_put(t, frames, depth);
}

static void assert_kept(const struct stack_table *t, uint32_t number,
                        uint64_t of, size_t depth)
{
    assert_int_not_equal(number, 0);
    assert_int_equal(stack_depth(t, number), depth);
    for (size_t i = 0; i < depth; i++)
        assert_int_equal(stack_frames(t, number)[i], frame_of(of, i));
}

static void equal_stacks_have_one_number(void **state)
{
    struct stack_table t = stacks_up(4096);
    uint32_t numbers[20];

    (void)state;
    for (uint64_t i = 0; i < 20; i++)
        numbers[i] = put(&t, 1 + i / 4, 1 + i % 4);
    for (uint64_t i = 0; i < 20; i++) {
        assert_kept(&t, numbers[i], 1 + i / 4, 1 + i % 4);
        assert_int_equal(put(&t, 1 + i / 4, 1 + i % 4), numbers[i]);
        for (uint64_t k = 0; k < i; k++)
            assert_int_not_equal(numbers[k], numbers[i]);
    }
    assert_int_equal(t.count, 20);
    assert_int_equal(t.lost, 0);
    larder__stacks_destroy(&t);
}

static void a_stack_without_frames_has_no_number(void **state)
{
    struct stack_table t = stacks_up(0);

    (void)state;
    assert_int_equal(put(&t, 1, 0), 0);
    assert_int_equal(t.lost, 0);
    assert_int_equal(t.count, 0);
    assert_int_equal(stack_depth(&t, 0), 0);
    assert_null(stack_frames(&t, 0));
    larder__stacks_destroy(&t);
}

/* One word is for the number 0, and one more for each stack's depth. */
static void stacks_fill_the_words_to_the_last(void **state)
{
    static const struct {
        uint64_t asked;
        uint64_t words;
    } sizes[] = {{0, LEAST_WORDS},
                 {LEAST_WORDS - 1, LEAST_WORDS},
                 {LEAST_WORDS, LEAST_WORDS},
                 {LEAST_WORDS + 1, LEAST_WORDS + 1}};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct stack_table t = stacks_up(sizes[i].asked);
        size_t most = sizes[i].words - 2;

        assert_int_equal(put(&t, 1, most + 1), 0);
        assert_int_equal(t.lost, 1);
        assert_kept(&t, put(&t, 1, most), 1, most);
        assert_int_equal(put(&t, 2, 1), 0);
        assert_int_equal(t.lost, 2);
        assert_kept(&t, put(&t, 1, most), 1, most); /* it is there still */
        assert_int_equal(t.lost, 2);
        larder__stacks_destroy(&t);
    }
}

static void words_are_left_for_just_the_stacks_that_fit(void **state)
{
    struct stack_table t = stacks_up(0);

    (void)state;
    assert_kept(&t, put(&t, 1, LEAST_WORDS - 5), 1, LEAST_WORDS - 5);
    assert_int_equal(put(&t, 2, 3), 0);
    assert_kept(&t, put(&t, 2, 2), 2, 2);
    assert_int_equal(put(&t, 3, 1), 0);
    assert_int_equal(t.lost, 2);
    larder__stacks_destroy(&t);
}

/* Short stacks use up the places before the words. */
static void half_of_the_places_stay_empty(void **state)
{
    struct stack_table t = stacks_up(LEAST_WORDS);
    uint32_t numbers[LEAST_STACKS];

    (void)state;
    for (uint64_t i = 0; i < LEAST_STACKS; i++)
        numbers[i] = put(&t, i, 1);
    assert_int_equal(t.lost, 0);
    assert_int_equal(put(&t, LEAST_STACKS, 1), 0);
    assert_int_equal(t.lost, 1);
    for (uint64_t i = 0; i < LEAST_STACKS; i++) {
        assert_kept(&t, numbers[i], i, 1);
        assert_int_equal(put(&t, i, 1), numbers[i]);
    }
    assert_int_equal(t.count, LEAST_STACKS);
    larder__stacks_destroy(&t);
}

static void a_table_that_gets_no_memory_is_empty(void **state)
{
    struct stack_table t;

    (void)state;
    for (unsigned long nth = 1; nth <= 2; nth++) {
        larder__host_fail(nth, 1);
        assert_false(larder__stacks_init(&t, 0));
        larder__host_fail(0, 0);
        assert_null(t.words);
        assert_null(t.slots);
    }
}

/* ---- texts ------------------------------------------------------------------- */

enum { STEPS = 1 << 16 };

static struct text_table texts_up(void)
{
    struct text_table t;

    assert_true(larder__texts_init(&t));
    return t;
}

/* A text of so many bytes, of its own for each number. */
static const char *text_of(unsigned number, size_t length)
{
    static char text[2 * LARDER_ANNOTATION_MAX];

    assert_true(length < sizeof text && length >= 6);
    memset(text, '.', length);
    text[length] = '\0';
    for (size_t i = 0; i < 6; i++, number /= 10)
        text[i] = (char)('0' + number % 10);
    return text;
}

/* With its NUL a text of 15 bytes takes one step, of 16 two. */
static void texts_take_no_more_steps_than_they_need(void **state)
{
    static const struct {
        size_t length;
        uint32_t steps;
    } sizes[] = {{6, 1}, {15, 1}, {16, 2}, {17, 2}, {31, 2}, {32, 3}};
    struct text_table t = texts_up();
    uint32_t used = 1;

    (void)state;
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_int_equal(larder__texts_put(&t, text_of(i, sizes[i].length)),
                         used);
        used += sizes[i].steps;
    }
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const char *text = text_of(i, sizes[i].length);

        assert_string_equal(larder__texts_get(&t, larder__texts_put(&t, text)),
                            text);
    }
    assert_int_equal(t.used, used);
    assert_int_equal(larder__texts_put(&t, ""), 0);
    assert_string_equal(larder__texts_get(&t, 0), "");
    assert_int_equal(t.lost, 0);
    larder__texts_destroy(&t);
}

static void texts_are_kept_to_the_last_number(void **state)
{
    struct text_table t = texts_up();
    uint16_t number = 0;

    (void)state;
    for (unsigned i = 0; i < STEPS - 3; i++)
        number = larder__texts_put(&t, text_of(i, 15));
    assert_int_equal(number, STEPS - 3);
    assert_int_equal(larder__texts_put(&t, text_of(0, 32)), 0);
    assert_int_equal(t.lost, 1);
    assert_int_equal(larder__texts_put(&t, text_of(0, 31)), STEPS - 2);
    assert_string_equal(larder__texts_get(&t, STEPS - 2), text_of(0, 31));
    assert_int_equal(larder__texts_put(&t, text_of(STEPS, 6)), 0);
    assert_int_equal(t.lost, 2);
    assert_int_equal(larder__texts_put(&t, text_of(7, 15)), 8);
    assert_int_equal(t.lost, 2);
    larder__texts_destroy(&t);
}

/* A character of several bytes goes whole or not at all. */
static void a_text_is_cut_between_characters(void **state)
{
    static const struct {
        size_t before; /* bytes, then a character of four */
        size_t after;  /* what is left of all */
    } cuts[] = {{LARDER_ANNOTATION_MAX - 4, LARDER_ANNOTATION_MAX},
                {LARDER_ANNOTATION_MAX - 3, LARDER_ANNOTATION_MAX - 3},
                {LARDER_ANNOTATION_MAX - 1, LARDER_ANNOTATION_MAX - 1},
                {LARDER_ANNOTATION_MAX, LARDER_ANNOTATION_MAX}};
    struct text_table t = texts_up();

    (void)state;
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        char text[LARDER_ANNOTATION_MAX + 5];
        const char *kept;

        memset(text, 'a' + (int)i, sizeof text);
        memcpy(&text[cuts[i].before], "\xF0\x9F\xA6\x8A", 5);
        kept = larder__texts_get(&t, larder__texts_put(&t, text));
        assert_int_equal(strlen(kept), cuts[i].after);
        assert_memory_equal(kept, text, cuts[i].after);
    }
    larder__texts_destroy(&t);
}

/* Bytes that begin no character at all leave nothing. */
static void a_text_without_characters_is_not_kept(void **state)
{
    struct text_table t = texts_up();
    char text[LARDER_ANNOTATION_MAX + 2];

    (void)state;
    memset(text, 0x80, sizeof text);
    text[sizeof text - 1] = '\0';
    assert_int_equal(larder__texts_put(&t, text), 0);
    assert_int_equal(t.used, 1);
    larder__texts_destroy(&t);
}

static void a_table_of_texts_gets_its_memory_or_none(void **state)
{
    struct text_table t;

    (void)state;
    for (unsigned long nth = 1; nth <= 2; nth++) {
        larder__host_fail(nth, 1);
        assert_false(larder__texts_init(&t));
        larder__host_fail(0, 0);
        assert_null(t.bytes);
        assert_null(t.slots);
    }
}

/* ---- a thread's texts ---------------------------------------------------------- */

static const char *text_now(struct text_table *t)
{
    return larder__texts_get(t, larder__annotation_now(t));
}

/* Texts beyond the depth are not kept, but those below come back. */
static void texts_are_stacked_to_a_depth(void **state)
{
    struct text_table t = texts_up();
    char text[16];

    (void)state;
    larder_annotate("bottom");
    for (int i = 1; i <= LARDER_ANNOTATION_DEPTH + 2; i++) {
        (void)snprintf(text, sizeof text, "level %d", i);
        larder_annotate_push(text);
        if (i > LARDER_ANNOTATION_DEPTH)
            (void)snprintf(text, sizeof text, "level %d",
                           LARDER_ANNOTATION_DEPTH);
        assert_string_equal(text_now(&t), text);
    }
    larder_annotate("not kept");
    for (int i = LARDER_ANNOTATION_DEPTH + 2; i > 0; i--) {
        (void)snprintf(text, sizeof text, "level %d",
                       i < LARDER_ANNOTATION_DEPTH ? i
                                                   : LARDER_ANNOTATION_DEPTH);
        assert_string_equal(text_now(&t), text);
        larder_annotate_pop();
    }
    assert_string_equal(text_now(&t), "bottom");
    larder_annotate_pop();
    assert_string_equal(text_now(&t), "bottom");
    larder_annotate_push("again");
    assert_string_equal(text_now(&t), "again");
    larder_annotate_pop();
    larder_annotate(NULL);
    assert_string_equal(text_now(&t), "");
    larder__texts_destroy(&t);
}

/* A number holds for the table that gave it. */
static void each_table_has_numbers_of_its_own(void **state)
{
    struct text_table one = texts_up();
    struct text_table two = texts_up();

    (void)state;
    larder_annotate("first");
    assert_int_equal(larder__annotation_now(&one), 1);
    larder_annotate("second");
    assert_int_equal(larder__annotation_now(&two), 1);
    assert_int_equal(larder__annotation_now(&one), 2);
    assert_int_equal(larder__annotation_now(&two), 1);
    assert_int_equal(larder__annotation_now(&two), 1);
    larder_annotate(NULL);
    larder__texts_destroy(&one);
    larder__texts_destroy(&two);
}

/* ---- options ------------------------------------------------------------------- */

static larder_result options_of(larder_history_options opt,
                                larder_history_options *out)
{
    opt.size = sizeof opt;
    return larder__history_options(&opt, out);
}

#define OPTIONS(...)                                                           \
    options_of((larder_history_options){.size = 0, __VA_ARGS__}, &out)

static void options_are_accepted_up_to_their_limits(void **state)
{
    larder_history_options out;

    (void)state;
    assert_ok(OPTIONS(.max_events = UINT64_C(1) << 40));
    assert_refused(LARDER_ERR_INVALID,
                   OPTIONS(.max_events = (UINT64_C(1) << 40) + 1),
                   "max_events is 1099511627777: expected at most 2^40");
    assert_ok(OPTIONS(.depth = LARDER_STACK_DEPTH_MAX));
    assert_refused(LARDER_ERR_INVALID,
                   OPTIONS(.depth = LARDER_STACK_DEPTH_MAX + 1),
                   "depth is 129: expected at most 128");
    assert_ok(OPTIONS(.stack_bytes = UINT64_C(1) << 34));
    assert_refused(LARDER_ERR_INVALID,
                   OPTIONS(.stack_bytes = (UINT64_C(1) << 34) + 1),
                   "stack_bytes is 17179869185: expected at most 2^34");
    assert_ok(OPTIONS(.stacks = LARDER_STACKS_UNWIND));
    assert_refused(LARDER_ERR_INVALID,
                   OPTIONS(.stacks = LARDER_STACKS_CALLBACK),
                   "needs a stack_fn");
    assert_refused(LARDER_ERR_INVALID,
                   OPTIONS(.stacks = LARDER_STACKS_CALLBACK + 1),
                   "expected a LARDER_STACKS_ value");
}

static void options_that_are_0_have_their_usual_values(void **state)
{
    larder_history_options out;

    (void)state;
    assert_ok(larder__history_options(NULL, &out));
    assert_int_equal(out.max_events, LARDER_HISTORY_EVENTS_DEFAULT);
    assert_int_equal(out.depth, LARDER_STACK_DEPTH_DEFAULT);
    assert_int_equal(out.stack_bytes, LARDER_STACK_BYTES_DEFAULT);
    assert_ok(OPTIONS(.depth = 0));
    assert_int_equal(out.max_events, LARDER_HISTORY_EVENTS_DEFAULT);
    assert_int_equal(out.depth, LARDER_STACK_DEPTH_DEFAULT);
    assert_int_equal(out.stack_bytes, LARDER_STACK_BYTES_DEFAULT);
    assert_ok(OPTIONS(.max_events = 1, .depth = 1, .stack_bytes = 1));
    assert_int_equal(out.max_events, 1);
    assert_int_equal(out.depth, 1);
    assert_int_equal(out.stack_bytes, 1);
}

/* Those of an older program end earlier; a newer one's are not known. */
static void options_say_how_long_they_are(void **state)
{
    larder_history_options opt = {.max_events = 5};
    larder_history_options out;

    (void)state;
    opt.size = sizeof opt + 1;
    assert_refused(LARDER_ERR_INVALID, larder__history_options(&opt, &out),
                   "use larder_history_options_init()");
    opt.size = sizeof opt.size - 1;
    assert_result(LARDER_ERR_INVALID, larder__history_options(&opt, &out));
    opt.size = sizeof opt.size;
    assert_ok(larder__history_options(&opt, &out));
    assert_int_equal(out.max_events, LARDER_HISTORY_EVENTS_DEFAULT);
    opt.size = sizeof opt;
    assert_ok(larder__history_options(&opt, &out));
    assert_int_equal(out.max_events, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_stacks_have_one_number),
        cmocka_unit_test(a_stack_without_frames_has_no_number),
        cmocka_unit_test(stacks_fill_the_words_to_the_last),
        cmocka_unit_test(words_are_left_for_just_the_stacks_that_fit),
        cmocka_unit_test(half_of_the_places_stay_empty),
        cmocka_unit_test_teardown(a_table_that_gets_no_memory_is_empty,
                                  end_host_faults),
        cmocka_unit_test(texts_take_no_more_steps_than_they_need),
        cmocka_unit_test(texts_are_kept_to_the_last_number),
        cmocka_unit_test(a_text_is_cut_between_characters),
        cmocka_unit_test(a_text_without_characters_is_not_kept),
        cmocka_unit_test_teardown(a_table_of_texts_gets_its_memory_or_none,
                                  end_host_faults),
        cmocka_unit_test(texts_are_stacked_to_a_depth),
        cmocka_unit_test(each_table_has_numbers_of_its_own),
        cmocka_unit_test(options_are_accepted_up_to_their_limits),
        cmocka_unit_test(options_that_are_0_have_their_usual_values),
        cmocka_unit_test(options_say_how_long_they_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
