/* test_snapshot_memory.c - snapshots while one host allocation after the other
 * fails: each is read, written and analysed all the same, or an error says that
 * memory is short, and nothing is kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "snapshot/lifetimes.h"
#include "snapshot/notes_as_stacks.h"
#include "support/snapshot_bytes.h"
#include "snapshot/snapshot_conf.h"
#include "snapshot/snapshot_write.h"
#include "support/digest.h"
#include "support/made_program.h"
#include "support/memory_sweep.h"
#include "support/pickled.h"

/* Programs of each kind, among them one without stacks. */
static const uint64_t seeds[] = {3, 5, 6, 9};

struct work {
    const void *bytes;
    size_t count;
    const struct snapshot *s;
    FILE *out; /* takes no memory */
};

static struct tool_error error;

static bool no_memory(struct tool_error *e)
{
    tool_set_error(e, "no memory");
    return false;
}

/* ---- reading --------------------------------------------------------------- */

static void add_event(uint64_t *sum, const struct snapshot_event *e)
{
    const uint64_t values[] = {
        e->address, e->size, (uint64_t)e->time_us,
        e->stack,   e->pool, e->user_metadata,
    };

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        digest_number(sum, values[i]);
}

/* Of what was read; it takes no memory. */
static uint64_t sum_of(const struct snapshot *s)
{
    uint64_t sum = DIGEST_BEGIN;

    digest_number(&sum, s->segment_count);
    digest_number(&sum, s->block_count);
    for (size_t i = 0; i < s->event_end; i++)
        add_event(&sum, &s->events[i]);
    for (uint64_t i = 0; i < s->stack_begins[s->stack_count]; i++)
        digest_number(&sum, s->stack_frames[i]);
    for (size_t i = 0; i < s->frame_count; i++) {
        digest_number(&sum, s->frames[i].name);
        digest_number(&sum, s->frames[i].line);
    }
    digest_bytes(&sum, s->string_bytes, s->string_begins[s->string_count]);
    return sum;
}

static uint64_t sum_wanted;

static bool read_it(const void *what, struct tool_error *e)
{
    const struct work *w = what;
    struct snapshot *s;

    if (!snapshot_read_bytes(w->bytes, w->count, NULL, &s, e))
        return false;
    if (sum_wanted == 0)
        sum_wanted = sum_of(s);
    assert_int_equal(sum_of(s), sum_wanted);
    snapshot_free(s);
    return true;
}

/* A failure leaves the snapshot as it was. */
static bool read_with_notes(const void *what, struct tool_error *e)
{
    const struct work *w = what;
    struct snapshot *s;
    bool fine;

    if (!snapshot_read_bytes(w->bytes, w->count, NULL, &s, e))
        return false;
    fine = snapshot_notes_as_stacks(s, e);
    if (!fine)
        assert_int_equal(sum_of(s), sum_wanted);
    snapshot_free(s);
    return fine;
}

/* ---- with what was read ---------------------------------------------------- */

static bool write_pickle(const void *what, struct tool_error *e)
{
    const struct work *w = what;

    return snapshot_write_pickle(w->s, w->out, e);
}

static bool write_json(const void *what, struct tool_error *e)
{
    const struct work *w = what;

    return snapshot_write_json(w->s, w->out, e);
}

static bool make_lifetimes(const void *what, struct tool_error *e)
{
    const struct work *w = what;
    struct arena arena = {.error = e};
    uint32_t numbers[2] = {1, 0};
    const struct lifetimes *l;
    uint32_t state;

    if (setjmp(arena.failed) != 0)
        return arena_end(&arena, false);
    l = lifetimes_take(&arena, w->s, 0);
    (void)lifetimes_peak(&arena, l, CURVE_ALLOCATED, &state);
    if (l->alloc_count >= 2)
        lifetimes_by_address(&arena, l, numbers, 2);
    return arena_end(&arena, true);
}

static bool make_conf(const void *what, struct tool_error *e)
{
    const struct work *w = what;
    uint64_t segment_bytes;
    uint64_t page_bytes;
    char *conf = snapshot_conf(w->s, NULL);
    bool fine = conf != NULL &&
                snapshot_segment(w->s, 1000, &segment_bytes, &page_bytes);

    free(conf);
    return fine || no_memory(e);
}

/* ---- sweeps ---------------------------------------------------------------- */

static void sweep(sweep_task *task, const struct work *w)
{
    assert_true(task(w, &error));
    assert_fails_cleanly(task, w, false, 0);
    assert_fails_cleanly(task, w, true, 0);
}

static void sweep_file(struct work w)
{
    struct snapshot *s;

    sum_wanted = 0;
    assert_true(snapshot_read_bytes(w.bytes, w.count, NULL, &s, &error));
    w.s = s;
    sweep(read_it, &w);
    sweep(read_with_notes, &w);
    sweep(write_pickle, &w);
    sweep(write_json, &w);
    sweep(make_lifetimes, &w);
    sweep(make_conf, &w);
    snapshot_free(s);
}

static void work_without_memory_fails_cleanly(void **state)
{
    FILE *out = fopen("/dev/null", "w");

    (void)state;
    assert_non_null(out);
    assert_int_equal(setvbuf(out, NULL, _IONBF, 0), 0);
    for (size_t i = 0; i < sizeof seeds / sizeof seeds[0]; i++) {
        json_t *document = made_document(seeds[i]);
        char *text = json_dumps(document, 0);
        struct work w = {.bytes = text, .count = strlen(text), .out = out};

        sweep_file(w);
        free(text);
        text = (char *)pickled(document, i, &w.count);
        w.bytes = text;
        sweep_file(w);
        free(text);
        json_decref(document);
    }
    fclose(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_without_memory_fails_cleanly),
    };

    if (!LIBC_FAULTS)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
