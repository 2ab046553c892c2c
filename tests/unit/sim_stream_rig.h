/* sim_stream_rig.h - a simulated GPU whose streams run on command, and a log of
 * what ran.  Header only, for cmocka programs. */
#pragma once

#include "device_rig.h"

static inline larder_device *open_manual(void)
{
    return open_one("sim:64MiB,events=manual");
}

/* What kernels did, in order. */
static char journal[64];

static inline void note(void *ctx)
{
    strncat(journal, ctx, sizeof journal - strlen(journal) - 1);
}

static inline void launch(larder_device *dev, larder_stream stream,
                          const char *word)
{
    assert_ok(larder_sim_launch(dev, stream, note, (void *)(uintptr_t)word));
}

static inline uint64_t event_on(larder_device *dev, larder_stream stream)
{
    uint64_t event;

    assert_ok(larder_device_event_create(dev, &event));
    assert_ok(larder_device_event_record(dev, event, stream));
    return event;
}

static inline int journal_clear(void **state)
{
    (void)state;
    journal[0] = '\0';
    return 0;
}

/* A test that begins with an empty journal. */
#define TEST(name) cmocka_unit_test_setup(name, journal_clear)
