/* test_sums.c - of made-up programs: lifetimes, curves, moments and groups are
 * what a plain count over the document's events, or over all lives, gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "made_ranks.h"
#include "report/groups.h"
#include "report/summary_of_run.h"
#include "support/made_program.h"

enum { PROGRAMS = 60 };

/* ---- lifetimes ------------------------------------------------------------- */

/* A life as the events alone tell it. */
struct plain_life {
    uint64_t address;
    uint64_t size;
    uint32_t start;
    uint32_t end;
    uint32_t done;
};

struct plain_lives {
    struct plain_life *at;
    size_t count;
    uint32_t events;
};

static bool is_action(const json_t *event, const char *action)
{
    return strcmp(json_string_value(json_object_get(event, "action")),
                  action) == 0;
}

static struct plain_life *add_life(struct plain_lives *p, const json_t *event,
                                   uint32_t start)
{
    struct plain_life *life = &p->at[p->count++];

    life->address =
        (uint64_t)json_integer_value(json_object_get(event, "addr"));
    life->size = (uint64_t)json_integer_value(json_object_get(event, "size"));
    life->start = start;
    life->end = life->done = p->events;
    return life;
}

/* The last life at the event's address of which `end` or `done` is open. */
static struct plain_life *open_life(struct plain_lives *p, const json_t *event,
                                    bool ended)
{
    uint64_t address =
        (uint64_t)json_integer_value(json_object_get(event, "addr"));

    for (size_t i = p->count; i-- > 0;) {
        struct plain_life *life = &p->at[i];

        if (life->address == address && life->done == p->events &&
            (life->end != p->events) == ended)
            return life;
    }
    return NULL;
}

static void take_event(struct plain_lives *p, const json_t *event, uint32_t i)
{
    struct plain_life *life;

    if (is_action(event, "alloc")) {
        add_life(p, event, i);
    } else if (is_action(event, "free_requested")) {
        life = open_life(p, event, false);
        if (life == NULL)
            life = add_life(p, event, LIFETIME_BEFORE);
        life->end = i;
    } else if (is_action(event, "free_completed")) {
        life = open_life(p, event, true);
        if (life == NULL) {
            /* Freed before the recording, and pending since then. */
            life = add_life(p, event, LIFETIME_BEFORE);
            life->end = LIFETIME_BEFORE;
        }
        life->done = i;
    }
}

/* One life of the events is one of lifetimes; what these have besides existed
 * before the first event, to the end. */
static void must_match(const struct lifetimes *l, const struct plain_lives *p)
{
    size_t matched = 0;

    for (size_t k = 0; k < p->count; k++) {
        const struct plain_life *life = &p->at[k];
        size_t found = 0;

        for (size_t i = 0; i < l->alloc_count; i++) {
            const struct lifetime *a = &l->allocs[i];

            found += a->address == life->address &&
                     a->requested == life->size && a->start == life->start &&
                     a->end == life->end && a->done == life->done;
        }
        assert_int_equal(found, 1);
        matched++;
    }
    for (size_t i = 0; i < l->alloc_count; i++) {
        const struct lifetime *a = &l->allocs[i];
        bool is_old = a->start == LIFETIME_BEFORE && a->done == l->event_count;

        assert_int_equal(a->start == LIFETIME_BEFORE, i < l->before_count);
        matched +=
            is_old && (a->end == l->event_count || a->end == LIFETIME_BEFORE);
    }
    assert_int_equal(matched, l->alloc_count);
}

static void lifetimes_are_those_of_the_events(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        json_t *document = made_document(seed);
        struct snapshot *s = made_program_snapshot(seed);
        json_t *traces = json_object_get(document, "device_traces");

        for (size_t d = 0; d < json_array_size(traces); d++) {
            json_t *trace = json_array_get(traces, d);
            struct plain_lives p = {.events = (uint32_t)json_array_size(trace)};
            struct tool_error error;
            struct lifetimes l;

            p.at = calloc(p.events + 1, sizeof *p.at);
            assert_non_null(p.at);
            for (uint32_t i = 0; i < p.events; i++)
                take_event(&p, json_array_get(trace, i), i);
            assert_true(lifetimes_make(s, d, &l, &error));
            must_match(&l, &p);
            lifetimes_free(&l);
            free(p.at);
        }
        snapshot_free(s);
        json_decref(document);
    }
}

/* ---- sums ------------------------------------------------------------------ */

struct sums {
    uint64_t allocated;
    uint64_t requested;
    uint64_t pending;
    uint64_t reserved;
    size_t live;
};

static struct sums sums_at(const struct lifetimes *l, uint32_t state)
{
    struct sums sum = {0};

    for (size_t i = 0; i < l->alloc_count; i++) {
        const struct lifetime *a = &l->allocs[i];
        bool began = a->start == LIFETIME_BEFORE || a->start < state;
        bool used = began && a->end != LIFETIME_BEFORE && a->end >= state;

        sum.allocated += used ? a->rounded : 0;
        sum.requested += used ? a->requested : 0;
        sum.pending += began && !used && a->done >= state ? a->rounded : 0;
        sum.live += began && a->done >= state;
    }
    for (size_t i = 0; i < l->span_count; i++) {
        const struct segment_span *span = &l->spans[i];

        if ((span->start == LIFETIME_BEFORE || span->start < state) &&
            span->end >= state)
            sum.reserved += span->size;
    }
    return sum;
}

static void must_add_up(const struct moment *m, const struct report_group *g,
                        size_t count)
{
    uint64_t bytes = 0;
    uint64_t requested = 0;

    for (size_t i = 0; i < count; i++) {
        bytes += g[i].bytes;
        requested += g[i].requested;
        assert_true(i == 0 || g[i].bytes <= g[i - 1].bytes);
    }
    assert_int_equal(bytes, m->allocated);
    assert_int_equal(requested, m->requested);
}

/* Areas and gaps fill the reserved memory, but for what lies outside. */
static void must_fill(const struct moment *m)
{
    uint64_t largest;
    uint64_t gaps = moment_gap_bytes(m, &largest);
    struct moment_area sum = {.size = 0};
    uint64_t max = 0;

    for (size_t i = 0; i < m->area_count; i++) {
        const struct moment_area *a = &m->areas[i];

        sum.size += a->size;
        sum.allocated += a->allocated;
        sum.pending += a->pending;
        max = a->largest_gap > max ? a->largest_gap : max;
        assert_int_equal(moment_area_free(a),
                         a->size - a->allocated - a->pending);
    }
    assert_int_equal(sum.size, m->reserved);
    if (m->outside == 0) {
        assert_int_equal(sum.allocated, m->allocated);
        assert_int_equal(sum.pending, m->pending);
    }
    assert_int_equal(largest, max);
    assert_int_equal(gaps,
                     m->reserved - (m->allocated + m->pending - m->outside));
}

static void check_moment(struct arena *arena, const struct run_summary *r,
                         uint32_t state)
{
    const struct sums sum = sums_at(r->lifetimes, state);
    struct moment m;

    moment_make(arena, r->lifetimes, state, &m);
    assert_int_equal(m.allocated, sum.allocated);
    assert_int_equal(m.requested, sum.requested);
    assert_int_equal(m.pending, sum.pending);
    assert_int_equal(m.reserved, sum.reserved);
    assert_int_equal(m.live_count, sum.live);
    must_fill(&m);
    for (unsigned by = 0; by < 3; by++) {
        struct report_groups groups =
            report_groups_make(arena, &m, (enum group_by)by, r->categories);

        must_add_up(&m, groups.items, groups.count);
    }
}

static void check_run(struct arena *arena, const struct run_summary *r)
{
    uint64_t peaks[3] = {0};

    for (uint32_t state = 0; state <= r->lifetimes->event_count; state++) {
        const struct sums sum = sums_at(r->lifetimes, state);
        const uint64_t now[3] = {sum.requested, sum.allocated, sum.reserved};

        for (size_t i = 0; i < 3; i++)
            peaks[i] = now[i] > peaks[i] ? now[i] : peaks[i];
        if (state % 7 == 0 || state == r->peak_state)
            check_moment(arena, r, state);
    }
    assert_int_equal(r->peak_requested, peaks[0]);
    assert_int_equal(r->peak_allocated, peaks[1]);
    assert_int_equal(r->peak_reserved, peaks[2]);
    assert_int_equal(sums_at(r->lifetimes, r->peak_state).allocated, peaks[1]);
}

static void check_snapshot(const struct snapshot *s)
{
    struct tool_error error;
    struct arena arena = {.error = &error};

    if (setjmp(arena.failed) != 0)
        fail_msg("%s", error.text);
    for (size_t d = 0; d < lifetimes_device_count(s); d++)
        check_run(&arena, run_summary_of(&arena, s, d));
    arena_end(&arena, true);
}

static void moments_are_sums_of_what_lives(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        struct snapshot *s = made_program_snapshot(seed);

        check_snapshot(s);
        snapshot_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lifetimes_are_those_of_the_events),
        cmocka_unit_test(moments_are_sums_of_what_lives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
