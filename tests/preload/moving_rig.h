/* moving_rig.h - 256 MiB of memory that is mostly free, but without a free
 * handle, under LARDER_PRELOAD=cache,migrate. */
#pragma once

#include "preload_rig.h"

/* Blocks of one page: one of four is in use, so that no handle is free,
 * although three quarters of the device are. */
enum { BLOCKS = 112, KEPT_EVERY = 4, KEPT = BLOCKS / KEPT_EVERY };

#define PAGE MIB(2)
/* More than the rest of the device and all whole free handles. */
#define WANTED (MIB(256) / 2)

struct holes {
    cud_addr kept[KEPT];
};

static inline unsigned char byte_of(int i)
{
    return (unsigned char)(i + 1);
}

static inline struct holes holes_make(void)
{
    struct holes h;
    cud_addr all[BLOCKS];

    for (int i = 0; i < BLOCKS; i++)
        all[i] = allocate(PAGE);
    for (int i = 0; i < BLOCKS; i++) {
        if (i % KEPT_EVERY != 1)
            release(all[i]);
        else
            h.kept[i / KEPT_EVERY] = all[i];
    }
    for (int i = 0; i < KEPT; i++)
        write_all(h.kept[i], byte_of(i), PAGE);
    return h;
}

static inline void holes_verify(const struct holes *h)
{
    for (int i = 0; i < KEPT; i++)
        assert_true(reads_all(h->kept[i], byte_of(i), PAGE));
}

static inline void holes_give(const struct holes *h)
{
    for (int i = 0; i < KEPT; i++)
        release(h->kept[i]);
}

static inline void assert_nothing_moves(void)
{
    uint64_t moves = stats_now().moves;
    cud_addr got = 0;

    assert_int_equal(cuMemAlloc_v2(&got, WANTED), CUD_OUT_OF_MEMORY);
    assert_int_equal(stats_now().moves, moves);
}
