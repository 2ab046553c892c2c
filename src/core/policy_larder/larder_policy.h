/* larder_policy.h - Larder's own policy (docs/POLICY.md).  Private to core. */
#pragma once

#include "core/state/policy.h"

extern const struct policy larder__policy_larder;
