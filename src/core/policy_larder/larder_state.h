/* larder_state.h - what the rest of core asks the policy larder to do with the
 * memory it keeps.  Private to core. */
#ifndef LARDER_CORE_POLICY_LARDER_LARDER_STATE_H
#define LARDER_CORE_POLICY_LARDER_LARDER_STATE_H

#include "core/state/allocator.h"

extern const struct policy_state larder__state;

#endif
