/* hook_context.c - destroyed contexts, whose memory is gone with them, and flags
 * of contexts. */
#include "work.h"

/* The driver has dropped all of the device's memory, Larder's too. */
cud_result cuDevicePrimaryCtxReset_v2(cud_device device)
{
    const struct preload_calls *real = preload_driver();
    struct preload_slot *slot = preload_slot_at(device);
    cud_result answer;

    if (real == NULL)
        return CUD_NOT_INITIALIZED;
    answer = PRELOAD_REAL(real, cuDevicePrimaryCtxReset_v2, device);
    if (answer == CUD_SUCCESS && slot != NULL && !preload_is_child())
        preload_slot_close(real, slot);
    return answer;
}

cud_result cuCtxDestroy_v2(cud_context context)
{
    const struct preload_calls *real = preload_driver();
    cud_result answer;

    if (real == NULL)
        return CUD_NOT_INITIALIZED;
    answer = PRELOAD_REAL(real, cuCtxDestroy_v2, context);
    if (answer == CUD_SUCCESS && !preload_is_child())
        preload_allocations_forget(NULL, context);
    return answer;
}

/* ---- flags --------------------------------------------------------------------- */

/* All of a context's memory may then be used by the network, as with the
 * attribute of a pointer. */
static bool flags_begin(unsigned flags)
{
    bool is_entered = preload_work_enter();

    if ((flags & CUD_SYNC_MEMOPS_OF_CONTEXT) != 0)
        preload_work_shared("cuCtxSetFlags (CU_CTX_SYNC_MEMOPS)");
    return is_entered;
}

cud_result cuCtxSetFlags(unsigned flags)
{
    const struct preload_calls *real = preload_driver();
    cud_result answer;
    bool is_entered;

    if (real == NULL)
        return CUD_NOT_INITIALIZED;
    is_entered = flags_begin(flags);
    answer = PRELOAD_REAL(real, cuCtxSetFlags, flags);
    preload_work_leave(is_entered);
    return answer;
}

cud_result cuDevicePrimaryCtxSetFlags(cud_device device, unsigned flags)
{
    const struct preload_calls *real = preload_driver();
    cud_result answer;
    bool is_entered;

    if (real == NULL)
        return CUD_NOT_INITIALIZED;
    is_entered = flags_begin(flags);
    answer = PRELOAD_REAL(real, cuDevicePrimaryCtxSetFlags, device, flags);
    preload_work_leave(is_entered);
    return answer;
}

cud_result cuDevicePrimaryCtxSetFlags_v2(cud_device device, unsigned flags)
{
    const struct preload_calls *real = preload_driver();
    cud_result answer;
    bool is_entered;

    if (real == NULL)
        return CUD_NOT_INITIALIZED;
    is_entered = flags_begin(flags);
    answer = PRELOAD_REAL(real, cuDevicePrimaryCtxSetFlags_v2, device, flags);
    preload_work_leave(is_entered);
    return answer;
}
