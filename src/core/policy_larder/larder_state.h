/* larder_state.h - the hooks by which the rest of core releases and inspects
 * the memory that the policy larder holds.  Private to core. */
#ifndef LARDER_CORE_POLICY_LARDER_LARDER_STATE_H
#define LARDER_CORE_POLICY_LARDER_LARDER_STATE_H

#include "core/state/allocator.h"

extern const struct policy_state larder__state;

#endif
