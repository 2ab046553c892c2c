/* tag_rig.h - shared by the tests of tags: the configurations they run in, and
 * memory that belongs to a tag.
 *
 * Header only, for cmocka programs. */
#pragma once

#include "share_rig.h"

#include <larder/tag.h>

static const struct way {
    larder_policy policy;
    const char *conf;
} ways[] = {
    {LARDER_POLICY_PYTORCH, ""},
    {LARDER_POLICY_PYTORCH, "expandable_segments:True"},
    {LARDER_POLICY_LARDER, ""},
    {LARDER_POLICY_LARDER, "defrag:eager"},
};

enum { WAYS = sizeof ways / sizeof ways[0] };

static inline struct rig way_up(const char *spec, int i)
{
    return rig_up_policy(spec, ways[i].policy, ways[i].conf);
}

static inline larder_addr tagged_on(struct rig *rig, const char *tag,
                                    uint64_t bytes, larder_stream stream)
{
    larder_addr addr;

    assert_ok(larder_tag_begin(rig->a, tag));
    addr = rig_alloc_on(rig, bytes, stream);
    assert_ok(larder_tag_end(rig->a));
    return addr;
}

static inline larder_addr tagged(struct rig *rig, const char *tag,
                                 uint64_t bytes)
{
    return tagged_on(rig, tag, bytes, 0);
}

static inline larder_tag_usage usage_of(struct rig *rig, const char *tag)
{
    larder_tag_usage usage = {.size = sizeof usage};

    assert_ok(larder_tag_stats(rig->a, tag, &usage));
    return usage;
}
