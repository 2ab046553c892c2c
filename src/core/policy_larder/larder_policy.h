/* larder_policy.h - Larder's own policy (docs/POLICY.md).  Private to core. */
#ifndef LARDER_CORE_POLICY_LARDER_LARDER_POLICY_H
#define LARDER_CORE_POLICY_LARDER_LARDER_POLICY_H

#include "core/state/policy.h"

extern const struct policy larder__policy_larder;

#endif
