/* region_rig.h - regions for tests, committed and decommitted by pages.  Header
 * only, for cmocka programs. */
#pragma once

#include <stdbool.h>

#include "support/tag_rig.h"

#include <larder/region.h>

#define PAGE ((uint64_t)LARDER_REGION_PAGE)

static inline struct rig up(const char *spec)
{
    return rig_up_policy(spec, LARDER_POLICY_LARDER, "");
}

static inline larder_region *region_of(struct rig *rig, uint64_t pages)
{
    larder_region_options opt;
    larder_region *region;

    larder_region_options_init(&opt);
    opt.name = "kv";
    assert_ok(larder_region_create(rig->a, pages * PAGE, &opt, &region));
    return region;
}

static inline void commit(larder_region *region, uint64_t page, uint64_t count)
{
    assert_ok(larder_region_commit(region, page * PAGE, count * PAGE));
}

static inline void decommit(larder_region *region, uint64_t page,
                            uint64_t count)
{
    assert_ok(larder_region_decommit(region, page * PAGE, count * PAGE));
}

static inline larder_region_info info_of(larder_region *region)
{
    larder_region_info info = {.size = sizeof info};

    assert_ok(larder_region_get_info(region, &info));
    return info;
}
