/* policies.h - all policies, for tests that run under each. */
#ifndef LARDER_TESTS_SUPPORT_POLICIES_H
#define LARDER_TESTS_SUPPORT_POLICIES_H

#include <larder/larder.h>

/* The first CACHING ones keep freed memory for reuse; `direct` does not. */
static const larder_policy policies[] = {
    LARDER_POLICY_LARDER, LARDER_POLICY_PYTORCH, LARDER_POLICY_DIRECT};
enum { CACHING = 2, POLICIES = sizeof policies / sizeof policies[0] };

#endif
