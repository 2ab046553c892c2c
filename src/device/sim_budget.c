/* sim_budget.c - the simulated GPU's bytes: how many are there, shared or not,
 * and who has them. */
#include "device/sim_device.h"

#include <inttypes.h>

#include "device/sim_fail.h"

struct sim_share_use larder__sim_budget_use(const struct sim_budget *b)
{
    uint64_t context = b->is_used ? b->context_bytes : 0;

    if (b->share != NULL)
        return larder__sim_share_use(b->share);
    return (struct sim_share_use){
        .all_bytes = b->held_bytes + context,
        .self_bytes = b->held_bytes + context,
        .context_bytes = context,
    };
}

static uint64_t budget_left(const struct sim_budget *b)
{
    return b->capacity_bytes - larder__sim_budget_use(b).all_bytes;
}

static larder_result context_take(struct sim_budget *b)
{
    bool fits = b->share != NULL
                    ? larder__sim_share_take_context(b->share, b->context_bytes)
                    : b->context_bytes <= b->capacity_bytes;

    if (fits)
        return LARDER_OK;
    return larder__sim_fail(LARDER_ERR_OUT_OF_MEMORY,
                            "the context needs %" PRIu64
                            " bytes, and the simulated GPU has %" PRIu64
                            " of %" PRIu64 " bytes left",
                            b->context_bytes, budget_left(b),
                            b->capacity_bytes);
}

larder_result larder__sim_use(struct sim *sim)
{
    larder_result r;

    if (sim->budget.is_used)
        return LARDER_OK;
    r = context_take(&sim->budget);
    sim->budget.is_used = r == LARDER_OK;
    return r;
}

larder_result larder__sim_budget_take(struct sim_budget *b, uint64_t bytes)
{
    bool fits = b->share != NULL ? larder__sim_share_take(b->share, bytes)
                                 : bytes <= budget_left(b);

    if (!fits)
        return larder__sim_fail(LARDER_ERR_OUT_OF_MEMORY,
                                "the simulated GPU has %" PRIu64 " of %" PRIu64
                                " bytes left",
                                budget_left(b), b->capacity_bytes);
    b->held_bytes += bytes;
    return LARDER_OK;
}

void larder__sim_budget_release(struct sim_budget *b, uint64_t bytes)
{
    b->held_bytes -= bytes;
    if (b->share != NULL)
        larder__sim_share_release(b->share, bytes);
}
