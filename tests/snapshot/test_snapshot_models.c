/* test_snapshot_models.c - what lifetimes and readers are built on, against naive
 * models: the map of addresses, the spans of reserved memory, the hash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "snapshot/address_map.h"
#include "snapshot/snap_table.h"
#include "snapshot/spans.h"
#include "support/guarded.h"
#include "support/random.h"

/* ---- addresses ------------------------------------------------------------- */

enum { ADDRESSES = 3000, STEPS = 20000 };

/* 0, what new memory is filled with (libc_faults.h), and multiples of 512. */
static uint64_t address_of(unsigned i)
{
    if (i < 2)
        return i == 0 ? 0 : UINT64_C(0xa5a5a5a5a5a5a5a5);
    return (uint64_t)i * 512;
}

static void a_map_finds_what_was_put_last(void **state)
{
    uint32_t *wanted = malloc(ADDRESSES * sizeof *wanted);
    struct address_map m = {0};
    uint64_t seed = 1;

    (void)state;
    for (unsigned i = 0; i < ADDRESSES; i++)
        wanted[i] = ADDRESS_MAP_NONE;
    assert_int_equal(address_map_get(&m, 0), ADDRESS_MAP_NONE);
    assert_int_equal(address_map_take(&m, 0), ADDRESS_MAP_NONE);
    for (uint32_t step = 0; step < STEPS; step++) {
        /* At first few addresses, which are put and taken often. */
        unsigned i = random_u32(&seed, step < STEPS / 4 ? 20 : ADDRESSES);

        if (random_u32(&seed, 3) == 0) {
            assert_int_equal(address_map_take(&m, address_of(i)), wanted[i]);
            wanted[i] = ADDRESS_MAP_NONE;
        } else {
            assert_true(address_map_put(&m, address_of(i), step));
            wanted[i] = step;
        }
        i = random_u32(&seed, ADDRESSES);
        assert_int_equal(address_map_get(&m, address_of(i)), wanted[i]);
    }
    for (unsigned i = 0; i < ADDRESSES; i++)
        assert_int_equal(address_map_get(&m, address_of(i)), wanted[i]);
    /* It holds no more room than four times what it has. */
    assert_true(m.capacity <= 4 * m.used);
    address_map_free(&m);
    assert_int_equal(m.capacity + m.used, 0);
    free(wanted);
}

/* ---- spans ----------------------------------------------------------------- */

enum { PAGES = 40, EVENTS = 60, PIECES_MAX = 4096 };

/* One page of reserved memory, from when to when. */
struct piece {
    unsigned page;
    uint32_t start;
    uint32_t end;
    uint32_t stack;
};

struct pieces {
    struct piece at[PIECES_MAX];
    size_t count;
};

struct page {
    bool live;
    struct piece piece;
};

static void add_piece(struct pieces *p, struct piece piece)
{
    assert_true(p->count < PIECES_MAX);
    p->at[p->count++] = piece;
}

static int by_page(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct piece));
}

/* Each page of each span. */
static void pieces_of(const struct lifetimes *l, struct pieces *out)
{
    out->count = 0;
    for (size_t i = 0; i < l->span_count; i++) {
        const struct segment_span *s = &l->spans[i];

        assert_true(s->size > 0);
        for (uint64_t k = 0; k < s->size; k++)
            add_piece(out, (struct piece){(unsigned)(s->address + k), s->start,
                                          s->end, s->stack});
    }
}

/* A range is reserved, released or filled, page by page. */
static void model_step(struct page *pages, struct pieces *ended, unsigned what,
                       const struct segment_span *span, uint32_t event)
{
    for (uint64_t k = span->address; k < span->address + span->size; k++) {
        struct page *page = &pages[k];
        struct piece fresh = {(unsigned)k, span->start, span->end, span->stack};

        if (page->live && what < 2) {
            page->piece.end = event;
            add_piece(ended, page->piece);
        } else if (what == 1) {
            fresh.end = event;
            add_piece(ended, fresh);
        }
        if (what == 0 || (what == 2 && !page->live))
            *page = (struct page){true, fresh};
        else if (what == 1)
            page->live = false;
    }
}

static void run_spans(uint64_t seed, struct lifetimes *l, struct pieces *wanted)
{
    struct arena arena = {.error = NULL};
    struct span_set set = {.arena = &arena, .out = l};
    struct page pages[PAGES] = {{false, {0}}};

    wanted->count = 0;
    for (uint32_t event = 0; event < EVENTS; event++) {
        unsigned what = random_u32(&seed, 3);
        unsigned from = random_u32(&seed, PAGES);
        struct segment_span span = {
            .address = from,
            .size = random_u32(&seed, 4) == 0
                        ? 0
                        : 1 + random_u32(&seed, PAGES - from),
            .start = what == 0 ? event : LIFETIME_BEFORE,
            .end = EVENTS,
            .stack = event,
        };

        if (what == 0)
            span_set_add(&set, &span);
        else if (what == 1)
            span_set_remove(&set, &span, event);
        else
            span_set_fill(&set, &span);
        model_step(pages, wanted, what, &span, event);
    }
    for (unsigned k = 0; k < PAGES; k++) {
        if (pages[k].live)
            add_piece(wanted, pages[k].piece);
    }
    span_set_free(&set);
}

static void spans_are_what_each_page_went_through(void **state)
{
    static struct pieces wanted;
    static struct pieces got;

    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct lifetimes l = {.event_count = EVENTS};

        run_spans(seed, &l, &wanted);
        pieces_of(&l, &got);
        assert_int_equal(got.count, wanted.count);
        qsort(got.at, got.count, sizeof got.at[0], by_page);
        qsort(wanted.at, wanted.count, sizeof wanted.at[0], by_page);
        assert_memory_equal(got.at, wanted.at, got.count * sizeof got.at[0]);
        free(l.spans);
    }
}

/* No address is beyond the last one. */
static void a_range_beyond_all_addresses_is_none(void **state)
{
    struct arena arena = {.error = NULL};
    struct lifetimes l = {.event_count = 1};
    struct span_set set = {.arena = &arena, .out = &l};
    struct segment_span span = {.address = UINT64_MAX - 9, .size = 10};

    (void)state;
    span_set_add(&set, &span);
    span_set_remove(&set, &span, 0);
    span_set_fill(&set, &span);
    assert_int_equal(l.span_count, 0);
    span.size = 9;
    span_set_add(&set, &span);
    assert_int_equal(l.span_count, 1);
    span_set_free(&set);
    free(l.spans);
}

/* ---- the hash -------------------------------------------------------------- */

/* Of 16 thousand pairs one may collide by chance. */
static void a_bit_makes_another_hash(void **state)
{
    unsigned collisions = 0;

    (void)state;
    for (size_t length = 1; length <= 60; length++) {
        unsigned char *text = malloc(length);
        uint32_t hash;

        memset(text, 0, length);
        hash = snap_hash(text, length);
        assert_int_equal(snap_hash(text, length), hash);
        for (size_t bit = 0; bit < 8 * length; bit++) {
            text[bit / 8] ^= (unsigned char)(1 << bit % 8);
            collisions += snap_hash(text, length) == hash;
            text[bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
        collisions += snap_hash(text, length - 1) == hash;
        free(text);
    }
    assert_true(collisions <= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_finds_what_was_put_last),
        cmocka_unit_test(spans_are_what_each_page_went_through),
        cmocka_unit_test(a_range_beyond_all_addresses_is_none),
        cmocka_unit_test(a_bit_makes_another_hash),
    };

    return run_guarded_tests(tests);
}
