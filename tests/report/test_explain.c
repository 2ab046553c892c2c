/* test_explain.c - out-of-memory events, each explained with its cause. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "made_run.h"
#include "report/explain.h"
#include "report/shortage.h"
#include "support/guarded.h"

#define MIB(n) ((uint64_t)(n) << 20)

/* Of the last event, an out-of-memory. */
static const char *explanation(struct made_run *m)
{
    size_t count;
    const struct report_failure *failures =
        report_failures(&m->arena, &m->r, true, &count);

    assert_int_equal(failures[count - 1].event, m->l.event_count - 1);
    return failures[count - 1].text;
}

static void explain(const char *lines, const char *settings,
                    enum shortage_cause cause, uint64_t would_fit,
                    const char *words)
{
    struct shortage shortage;
    struct made_run m;
    const char *text;

    made_run(lines, settings, &m);
    shortage_make(&m.arena, &m.l, m.l.event_count - 1, &shortage);
    assert_int_equal(shortage.cause, cause);
    assert_int_equal(shortage.would_fit, would_fit);
    text = explanation(&m);
    if (strstr(text, words) == NULL)
        fail_msg("'%s' is not in:\n%s", words, text);
    made_run_free(&m);
}

/* How often the explanation of the last event has these words. */
static int explained_with(const char *lines, const char *words)
{
    struct made_run m;
    const char *text;
    int count = 0;

    made_run(lines, NULL, &m);
    text = explanation(&m);
    for (const char *at = text; (at = strstr(at, words)) != NULL; at++)
        count++;
    made_run_free(&m);
    return count;
}

static void the_request_is_too_large(void **state)
{
    (void)state;
    explain("segment_alloc 0 100MiB\n"
            "alloc 0 100MiB 0 model.py:1:forward\n"
            "oom 30MiB 64MiB\n",
            NULL, SHORTAGE_TOO_MUCH, MIB(30), "34.0 MiB is missing");
}

static void memory_lies_in_pieces(void **state)
{
    static const char lines[] = "segment_alloc 0 60MiB\n"
                                "alloc 0 20MiB 0 a.py:1:one\n"
                                "alloc 20 20MiB 0 b.py:2:two\n"
                                "alloc 40 20MiB 0 c.py:3:three\n"
                                "free_requested 0 20MiB\n"
                                "free_completed 0 20MiB\n"
                                "free_requested 40 20MiB\n"
                                "free_completed 40 20MiB\n"
                                "oom 4MiB 30MiB\n";

    (void)state;
    explain(lines, NULL, SHORTAGE_PIECES, MIB(20), "b.py:2 two");
    explain(lines, NULL, SHORTAGE_PIECES, MIB(20),
            "expandable_segments:True: free pages could have been used");
    explain(lines, "\"expandable_segments\": true", SHORTAGE_PIECES, MIB(20),
            "Segments were expandable already");
}

/* At most five, and only segments of which some is free; pages that grew
 * together are one. */
static void segments_with_free_memory_are_named(void **state)
{
    static const char oom[] = "oom 0 900MiB\n";
    char lines[1024];

    (void)state;
    snprintf(lines, sizeof lines, "segment_alloc 0 20MiB\nalloc 0 20MiB\n%s",
             oom);
    assert_int_equal(explained_with(lines, "Where the free memory was:"), 0);
    snprintf(lines, sizeof lines,
             "segment_map 0 2MiB\nsegment_map 2 2MiB\nalloc 0 3MiB\n"
             "segment_alloc 20 20MiB\nalloc 20 20MiB\n%s",
             oom);
    assert_int_equal(explained_with(lines, "Where the free memory was:"), 1);
    assert_int_equal(explained_with(lines, " free, the largest block"), 1);
    assert_int_equal(explained_with(lines, "pinned by 1 allocation: 3.00 MiB"),
                     1);
    lines[0] = '\0';
    for (int i = 0; i < 6; i++)
        sprintf(lines + strlen(lines), "segment_alloc %d 20MiB\n", 100 * i);
    strcat(lines, oom);
    assert_int_equal(explained_with(lines, " free, the largest block"), 5);
    assert_int_equal(explained_with(lines, "; nothing in it is in use\n"), 5);
}

static void the_oldest_that_pins_a_segment_is_named(void **state)
{
    (void)state;
    assert_int_equal(explained_with("segment_alloc 0 20MiB\n"
                                    "alloc 8 1MiB 0 a.py:1:old\n"
                                    "alloc 4 1MiB 0 b.py:2:new\n"
                                    "oom 0 900MiB\n",
                                    "pinned by 2, the oldest: 1.00 MiB from "
                                    "a.py:1 old, 2 events old (20 µs)\n"),
                     1);
    /* What is older than the recording is older than anything in it. */
    assert_int_equal(explained_with("alloc 8 1MiB 0 a.py:1:old\n"
                                    "oom 0 900MiB\n"
                                    "segment 0 20MiB\n"
                                    "block 8MiB inactive\n"
                                    "block 1MiB active_allocated a.py:1:old\n"
                                    "block 3MiB inactive\n"
                                    "block 1MiB active_allocated\n"
                                    "block 7MiB inactive\n",
                                    "pinned by 2, the oldest: 1.00 MiB, "
                                    "no call path, older than the "
                                    "recording\n"),
                     1);
    assert_int_equal(explained_with("segment_alloc 0 20MiB\n"
                                    "alloc 8 1MiB 0 a.py:1:old\n"
                                    "oom 0 900MiB\n",
                                    "a.py:1 old, 1 event old (10 µs)\n"),
                     1);
}

/* The driver's memory is spoken of if there was any. */
static void what_was_free_includes_what_the_driver_had(void **state)
{
    static const char rest[] = "segment_alloc 0 20MiB\nalloc 4 1MiB\n";
    char lines[256];

    (void)state;
    snprintf(lines, sizeof lines, "%soom 0 19MiB\n", rest);
    assert_int_equal(explained_with(lines, "19.0 MiB was free, which is"), 1);
    snprintf(lines, sizeof lines, "%soom 1 19MiB\n", rest);
    assert_int_equal(explained_with(lines, "19.0 MiB was free, including the "
                                           "driver's free memory, which is"),
                     1);
}

static void memory_belongs_to_another_stream(void **state)
{
    (void)state;
    explain("segment_alloc 0 60MiB 7\n"
            "alloc 0 2MiB 7\n"
            "oom 0 30MiB 0\n",
            NULL, SHORTAGE_STREAMS, 0, "each stream has its own free memory");
}

static void memory_waits_for_a_stream(void **state)
{
    (void)state;
    explain("segment_alloc 0 60MiB\n"
            "alloc 0 60MiB\n"
            "free_requested 0 60MiB\n"
            "oom 0 30MiB\n",
            NULL, SHORTAGE_PENDING, 0,
            "was freed, but recorded streams still used it");
}

static void a_rule_keeps_memory_back(void **state)
{
    (void)state;
    explain("segment_alloc 0 60MiB\n"
            "alloc 0 2MiB\n"
            "oom 0 30MiB\n",
            NULL, SHORTAGE_REFUSED, MIB(58), "was not used");
}

/* A small request may use segments of the small pool, and a large one may
 * not. */
static void memory_belongs_to_another_pool(void **state)
{
    (void)state;
    explain("segment_alloc 0 60MiB\n"
            "alloc 0 2MiB\n"
            "oom 0 512KiB\n",
            NULL, SHORTAGE_POOLS, 0, "in a pool");
}

static void a_limit_keeps_the_driver_from_being_asked(void **state)
{
    (void)state;
    explain("segment_alloc 0 60MiB\n"
            "alloc 0 60MiB\n"
            "oom 400MiB 30MiB\n",
            NULL, SHORTAGE_LIMIT, MIB(400), "not for lack of memory");
    /* A request of 5 MiB takes a segment of 20. */
    explain("segment_alloc 0 60MiB\n"
            "alloc 0 60MiB\n"
            "oom 19MiB 5MiB\n",
            NULL, SHORTAGE_PIECES, MIB(18), "Why: fragmentation");
}

static void the_requesting_line_is_named(void **state)
{
    (void)state;
    explain("segment_alloc 0 100MiB\n"
            "alloc 0 100MiB\n"
            "oom 0 64MiB 0 big.py:3:forward\n",
            NULL, SHORTAGE_TOO_MUCH, 0, "Requested by big.py:3 forward.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_request_is_too_large),
        cmocka_unit_test(memory_lies_in_pieces),
        cmocka_unit_test(segments_with_free_memory_are_named),
        cmocka_unit_test(the_oldest_that_pins_a_segment_is_named),
        cmocka_unit_test(what_was_free_includes_what_the_driver_had),
        cmocka_unit_test(memory_belongs_to_another_stream),
        cmocka_unit_test(memory_waits_for_a_stream),
        cmocka_unit_test(a_rule_keeps_memory_back),
        cmocka_unit_test(memory_belongs_to_another_pool),
        cmocka_unit_test(a_limit_keeps_the_driver_from_being_asked),
        cmocka_unit_test(the_requesting_line_is_named),
    };

    return run_guarded_tests(tests);
}
