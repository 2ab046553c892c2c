/* policies.h - all policies, for tests that run under each. */
#pragma once

#include <larder/larder.h>

/* The first CACHING ones keep freed memory for reuse; `direct` does not. */
static const larder_policy policies[] = {
    LARDER_POLICY_LARDER, LARDER_POLICY_PYTORCH, LARDER_POLICY_DIRECT};
enum { CACHING = 2, POLICIES = sizeof policies / sizeof policies[0] };
