/* experiment_growth.c - experiment 1: the context's memory, growth by new
 * tensors, rebinding, and empty_cache(). */
#include "experiment.h"

enum { X, Y, KEPT /* and eight more */ };

static const int64_t small[] = {2, 3};
static const int64_t large[] = {200, 300, 200, 20};

static bool after(struct exp *e, const char *statement, uint64_t smi_mib)
{
    return exp_after(e, statement, EXP_SMI, smi_mib * MIB);
}

static bool nine_more_times(struct exp *e)
{
    for (int i = 1; i < 9; i++) {
        if (!exp_randn(e, Y, 4, large))
            return false;
    }
    return true;
}

static bool rebinding(struct exp *e)
{
    return exp_randn(e, X, 2, small) && after(e, "x = randn(2, 3)", 1003) &&
           exp_randn(e, Y, 4, large) &&
           after(e, "y = randn(200, 300, 200, 20)", 1919) &&
           exp_randn(e, Y, 4, large) &&
           after(e, "y = randn(...)  # rebound", 2835) && nine_more_times(e) &&
           after(e, "y = randn(...)  # 8 times more", 2835) &&
           exp_empty_cache(e) && after(e, "empty_cache()", 1919) &&
           exp_drop(e, Y) && after(e, "y = 2  # y dropped", 1919) &&
           exp_empty_cache(e) && after(e, "empty_cache()", 1003);
}

/* Never written: with real memory they would need 8 GiB. */
static bool keeping(struct exp *e)
{
    for (int i = 0; i < 9; i++) {
        if (!exp_bytes(e, KEPT + i, UINT64_C(960000000)))
            return false;
    }
    return after(e, "kept = [empty(...) x 9]", 1003 + 9 * 916);
}

static bool forgetting(struct exp *e)
{
    for (int i = 0; i < 9; i++)
        exp_drop(e, KEPT + i);
    return exp_empty_cache(e) && after(e, "del kept; empty_cache()", 1003);
}

static bool experiment_growth_run(struct exp *e)
{
    const struct exp_device want = {.context = "1001MiB"};

    return exp_open(e, &want) &&
           exp_after(e, "before anything", EXP_RESERVED, 0) && rebinding(e) &&
           keeping(e) && forgetting(e);
}

const struct experiment experiment_context_and_growth = {
    .number = 1,
    .name = "context_and_growth",
    .title = "the context, new tensors, rebinding, empty_cache()",
    .text =
        "The first use of a device costs a context, here 1001 MiB, before any "
        "tensor: nvidia-smi shows it, the allocator's figures do not. Then a "
        "tensor of 24 bytes takes a whole segment of 2 MiB, the smallest "
        "request to the driver, and one of 960 000 000 bytes a segment of "
        "916 MiB of its own.\n\n"
        "Binding y again needs a second such segment, since the new tensor is "
        "created before the old one is freed. From then on the two segments "
        "alternate. empty_cache() releases the one not in use, and also the "
        "other once y holds no tensor. Nine tensors kept in a list need nine "
        "(they are not written to, since nine such tensors take more than 8 "
        "GiB).",
    .verdict = "nvidia-smi shows context + reserved: 1001 MiB of context "
               "that belongs to no tensor, 2 MiB for 24 bytes, 916 MiB for "
               "each large tensor that is live or cached. Rebinding costs "
               "one more, once; keeping nine costs nine.",
    .run = experiment_growth_run,
};
