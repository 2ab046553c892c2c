/* work.c - memory in use moves only while no work is queued on it.  An ordinary
 * library cannot know that; this one intercepts every call that queues work,
 * holds them all back, and waits for all devices. */
#include "work.h"
#include "gate.h"
#include "lookup.h"

#include <stdio.h>

#include <larder/migrate.h>

static _Atomic(const char *) shared_by;

bool preload_work_is_held(void)
{
    const struct preload_settings *s = preload_settings_get();

    return s->can_migrate || s->is_gate;
}

bool preload_work_enter(void)
{
    if (!preload_work_is_held() || preload_is_child())
        return false;
    preload_gate_enter();
    return true;
}

void preload_work_leave(bool is_entered)
{
    if (is_entered)
        preload_gate_leave();
}

void preload_work_shared(const char *call)
{
    const char *none = NULL;

    atomic_compare_exchange_strong(&shared_by, &none, call);
}

const char *preload_work_shared_by(void)
{
    return atomic_load(&shared_by);
}

/* ---- Larder's own moves ------------------------------------------------- */

/* For example ranks as threads of one process, whose collectives wait for each
 * other. */
static const char stuck[] = "work that waits for other work";

static larder_result fail_shared(const char *call)
{
    char text[256];

    if (call == stuck)
        return preload_fail(LARDER_ERR_UNSUPPORTED,
                            "queued work waited for work that was being gated, "
                            "so work is no longer gated");
    snprintf(text, sizeof text,
             "since %s was called, memory may be in use by work that is "
             "neither gated nor waited for",
             call);
    return preload_fail(LARDER_ERR_UNSUPPORTED, text);
}

static larder_result fail_stuck(void)
{
    preload_work_shared(stuck);
    return fail_shared(stuck);
}

/* With the gate closed. */
static larder_result wait_and_seal(const struct preload_calls *real)
{
    enum preload_pass pass;

    if (preload_work_shared_by() != NULL)
        return fail_shared(preload_work_shared_by());
    if (preload_is_capturing(real))
        return preload_fail(LARDER_ERR_CAPTURING, "a stream is captured");
    pass = preload_devices_pass(real);
    if (pass == PRELOAD_PASS_FAILED)
        return preload_fail(LARDER_ERR_DEVICE,
                            "a device cannot be synchronized");
    if (pass == PRELOAD_PASS_LATE || !preload_gate_seal())
        return fail_stuck();
    return LARDER_OK;
}

static larder_result hold(const struct preload_calls *real)
{
    larder_result r = preload_gate_close() ? wait_and_seal(real) : fail_stuck();

    if (r != LARDER_OK)
        preload_gate_open();
    return r;
}

static _Thread_local bool was_held;

static larder_result hold_for(void *ctx)
{
    (void)ctx;
    return hold(preload_driver());
}

static void release_for(void *ctx)
{
    (void)ctx;
    preload_gate_open();
    was_held = true;
}

bool preload_work_was_held(void)
{
    bool is_so = was_held;

    was_held = false;
    return is_so;
}

larder_result preload_work_guard(struct preload_slot *slot)
{
    return larder_migrate_guard(slot->allocator, hold_for, release_for, NULL);
}

/* ---- for an allocator above (LARDER_PRELOAD=gate) ----------------------- */

larder_result larder_preload_hold(void)
{
    const struct preload_calls *real = preload_driver();

    if (!preload_settings_get()->is_gate || preload_is_child() || real == NULL)
        return preload_fail(LARDER_ERR_UNSUPPORTED,
                            "LARDER_PRELOAD is not gate, or the driver was "
                            "loaded by another process");
    return hold(real);
}

void larder_preload_release(void)
{
    preload_gate_open();
}

void *larder_preload_below(const char *symbol)
{
    return preload_settings_get()->is_gate ? preload_driver_symbol(symbol)
                                           : NULL;
}
