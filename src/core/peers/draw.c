/* draw.c - acquires and returns memory: the device's calls, preceded by a claim
 * in the device's ledger. */
#include "core/peers/draw.h"

#include "base/bits.h"
#include "base/fail.h"
#include "core/peers/company.h"

enum { SMALL_BYTES = 1 << 20 };

/* The memory that the device uses: multiples of 2 MiB, except for small
 * allocations. */
static uint64_t weight_of(uint64_t bytes)
{
    return bytes < SMALL_BYTES ? bytes : bits_up(bytes, PAGE_BYTES);
}

static larder_result draw_refuse(struct allocator *a,
                                 enum ledger_refusal refusal)
{
    static const char *const words[] = {
        [LEDGER_OVER_LIMIT] = "the limit of this process (process_limit)",
        [LEDGER_OVER_GROUP] = "the limit of all processes together "
                              "(group_limit)",
        [LEDGER_KEPT] = "what is kept for other processes (minimum)",
    };

    larder__assert(refusal < sizeof words / sizeof *words);
    larder__assert(words[refusal] != NULL);
    a->ledger_refusal = words[refusal];
    return larder__fail(LARDER_ERR_OUT_OF_MEMORY, "%s leaves too little",
                        words[refusal]);
}

/* Claim `bytes`, if there is a ledger. */
static larder_result draw_begin(struct allocator *a, uint64_t bytes)
{
    enum ledger_refusal refusal = LEDGER_GRANTED;

    larder__assert(allocator_is_locked(a) && bytes > 0);
    if (a->peers != NULL)
        refusal = larder__ledger_claim(a->peers->ledger, bytes);
    return refusal == LEDGER_GRANTED ? LARDER_OK : draw_refuse(a, refusal);
}

/* The device has answered, and the bytes are held now or not. */
static void settle(struct allocator *a, uint64_t bytes, bool is_held)
{
    if (a->peers == NULL)
        return;
    larder__ledger_settle(a->peers->ledger, bytes, is_held);
    larder__peers_report_use(a);
}

larder_result larder__draw_memory(struct allocator *a, uint64_t bytes,
                                  larder_addr *out)
{
    uint64_t weight = weight_of(bytes);
    larder_result r = draw_begin(a, weight);

    if (r != LARDER_OK)
        return r;
    r = larder__device_mem_alloc(a->device, bytes, out);
    settle(a, weight, r == LARDER_OK);
    return r;
}

larder_result larder__draw_handle(struct allocator *a, uint64_t bytes,
                                  uint64_t *out)
{
    larder_result r = draw_begin(a, bytes);

    if (r != LARDER_OK)
        return r;
    r = larder__device_page_create(a->device, bytes, out);
    settle(a, bytes, r == LARDER_OK);
    return r;
}

static void return_begin(struct allocator *a, uint64_t bytes)
{
    if (a->peers != NULL)
        larder__ledger_returning(a->peers->ledger, bytes);
}

larder_result larder__return_memory(struct allocator *a, larder_addr addr,
                                    uint64_t bytes)
{
    larder_result r;

    return_begin(a, weight_of(bytes));
    r = larder__device_mem_free(a->device, addr);
    settle(a, weight_of(bytes), r != LARDER_OK);
    return r;
}

larder_result larder__return_handle(struct allocator *a, uint64_t handle,
                                    uint64_t bytes)
{
    larder_result r;

    return_begin(a, bytes);
    r = larder__device_page_release(a->device, handle);
    settle(a, bytes, r != LARDER_OK);
    return r;
}
