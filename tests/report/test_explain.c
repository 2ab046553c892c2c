/* test_explain.c - out-of-memory events, each with its cause, and the report's
 * findings about a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "made_snapshot.h"
#include "report/explain.h"
#include "report/frame_kind.h"
#include "report/iterations.h"
#include "report/report_words.h"
#include "report/summary_of_run.h"
#include "report/shortage.h"
#include "support/libc_faults.h"

#define MIB(n) ((uint64_t)(n) << 20)

/* The last event of these lines is an out-of-memory. */
static void explain(const char *lines, const char *settings,
                    enum shortage_cause cause, uint64_t would_fit,
                    const char *words)
{
    struct snapshot *s = made_snapshot(lines, settings);
    struct lifetimes l;
    struct shortage shortage;
    struct run_summary r;
    struct tool_error error;
    char *text;

    assert_true(lifetimes_make(s, 0, &l, &error));
    assert_true(run_summary_make(&l, &r, &error));
    assert_true(shortage_make(&l, l.event_count - 1, &shortage, &error));
    assert_int_equal(shortage.cause, cause);
    assert_int_equal(shortage.would_fit, would_fit);
    assert_true(
        report_explain_oom(&l, r.categories, l.event_count - 1, &text, &error));
    if (strstr(text, words) == NULL)
        fail_msg("'%s' is not in:\n%s", words, text);
    free(text);
    moment_free(&shortage.moment);
    run_summary_free(&r);
    lifetimes_free(&l);
    snapshot_free(s);
}

/* How often the explanation of the last event has these words. */
static int explained_with(const char *lines, const char *words)
{
    struct snapshot *s = made_snapshot(lines, NULL);
    struct lifetimes l;
    struct run_summary r;
    struct tool_error error;
    char *text;
    int count = 0;

    assert_true(lifetimes_make(s, 0, &l, &error));
    assert_true(run_summary_make(&l, &r, &error));
    assert_true(
        report_explain_oom(&l, r.categories, l.event_count - 1, &text, &error));
    for (const char *at = text; (at = strstr(at, words)) != NULL; at++)
        count++;
    free(text);
    run_summary_free(&r);
    lifetimes_free(&l);
    snapshot_free(s);
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
            "Segments could grow already");
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
                                    "pinned by 2, the oldest: 1.00 MiB from "
                                    "(no call path recorded), older than the "
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

/* ---- findings -------------------------------------------------------------------- */

static bool is_found(const char *lines, const char *title)
{
    struct snapshot *s = made_snapshot(lines, NULL);
    struct report_finding *found;
    struct run_summary r;
    struct lifetimes l;
    struct tool_error error;
    size_t count;
    bool seen = false;
    size_t i;

    assert_true(lifetimes_make(s, 0, &l, &error));
    assert_true(run_summary_make(&l, &r, &error));
    assert_true(report_findings(&r, &found, &count, &error));
    for (i = 0; i < count; i++)
        seen = seen || strstr(found[i].title, title) != NULL;
    report_findings_free(found, count);
    run_summary_free(&r);
    lifetimes_free(&l);
    snapshot_free(s);
    return seen;
}

/* Iterations with a working set and, if `leak`, something kept from each. */
static char *iterations_of(int count, bool leak)
{
    char *lines = calloc(1, 65536);
    int used = 0;
    int i;
    int k;

    assert_non_null(lines);
    used = sprintf(lines, "segment_alloc 0 4GiB\n");
    for (i = 0; i < count; i++) {
        used += sprintf(lines + used, "alloc 0 8MiB 0 train.py:5:forward\n");
        for (k = 0; k < 20; k++)
            used += sprintf(lines + used, "alloc 10 1MiB 0 m.py:7:layer\n"
                                          "free_requested 10 1MiB\n"
                                          "free_completed 10 1MiB\n");
        if (leak)
            used +=
                sprintf(lines + used, "alloc %d 3MiB 0 train.py:9:forward\n",
                        100 + i * 4);
        used += sprintf(lines + used, "free_requested 0 8MiB\n"
                                      "free_completed 0 8MiB\n");
    }
    return lines;
}

static void a_leak_is_found_and_no_other_is(void **state)
{
    char *leaking = iterations_of(12, true);
    char *sound = iterations_of(12, false);

    (void)state;
    assert_true(is_found(leaking, "Each iteration leaves 3.00 MiB behind"));
    assert_false(is_found(sound, "Each iteration leaves"));
    free(leaking);
    free(sound);
}

static void repeats_are_found(void **state)
{
    char *lines = iterations_of(12, false);
    struct snapshot *s = made_snapshot(lines, NULL);
    struct lifetimes l;
    struct iterations it;
    struct tool_error error;

    (void)state;
    assert_true(lifetimes_make(s, 0, &l, &error));
    assert_true(iterations_find(&l, &it, &error));
    assert_int_equal(it.count, 12);
    assert_false(it.marked);
    assert_int_equal(it.begin[1] - it.begin[0], 63);
    iterations_free(&it);
    lifetimes_free(&l);
    snapshot_free(s);
    free(lines);
}

/* One place requests many sizes: they are told apart by every bit. */
static void repeats_are_told_apart_by_size(void **state)
{
    char lines[8192] = "segment_alloc 0 4GiB\n";
    struct snapshot *s;
    struct lifetimes l;
    struct iterations it;
    struct tool_error error;
    int i;
    int k;

    (void)state;
    for (i = 0; i < 8; i++) {
        for (k = 1; k < 6; k++)
            sprintf(lines + strlen(lines),
                    "alloc %d %dMiB 0 m.py:7:layer\n"
                    "free_requested %d %dMiB\nfree_completed %d %dMiB\n",
                    k * 64, k * 16, k * 64, k * 16, k * 64, k * 16);
    }
    s = made_snapshot(lines, NULL);
    assert_true(lifetimes_make(s, 0, &l, &error));
    assert_true(iterations_find(&l, &it, &error));
    assert_int_equal(it.count, 8);
    assert_int_equal(it.begin[0], 1);
    assert_int_equal(it.begin[1], 16);
    iterations_free(&it);
    lifetimes_free(&l);
    snapshot_free(s);
}

/* Each state of the run appears in one column, in proportion. */
static void columns_cover_the_run(void **state)
{
    enum { EVENTS = 100 };
    char lines[8192] = "";
    uint64_t expected[RUN_COLUMNS] = {0};
    struct snapshot *s;
    struct lifetimes l;
    struct run_summary r;
    struct tool_error error;
    int i;

    (void)state;
    for (i = 0; i < EVENTS; i++)
        sprintf(lines + strlen(lines), "alloc %d 1MiB 0 m.py:7:layer\n", i);
    for (i = 0; i <= EVENTS; i++)
        expected[i * RUN_COLUMNS / (EVENTS + 1)] = MIB(i);
    s = made_snapshot(lines, NULL);
    assert_true(lifetimes_make(s, 0, &l, &error));
    assert_true(run_summary_make(&l, &r, &error));
    for (i = 0; i < RUN_COLUMNS; i++)
        assert_int_equal(r.allocated[i], expected[i]);
    assert_int_equal(r.peak_state, EVENTS);
    run_summary_free(&r);
    lifetimes_free(&l);
    snapshot_free(s);
}

static void growing_requests_are_found(void **state)
{
    char lines[4096] = "segment_alloc 0 4GiB\n";
    int i;

    (void)state;
    for (i = 0; i < 20; i++)
        sprintf(lines + strlen(lines), "alloc %d %dKiB 0 cache.py:3:cat\n",
                i * 40, 20000 + i * 100);
    assert_true(is_found(lines, "Requests that grow: from 19.5 MiB to "));
    strcpy(lines, "segment_alloc 0 4GiB\n");
    for (i = 0; i < 20; i++)
        sprintf(lines + strlen(lines), "alloc %d %dKiB 0 cache.py:3:cat\n",
                i * 40, 20000 + i * 100 - i % 4 * 400);
    assert_false(is_found(lines, "Requests that grow"));
}

/* A value that a name keeps until the next iteration rebinds it. */
static void late_frees_are_found(void **state)
{
    char lines[8192] = "segment_alloc 0 4GiB\n";
    int i;
    int k;

    (void)state;
    for (i = 0; i < 8; i++) {
        sprintf(lines + strlen(lines), "alloc %d 40MiB 0 train.py:9:forward\n",
                i % 2 * 50);
        for (k = 0; k < 12; k++)
            strcat(lines, "alloc 200 60MiB 0 m.py:7:layer\n"
                          "free_requested 200 60MiB\n");
        if (i > 0)
            sprintf(lines + strlen(lines), "free_requested %d 40MiB\n",
                    (i - 1) % 2 * 50);
    }
    strcat(lines, "free_requested 50 40MiB\n");
    assert_true(is_found(lines, "80.0 MiB at the peak was freed later"));
}

static void unused_memory_is_found(void **state)
{
    (void)state;
    assert_true(is_found("segment_alloc 0 20MiB\nalloc 0 10MiB\n",
                         "10.0 MiB reserved but not in use"));
    assert_false(is_found("segment_alloc 0 20MiB\nalloc 0 20MiB\n",
                          "reserved but not in use"));
}

static void a_stranded_stream_is_found(void **state)
{
    (void)state;
    assert_true(is_found("segment_alloc 0 20MiB 0\nalloc 0 20MiB 0\n"
                         "segment_alloc 20 20MiB 5\nalloc 20 2MiB 5\n"
                         "free_requested 20 2MiB 5\nfree_completed 20 2MiB 5\n"
                         "segment_alloc 40 20MiB 0\nalloc 40 20MiB 0\n",
                         "20.0 MiB stranded on stream 5"));
}

/* ---- categories -------------------------------------------------------------------- */

/* Of the first allocation in the lines. */
static enum report_category category_of(const char *lines)
{
    struct snapshot *s = made_snapshot(lines, NULL);
    struct lifetimes l;
    struct tool_error error;
    uint8_t categories[64];
    bool trains;

    assert_true(lifetimes_make(s, 0, &l, &error));
    assert_true(l.alloc_count <= sizeof(categories));
    assert_true(report_categorize(&l, categories, &trains, &error));
    lifetimes_free(&l);
    snapshot_free(s);
    return (enum report_category)categories[0];
}

static void frames_and_lifetimes_tell_what_memory_is_for(void **state)
{
    static const char rest[] = "alloc 100 1MiB\nalloc 200 1MiB\n";
    char lines[512];

    (void)state;
#define MADE_BY(frames)                                                        \
    (sprintf(lines, "alloc 0 1MiB 0 %s\n%s", frames, rest), category_of(lines))
    assert_int_equal(MADE_BY("m.py:1:__init__"), REPORT_WEIGHTS);
    assert_int_equal(MADE_BY("torch/optim/adam.py:1:f|train.py:2:step"),
                     REPORT_OPTIMIZER);
    assert_int_equal(MADE_BY("??:0:MmBackward0::apply()"), REPORT_GRADIENTS);
    assert_int_equal(MADE_BY("m.py:1:forward"), REPORT_ACTIVATIONS);
    /* Memory recomputed by checkpointing. */
    assert_int_equal(MADE_BY("m.py:1:forward|c.py:2:backward"),
                     REPORT_ACTIVATIONS);
    assert_int_equal(MADE_BY("main.py:1:main"), REPORT_OTHER);
#undef MADE_BY
    assert_int_equal(category_of("alloc 0 1MiB 0 m.py:1:forward\n"
                                 "free_requested 0 1MiB\nalloc 1 1MiB\n"),
                     REPORT_TEMPORARIES);
}

/* ---- words ------------------------------------------------------------------------ */

static void sizes_are_told_in_words(void **state)
{
    char buf[REPORT_WORD];

    (void)state;
    assert_string_equal(report_bytes(0, buf), "0 B");
    assert_string_equal(report_bytes(1023, buf), "1023 B");
    assert_string_equal(report_bytes(1536, buf), "1.50 KiB");
    assert_string_equal(report_bytes(MIB(20), buf), "20.0 MiB");
    assert_string_equal(report_bytes((uint64_t)200 << 30, buf), "200 GiB");
    assert_string_equal(report_bytes(UINT64_MAX, buf), "16384 PiB");
    assert_string_equal(report_time(40, buf), "40 µs");
    assert_string_equal(report_time(1500, buf), "1.5 ms");
}

/* The line to which the report attributes a stack's first allocation. */
static void line_is(const char *frames, const char *expected)
{
    char lines[512];
    char buf[REPORT_FRAME];
    struct snapshot *s;

    sprintf(lines, "alloc 0 1MiB 0 %s\n", frames);
    s = made_snapshot(lines, NULL);
    assert_string_equal(
        report_frame(s, report_own_frame(s, s->events[0].stack), false, buf),
        expected);
    snapshot_free(s);
}

static void the_line_is_the_programs_own(void **state)
{
    (void)state;
    line_is("/p/site-packages/torch/nn/m.py:3:call|/home/me/a.py:7:train",
            "a.py:7 train");
    line_is("v\\\\site-packages\\\\torch\\\\m.py:3:f|me\\\\a.py:7:train",
            "a.py:7 train");
    line_is("/p/torch/m.py:3:call|/p/site-packages/x/y.py:4:run", "y.py:4 run");
    /* A package's helper is skipped; a library of models is not. */
    line_is("/p/site-packages/e/b.py:2:einsum|/home/me/a.py:7:train",
            "a.py:7 train");
    line_is("/p/site-packages/t/m.py:1:mlp|/p/site-packages/t/m.py:2:layer|"
            "/p/site-packages/t/m.py:3:model|/home/me/a.py:7:train",
            "m.py:1 mlp");
    /* Python's own library is skipped. */
    line_is("/usr/lib/python3.11/threading.py:9:run|/home/me/a.py:7:train",
            "a.py:7 train");
    line_is("/usr/lib/python3.11/threading.py:9:run|/p/torch/m.py:3:call",
            "m.py:3 call");
    /* Cells of notebooks have numbers. */
    line_is("<ipython-input-12-f00>:3:<module>", "cell 12:3 <module>");
    line_is("/tmp/ipykernel_31/77.py:5:<module>", "cell 1:5 <module>");
    line_is("??:0:unwind()|a.cpp:0:c10::cuda::malloc(int)|??:0:at::mm(int)",
            "at::mm");
    line_is("??:0:at::mm(int)|??:0:gen::MmBackward0::apply(x)|??:0:clone",
            "MmBackward0 of the backward pass");
}

/* A kernel names its cells by their content; the report numbers them. */
static void cells_are_numbered_as_they_come(void **state)
{
    static const char *const expected[] = {"cell 1:5 <module>",
                                           "cell 2:6 <module>", "cell 1:9 f",
                                           "cell 3:1 <module>"};
    struct snapshot *s =
        made_snapshot("alloc 0 1MiB 0 /tmp/ipykernel_31/77.py:5:<module>\n"
                      "alloc 1 1MiB 0 /tmp/ipykernel_31/88.py:6:<module>\n"
                      "alloc 2 1MiB 0 /tmp/ipykernel_31/77.py:9:f\n"
                      "alloc 3 1MiB 0 /tmp/ipykernel_31/99.py:1:<module>\n",
                      NULL);

    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        char buf[REPORT_FRAME];
        uint32_t frame = report_own_frame(s, s->events[i].stack);

        assert_string_equal(report_frame(s, frame, false, buf), expected[i]);
    }
    snapshot_free(s);
}

static void a_time_no_clock_shows_is_cut_down(void **state)
{
    (void)state;
    assert_int_equal(report_elapsed(5, 9), 4);
    assert_int_equal(report_elapsed(9, 5), -4);
    assert_int_equal(report_elapsed(INT64_MIN, INT64_MAX), INT64_MAX);
    assert_int_equal(report_elapsed(INT64_MAX, INT64_MIN), -INT64_MAX);
}

/* ---- texts of strangers ----------------------------------------------------- */

/* Cut inside a character, half of a pair, a control character. */
static void shown_text_has_no_escapes_or_broken_characters(void **state)
{
    char text[] = "a\xc3\xa9 b\xc3 \xed\xa0\x80 \x1b[31m \xe2\x82";

    (void)state;
    report_defuse(text);
    assert_string_equal(text, "a\xc3\xa9 b? ??? ?[31m ??");
}

static void a_files_name_is_harmless(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    assert_non_null(out);
    report_put_name(out, "run\x1b[31m\n\xc3.pickle");
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, "run?[31m ?.pickle");
    free(text);
}

/* Only the ends of a long name are read: there is nothing between them. */
static void of_a_long_name_only_the_ends_are_read(void **state)
{
    enum { LENGTH = 10 << 20, END = 1 << 16 };
    char *bytes =
        mmap(NULL, LENGTH, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t begins[] = {0, LENGTH};
    struct snapshot_frame frame = {0};
    struct snapshot s = {
        .string_bytes = bytes,
        .string_begins = begins,
        .string_count = 1,
        .frames = &frame,
        .frame_count = 1,
    };
    char shown[REPORT_FRAME];

    (void)state;
    assert_ptr_not_equal(bytes, MAP_FAILED);
    assert_int_equal(mprotect(bytes, END, PROT_READ | PROT_WRITE), 0);
    assert_int_equal(
        mprotect(bytes + LENGTH - END, END, PROT_READ | PROT_WRITE), 0);
    memset(bytes, 'x', END);
    memset(bytes + LENGTH - END, 'x', END);
    bytes[LENGTH - 1] = '\0';
    assert_int_equal(frame_kind_of(&s, 0), FRAME_COMPILED);
    report_frame(&s, 0, false, shown);
    assert_int_equal(strlen(shown), 300 + 1 + 60);
    munmap(bytes, LENGTH);
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
        cmocka_unit_test(a_leak_is_found_and_no_other_is),
        cmocka_unit_test(repeats_are_found),
        cmocka_unit_test(repeats_are_told_apart_by_size),
        cmocka_unit_test(columns_cover_the_run),
        cmocka_unit_test(growing_requests_are_found),
        cmocka_unit_test(late_frees_are_found),
        cmocka_unit_test(unused_memory_is_found),
        cmocka_unit_test(a_stranded_stream_is_found),
        cmocka_unit_test(frames_and_lifetimes_tell_what_memory_is_for),
        cmocka_unit_test(sizes_are_told_in_words),
        cmocka_unit_test(the_line_is_the_programs_own),
        cmocka_unit_test(cells_are_numbered_as_they_come),
        cmocka_unit_test(a_time_no_clock_shows_is_cut_down),
        cmocka_unit_test(shown_text_has_no_escapes_or_broken_characters),
        cmocka_unit_test(a_files_name_is_harmless),
        cmocka_unit_test(of_a_long_name_only_the_ends_are_read),
    };

    libc_guard(true);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
