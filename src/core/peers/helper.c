/* helper.c - the thread that answers other processes while the program makes no
 * calls. */
#include "base/fail.h"
#include "base/witness.h"
#include "base/worker.h"
#include "core/peers/company.h"
#include "core/peers/peers.h"

/* It sleeps until the bell rings; the timeout covers a ring that it missed. */
#define DOZE_NS UINT64_C(1000000000)

static void *helper_run(void *ctx)
{
    struct peers *p = ctx;

    while (!p->is_ending) {
        larder__ledger_sleep(p->ledger, DOZE_NS);
        if (!p->is_ending && ledger_is_asked(p->ledger))
            larder__peers_answer_last(p);
    }
    return NULL;
}

larder_result larder__helper_begin(struct peers *p)
{
    bool has_thread;

    mutex_take(&p->thread_lock, RANK_HELPER);
    if (!p->has_thread)
        p->has_thread = larder__worker_begin(&p->thread, helper_run, p);
    has_thread = p->has_thread;
    mutex_leave(&p->thread_lock);
    return has_thread ? LARDER_OK
                      : larder__fail(LARDER_ERR_SYSTEM,
                                     "ledger_thread: cannot create a thread");
}

void larder__helper_end(struct peers *p)
{
    if (!p->has_thread)
        return;
    p->is_ending = true;
    larder__ledger_wake(p->ledger);
    pthread_join(p->thread, NULL);
    p->has_thread = false;
}
