/* pinned_policy.h - the policy of pinned host memory.  Private to core. */
#ifndef LARDER_CORE_PINNED_PINNED_POLICY_H
#define LARDER_CORE_PINNED_PINNED_POLICY_H

#include "core/state/policy.h"

extern const struct policy larder__policy_pinned;

#endif
