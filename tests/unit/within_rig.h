/* within_rig.h - allocators of one process on devices that others use too.  Header
 * only, for cmocka programs. */
#pragma once

#include <larder/ledger.h>

#include "core/entry/handle.h"
#include "core/peers/company.h"
#include "ledger/ledger_name.h"
#include "support/rig.h"
#include "support/unique_name.h"

/* ---- devices and allocators ---------------------------------------------------- */

/* A device for each number; the names are unique to this run. */
static inline larder_device *device_numbered(int number)
{
    larder_device *dev;
    char spec[128];

    (void)snprintf(spec, sizeof spec,
                   "sim:64MiB,backing=none,events=manual,shared=%s-%d",
                   unique_name("within"), number);
    assert_ok(larder_device_open(spec, 0, &dev));
    return dev;
}

static inline larder_result allocator_on(larder_device *dev, const char *conf,
                                         larder_allocator **out)
{
    larder_options opt;

    larder_options_init(&opt);
    opt.policy = LARDER_POLICY_LARDER;
    opt.conf = conf;
    return larder_create(dev, &opt, out);
}

static inline struct rig on_device(int number, const char *conf,
                                   larder_result want)
{
    struct rig rig = {.dev = device_numbered(number)};

    assert_result(want, allocator_on(rig.dev, conf, &rig.a));
    return rig;
}

static inline struct rig up(const char *conf)
{
    return on_device(0, conf, LARDER_OK);
}

static inline void down(struct rig *rig)
{
    assert_ok(larder_destroy(rig->a));
    assert_ok(larder_device_close(rig->dev));
}

static inline struct allocator *of(const struct rig *rig)
{
    return handle_allocator(rig->a);
}

static inline struct peers *entry_of(const struct rig *rig)
{
    return of(rig)->peers;
}

/* ---- the ledger ------------------------------------------------------------------ */

static inline void ledger_path(struct rig *rig, char out[SHARED_NAME_MAX + 1])
{
    struct ledger_spec spec = {0};
    larder_device_props props = {.size = sizeof props};

    assert_ok(larder_device_get_props(rig->dev, &props));
    memcpy(spec.uuid, props.uuid, sizeof spec.uuid);
    larder__ledger_name(&spec, out);
}
