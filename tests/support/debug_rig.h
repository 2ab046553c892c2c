/* debug_rig.h - shared by the tests of the setting debug: the policies they run
 * under, the device's memory as the host sees it, and the expected findings.
 *
 * Header only, for cmocka programs. */
#pragma once

#include "policies.h"
#include "rig.h"

static inline unsigned char *at(larder_addr addr)
{
    return (unsigned char *)(uintptr_t)addr;
}

/* The result for a bug that is detected from debug:2 on. */
static inline larder_result found(int level, larder_result r)
{
    return level > 1 ? r : LARDER_OK;
}

/* The call reports a write to the first byte behind an allocation. */
#define assert_told_behind(call)                                               \
    assert_refused(LARDER_ERR_OVERWRITTEN, (call), "0 bytes behind")
