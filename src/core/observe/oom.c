/* oom.c - the message, the snapshot and the callbacks when memory has run out. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/host.h"
#include "base/text.h"
#include "core/observe/oom.h"
#include "core/observe/snapshot_state.h"
#include "core/pools/private.h"
#include "core/pools/tags.h"
#include "core/segments/segment.h"
#include "core/state/held.h"
#include "core/state/shard.h"

enum { MESSAGE_PART_MAX = 512 };

/* PyTorch's advice, for its policy. */
#define ADVICE                                                                 \
    " If reserved but unallocated memory is large try setting "                \
    "LARDER_CONF=expandable_segments:True to avoid fragmentation.  See "       \
    "documentation for Memory Management  "                                    \
    "(https://pytorch.org/docs/stable/notes/cuda.html"                         \
    "#environment-variables)"

/* Add one sentence, or nothing if it does not fit completely. */
static void add_process(void *ctx, const larder_device_process *process)
{
    struct text *t = ctx;
    size_t before = t->length;

    if (process->is_self)
        larder__text_add(t, "Including non-Larder memory, this process has ");
    else
        larder__text_add(t, "Process %" PRId64 " has ", process->pid);
    larder__text_add(t, "%s memory in use. ", SIZE_TEXT(process->bytes));
    if (t->length >= t->capacity)
        larder__text_cut(t, before);
}

/* The size that the device was asked for: the request's pages, or a segment. */
static uint64_t tried_bytes(const struct allocator *a, const struct request *q)
{
    bool is_private = q->heap != NULL && q->heap->pool->owner != NULL;

    return a->is_paged && !is_private ? q->size : q->segment_bytes;
}

/* The sentences of PyTorch 2.4 in the same order.  Our own policies then add
 * the reason; so does PyTorch's where PyTorch has no such cause. */
static void explain(struct allocator *a, const struct request *q,
                    uint64_t free_bytes, uint64_t total_bytes)
{
    char message[LARDER_FAIL_MAX];
    char processes[MESSAGE_PART_MAX];
    struct text t;
    struct text p;
    uint64_t pools = larder__private_cached_bytes(a);
    uint64_t allocated = (uint64_t)metric_all(&a->stats.allocated_bytes) -
                         larder__tags_paused_bytes(a);
    uint64_t reserved = (uint64_t)metric_all(&a->stats.reserved_bytes);

    larder__assert(reserved >= allocated + pools);
    larder__text_init(&p, processes, sizeof processes);
    (void)larder__device_processes(a->device, add_process, &p);
    larder__text_init(&t, message, sizeof message);
    larder__text_add(&t, "%s. Tried to allocate %s",
                     a->policy->is_host ? "Out of pinned host memory"
                                        : "CUDA out of memory",
                     SIZE_TEXT(tried_bytes(a, q)));
    if (a->policy->is_host)
        larder__text_add(&t, ". The host");
    else
        larder__text_add(&t, ". GPU %d", a->props.ordinal);
    larder__text_add(&t, " has a total capacity of %s of which %s is free. %s",
                     SIZE_TEXT(total_bytes), SIZE_TEXT(free_bytes), processes);
    if (a->conf.limit_bytes != CONF_UNLIMITED) /* unknown to PyTorch */
        larder__text_add(&t, "%s allowed; ", SIZE_TEXT(a->conf.limit_bytes));
    if (usage_is_final(q)) {
        const struct private_pool *owner = q->heap->pool->owner;

        larder__text_add(&t,
                         "The tag '%s' may hold %s and holds %s; this request "
                         "needs %s more. ",
                         owner->tag->name,
                         SIZE_TEXT(owner->holding.limit_bytes),
                         SIZE_TEXT(owner->holding.held_bytes),
                         SIZE_TEXT(larder__pool_growth(a, q)));
    }
    larder__text_add(&t, "Of the allocated memory %s is allocated by Larder, ",
                     SIZE_TEXT(allocated + pools));
    if (pools > 0)
        larder__text_add(&t,
                         "with %s allocated in private pools (e.g., CUDA "
                         "Graphs), ",
                         SIZE_TEXT(pools));
    larder__text_add(&t, "and %s is reserved by Larder but unallocated.",
                     SIZE_TEXT(reserved - allocated - pools));
    if (a->policy->explain_fully || q->out_of_time)
        larder__shortfall_add(a, q, free_bytes, &t);
    else if (!larder__shortfall_add_limit(a, q, &t))
        larder__text_add(&t, ADVICE);
    larder__set_error("%s", message);
}

/* ---- the setting dump_on_oom --------------------------------------------- */

enum { PATH_ROOM = 2 * CONF_PATH_MAX };

/* Expand %p to the process's number, %n to that of the dump and %% to a percent
 * sign.  False: the path does not fit. */
static bool expand(const char *from, uint64_t number, char *out,
                   size_t capacity)
{
    struct text t;

    larder__text_init(&t, out, capacity);
    for (; *from != '\0'; from++) {
        if (from[0] == '%' && from[1] == 'p')
            larder__text_add(&t, "%ld", (long)getpid());
        else if (from[0] == '%' && from[1] == 'n')
            larder__text_add(&t, "%llu", (unsigned long long)number);
        else
            larder__text_add(&t, "%c", *from);
        if (from[0] == '%' && from[1] != '\0' && strchr("pn%", from[1]) != NULL)
            from++;
    }
    return t.length < t.capacity;
}

/* The copy is made under the lock, and written without it. */
static bool dump(struct allocator *a)
{
    char path[PATH_ROOM];
    struct snapshot s;
    larder_result r;

    if (!expand(a->conf.dump_path, a->dumps.count, path, sizeof path) ||
        larder__snapshot_take(a, true, &s) != LARDER_OK)
        return false;
    allocator_unlock(a);
    r = larder__snapshot_file(&s, larder__snapshot_is_json(path), path);
    larder__snapshot_free(&s);
    allocator_lock(a);
    return r == LARDER_OK;
}

/* Write the snapshot that the setting dump_on_oom asks for, if any: once, or
 * each time if its path contains %n.  Errors are counted; they may replace the
 * last error's message. */
static void dump_on_oom(struct allocator *a)
{
    const char *path = a->conf.dump_path;
    struct history_call call = a->call;

    if (path[0] == '\0' || a->dumps.is_under_way ||
        (a->dumps.count > 0 && strstr(path, "%n") == NULL))
        return;
    a->dumps.is_under_way = true;
    a->dumps.count++;
    if (!dump(a))
        a->dumps.failed++;
    a->dumps.is_under_way = false;
    history_reenter(a, call);
}

/* ---- callbacks ------------------------------------------------------------ */

/* Call them without the lock: observers, if there is information for them, else
 * those that reclaim.  Returns whether one of these freed something. */
static bool callbacks_run(struct allocator *a, const struct callbacks *c,
                          const larder_oom_info *info)
{
    size_t count = c->count;
    struct callback *copy =
        count > 0 ? larder__host_alloc(count, sizeof *copy) : NULL;
    struct history_call call = a->call;
    bool freed = false;

    if (copy == NULL)
        return false;
    memcpy(copy, c->list, count * sizeof *copy);
    larder__assert(allocator_is_locked(a));
    allocator_unlock(a);
    larder__assert(!allocator_is_locked(a) || LARDER_ASSERT_LEVEL == 0);
    for (size_t i = 0; i < count; i++) {
        if (info != NULL)
            ((larder_oom_fn *)copy[i].fn)(copy[i].ctx, info);
        else
            freed |= ((larder_reclaim_fn *)copy[i].fn)(copy[i].ctx) != 0;
    }
    allocator_lock(a);
    history_reenter(a, call);
    larder__host_free(copy);
    return freed;
}

bool larder__run_reclaims(struct allocator *a)
{
    return callbacks_run(a, &a->reclaims, NULL);
}

/* The message is complete: call the observers. */
static larder_result report(struct allocator *a, const struct request *q,
                            uint64_t free_bytes, uint64_t total_bytes)
{
    char message[LARDER_FAIL_MAX];
    larder_oom_info info = {
        .requested_bytes = q->bytes,
        .segment_bytes = tried_bytes(a, q),
        .stream = q->stream,
        .device_free_bytes = free_bytes,
        .device_total_bytes =
            a->allowed_bytes < total_bytes ? a->allowed_bytes : total_bytes,
        .message = message,
    };

    larder__assert(allocator_is_locked(a));
    larder__assert(q->block == NULL);
    a->stats.num_ooms += !q->rejected;
    /* PyTorch has no event for what throw_on_cudamalloc_oom rejects. */
    if (a->history != NULL && !(q->rejected && a->policy->is_exact))
        larder__history_record(a, LARDER_ACTION_oom, free_bytes, q->size,
                               q->stream,
                               q->heap != NULL ? q->heap->pool->owner : NULL);
    if (a->oom_observers.count == 0 && a->conf.dump_path[0] == '\0')
        return LARDER_ERR_OUT_OF_MEMORY;
    /* Saved, as an observer's calls may fail and replace it. */
    larder__copy_error(message, sizeof message);
    dump_on_oom(a);
    (void)callbacks_run(a, &a->oom_observers, &info);
    return larder__fail(LARDER_ERR_OUT_OF_MEMORY, "%s", message);
}

larder_result larder__out_of_memory(struct allocator *a,
                                    const struct request *q, bool is_explained)
{
    uint64_t free_bytes = 0;
    uint64_t total_bytes = a->props.total_bytes;

    (void)larder_device_mem_info(a->device, &free_bytes, &total_bytes);
    if (!is_explained)
        explain(a, q, free_bytes, total_bytes);
    return report(a, q, free_bytes, total_bytes);
}
