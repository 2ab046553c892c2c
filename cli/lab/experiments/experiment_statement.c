/* experiment_statement.c - statements used by several experiments. */
#include <string.h>

#include "experiment.h"

/* The call's argument is `made`. */
#define REBIND(e, v, call)                                                     \
    do {                                                                       \
        lab_tensor *made = NULL;                                               \
                                                                               \
        if (!exp_try(e, call))                                                 \
            return false;                                                      \
        lab_unref((e)->t[v]);                                                  \
        (e)->t[v] = made;                                                      \
        return true;                                                           \
    } while (0)

bool exp_zeros(struct exp *e, int v, lab_place place, int ndim,
               const int64_t *sizes)
{
    REBIND(e, v, lab_zeros(e->session, LAB_FLOAT32, place, ndim, sizes, &made));
}

bool exp_randn(struct exp *e, int v, int ndim, const int64_t *sizes)
{
    REBIND(e, v,
           lab_randn(e->session, LAB_FLOAT32, LAB_DEVICE, ndim, sizes, &made));
}

static larder_result empty_of(struct exp *e, uint64_t bytes, lab_tensor **out)
{
    const int64_t count = (int64_t)(bytes / sizeof(float));

    return lab_empty(e->session, LAB_FLOAT32, LAB_DEVICE, 1, &count, out);
}

bool exp_bytes(struct exp *e, int v, uint64_t bytes)
{
    REBIND(e, v, empty_of(e, bytes, &made));
}

bool exp_to(struct exp *e, int v, lab_place place)
{
    REBIND(e, v, lab_to(e->t[v], place, &made));
}

bool exp_drop(struct exp *e, int v)
{
    lab_unref(e->t[v]);
    e->t[v] = NULL;
    return true;
}

bool exp_empty_cache(struct exp *e)
{
    return exp_try_larder(e, larder_empty_cache(lab_allocator(e->session)));
}

/* The message of an out-of-memory error must contain the request and the
 * capacity. */
static bool explains(const char *words)
{
    return strstr(words, "Tried to allocate") != NULL &&
           strstr(words, "capacity") != NULL;
}

bool exp_refused(struct exp *e, const char *what, uint64_t bytes)
{
    lab_tensor *t = NULL;
    lab_memory before, after;
    larder_result r;
    bool explained;

    if (!exp_memory(e, &before))
        return false;
    r = empty_of(e, bytes, &t);
    explained = r == LARDER_ERR_OUT_OF_MEMORY && explains(lab_last_error());
    lab_unref(t);
    e->refused = r == LARDER_ERR_OUT_OF_MEMORY;
    if (r != LARDER_OK && r != LARDER_ERR_OUT_OF_MEMORY)
        return exp_try(e, r);
    if (!exp_memory(e, &after))
        return false;
    return exp_yes(e, what, e->refused) &&
           exp_yes(e, "the error explains why", explained) &&
           exp_yes(e, "the session continues, every tensor unchanged",
                   before.allocated_bytes == after.allocated_bytes &&
                       before.tensors == after.tensors);
}

const char *exp_outcome(const struct exp *e)
{
    return e->refused ? "out of memory" : "fits";
}

bool exp_memory(struct exp *e, lab_memory *out)
{
    lab_memory_init(out);
    return exp_try(e, lab_memory_get(e->session, out));
}
