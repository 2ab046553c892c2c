/* decisions_faults.c - operations of random programs that make calls fail. */
#include "base/host.h"
#include "golden/decisions.h"

/* Those that memory moves with come more often. */
static larder_call draw_call(struct world *w)
{
    static const larder_call calls[] = {
        LARDER_CALL_mem_alloc,       LARDER_CALL_mem_free,
        LARDER_CALL_address_reserve, LARDER_CALL_address_free,
        LARDER_CALL_event_create,    LARDER_CALL_event_record,
        LARDER_CALL_event_query,     LARDER_CALL_event_sync,
        LARDER_CALL_stream_sync,     LARDER_CALL_fill,
        LARDER_CALL_host_alloc,      LARDER_CALL_mem_info,
    };
    static const larder_call moving[] = {
        LARDER_CALL_page_create, LARDER_CALL_page_release, LARDER_CALL_map,
        LARDER_CALL_unmap,       LARDER_CALL_set_access,   LARDER_CALL_copy,
    };

    if (chance(w, 3))
        return calls[draw(w, sizeof calls / sizeof calls[0])];
    return moving[draw(w, sizeof moving / sizeof moving[0])];
}

static void fail_calls(struct world *w)
{
    const larder_call call = draw_call(w);
    const bool is_full =
        call == LARDER_CALL_mem_alloc || call == LARDER_CALL_page_create;
    const uint64_t nth = 1 + draw(w, 4);
    const uint64_t times = draw(w, 4);

    step_says(w, "fail %s %llu %llu", larder_call_name(call),
              (unsigned long long)nth, (unsigned long long)times);
    assert_ok(larder_device_fail(w->rig.dev, call, nth, times,
                                 is_full && chance(w, 2)
                                     ? LARDER_ERR_OUT_OF_MEMORY
                                     : LARDER_ERR_DEVICE));
}

void faults_end(struct world *w)
{
    larder__host_fail(0, 0);
    for (int c = 0; c < LARDER_CALL_COUNT; c++)
        assert_ok(
            larder_device_fail(w->rig.dev, (larder_call)c, 0, 1, LARDER_OK));
}

/* One kind of call or two. */
void op_fault(struct world *w)
{
    faults_end(w);
    for (uint64_t i = draw(w, 3); i > 0; i--)
        fail_calls(w);
}

void op_host_fault(struct world *w)
{
    unsigned long nth = chance(w, 2) ? 0 : 1 + (unsigned long)draw(w, 4);

    step_says(w, "fail host memory %lu", nth);
    larder__host_fail(nth, 1);
}
