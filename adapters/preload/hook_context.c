/* hook_context.c - destroyed contexts, whose memory is freed with them, and
 * flags of contexts. */
#include "work.h"

/* The driver has dropped all of the context's memory, Larder's too; that of other
 * contexts of the device stays. */
cud_result cuDevicePrimaryCtxReset_v2(cud_device device)
{
    const struct preload_calls *real = preload_driver();
    struct preload_slot *slot = preload_slot_at(device);
    cud_result answer;

    if (real == NULL)
        return CUD_NOT_INITIALIZED;
    if (slot == NULL || preload_is_child())
        return PRELOAD_REAL(real, cuDevicePrimaryCtxReset_v2, device);
    preload_primary_learn(real, slot);
    answer = PRELOAD_REAL(real, cuDevicePrimaryCtxReset_v2, device);
    if (answer != CUD_SUCCESS)
        return answer;
    preload_captures_forget(atomic_load(&slot->primary));
    preload_slot_close(real, slot);
    return CUD_SUCCESS;
}

cud_result cuCtxDestroy_v2(cud_context context)
{
    const struct preload_calls *real = preload_driver();
    cud_result answer;

    if (real == NULL)
        return CUD_NOT_INITIALIZED;
    answer = PRELOAD_REAL(real, cuCtxDestroy_v2, context);
    if (answer != CUD_SUCCESS || preload_is_child())
        return answer;
    preload_captures_forget(context);
    preload_allocations_forget(context);
    return CUD_SUCCESS;
}

/* ---- flags -------------------------------------------------------------- */

/* All of a context's memory may then be used by the network, as with the
 * attribute of a pointer. */
static void note_flags(unsigned flags)
{
    if ((flags & CUD_SYNC_MEMOPS_OF_CONTEXT) != 0)
        preload_work_shared("cuCtxSetFlags (CU_CTX_SYNC_MEMOPS)");
}

PRELOAD_WORK_HOOK(cuCtxSetFlags, (unsigned flags), (flags), note_flags(flags),
                  (void)0)
PRELOAD_WORK_HOOK(cuDevicePrimaryCtxSetFlags,
                  (cud_device device, unsigned flags), (device, flags),
                  note_flags(flags), (void)0)
PRELOAD_WORK_HOOK(cuDevicePrimaryCtxSetFlags_v2,
                  (cud_device device, unsigned flags), (device, flags),
                  note_flags(flags), (void)0)
