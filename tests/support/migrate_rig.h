/* migrate_rig.h - memory that is mostly free, but without a free handle: four
 * handles of eight pages with one page in use each, and a limit that allows no
 * more. */
#pragma once

#include <larder/migrate.h>

#include "rig.h"

enum { HANDLES = 4, HANDLE_PAGES = 8, LIVE_STREAM = 0, OTHER_STREAM = 1 };

/* One page in use in each handle, and holes_beside(). */
enum { LIVES = HANDLES + 1 };

/* Handles of eight pages each. */
#define MIGRATE_CONF "handle_mib:16"
#define MIGRATE_SPEC "sim:40GiB,context=0"

struct holes {
    struct rig rig;
    larder_addr live[LIVES]; /* a page each; 0: none, or freed */
    uint64_t salt[LIVES];    /* of their contents */
};

static inline uint64_t *holes_word(larder_addr addr, size_t i)
{
    return (uint64_t *)(uintptr_t)addr + i;
}

enum { PAGE_WORDS = (2 << 20) / sizeof(uint64_t), PAGE_STEP = 4096 };

/* A unique word every 32 KiB. */
static inline void holes_write_one(const struct holes *h, int n)
{
    for (size_t i = 0; h->live[n] != 0 && i < PAGE_WORDS; i += PAGE_STEP)
        *holes_word(h->live[n], i) = h->live[n] + h->salt[n] + i;
}

static inline void holes_write(const struct holes *h)
{
    for (int n = 0; n < LIVES; n++)
        holes_write_one(h, n);
}

static inline void holes_verify_one(const struct holes *h, int n)
{
    for (size_t i = 0; h->live[n] != 0 && i < PAGE_WORDS; i += PAGE_STEP)
        assert_int_equal(*holes_word(h->live[n], i),
                         h->live[n] + h->salt[n] + i);
}

static inline void holes_verify(const struct holes *h)
{
    for (int n = 0; n < LIVES; n++)
        holes_verify_one(h, n);
}

/* Limit the allocator to what it holds and `more`. */
static inline void holes_limit(struct holes *h, uint64_t more)
{
    char limit[40];

    (void)snprintf(limit, sizeof limit, "limit:%llu",
                   (unsigned long long)(rig_reserved(&h->rig) + more));
    assert_ok(larder_configure(h->rig.a, limit));
}

/* The page in use is in the middle of the handle. */
static inline struct holes holes_up(const char *spec, const char *conf,
                                    uint64_t more)
{
    struct holes h = {
        .rig = rig_up_policy(spec, LARDER_POLICY_LARDER, MIGRATE_CONF)};
    larder_addr all[HANDLES * HANDLE_PAGES];

    for (int i = 0; i < HANDLES * HANDLE_PAGES; i++)
        all[i] = rig_alloc_on(&h.rig, MIB(2), LIVE_STREAM);
    for (int i = 0; i < HANDLES * HANDLE_PAGES; i++) {
        if (i % HANDLE_PAGES == 3)
            h.live[i / HANDLE_PAGES] = all[i];
        else
            rig_free(&h.rig, all[i]);
    }
    assert_int_equal(rig_reserved(&h.rig), MIB(2) * HANDLES * HANDLE_PAGES);
    assert_int_equal(rig_usage(h.rig.dev).pages, HANDLES);
    holes_limit(&h, more);
    assert_ok(larder_configure(h.rig.a, conf));
    return h;
}

/* A second page in use in the first handle, apart from the other. */
static inline void holes_beside(struct holes *h)
{
    h->live[HANDLES] = rig_alloc_on(&h->rig, MIB(2), LIVE_STREAM);
    assert_int_equal(h->live[HANDLES] + MIB(6), h->live[0]);
}

/* All free memory together. */
#define HOLES_FREE (MIB(2) * HANDLES * (HANDLE_PAGES - 1))

static inline larder_result holes_ask(struct holes *h, uint64_t bytes,
                                      larder_addr *out)
{
    return larder_alloc(h->rig.a, bytes, OTHER_STREAM, out);
}
