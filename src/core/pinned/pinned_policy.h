/* pinned_policy.h - the policy of pinned host memory.  Private to core. */
#pragma once

#include "core/state/policy.h"

extern const struct policy larder__policy_pinned;
