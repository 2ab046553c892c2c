/* peers.c - joining, leaving, settings and answers. */
#include "core/peers/peers.h"

#include <grp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/host.h"
#include "base/process.h"
#include "base/witness.h"
#include "base/worker.h"
#include "core/peers/company.h"

enum { GROUP_ROOM = 16384 };

/* ---- list of all peers ------------------------------------------------------ */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list */
static struct peers *list;

static void before_fork(void)
{
    mutex_take(&lock, RANK_PEERS_LIST);
}

static void in_parent(void)
{
    mutex_leave(&lock);
}

/* The entries belong to the parent, and so do their allocators. */
static void peers_in_child(void)
{
    list = NULL;
    mutex_leave(&lock);
}

static bool is_watched;

static void peers_watch(void)
{
    is_watched = pthread_atfork(before_fork, in_parent, peers_in_child) == 0;
}

static bool peers_watch_forks(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    return pthread_once(&once, peers_watch) == 0 && is_watched;
}

/* ---- choosing the ledger ---------------------------------------------------- */

static larder_result find_group(const char *name, gid_t *out)
{
    char room[GROUP_ROOM];
    struct group entry;
    struct group *found = NULL;
    char *end;
    unsigned long number = strtoul(name, &end, 10);

    if (*name >= '0' && *name <= '9' && *end == '\0') {
        *out = (gid_t)number;
        return LARDER_OK;
    }
    if (getgrnam_r(name, &entry, room, sizeof room, &found) != 0 ||
        found == NULL)
        return larder__fail(LARDER_ERR_CONF,
                            "ledger_group: '%s' is not accepted: expected the "
                            "name or number of a group of this system",
                            name);
    *out = entry.gr_gid;
    return LARDER_OK;
}

/* Whether other processes can use the device and recognise it as the same. */
static bool peers_is_shared(const struct allocator *a)
{
    static const unsigned char unknown[LARDER_UUID_BYTES];

    return !a->props.is_exclusive &&
           memcmp(a->props.uuid, unknown, sizeof unknown) != 0;
}

static larder_result spec_make(const struct allocator *a,
                               struct ledger_spec *out)
{
    memset(out, 0, sizeof *out);
    memcpy(out->uuid, a->props.uuid, sizeof out->uuid);
    out->is_simulated = strcmp(larder_device_name(a->device), "sim") == 0;
    out->device = a->props.name;
    out->total_bytes = a->props.total_bytes;
    out->context_bytes = a->props.context_bytes;
    out->is_of_group = a->conf.ledger_group[0] != '\0';
    return out->is_of_group ? find_group(a->conf.ledger_group, &out->group)
                            : LARDER_OK;
}

static bool peers_is_same(const struct ledger_spec *a,
                          const struct ledger_spec *b)
{
    return memcmp(a->uuid, b->uuid, sizeof a->uuid) == 0 &&
           a->is_of_group == b->is_of_group && a->group == b->group;
}

/* ---- answering -------------------------------------------------------------- */

/* The lock is held. */
static void answer(struct peers *p)
{
    struct ledger_question q = larder__ledger_read_question(p->ledger);
    uint64_t left = larder__ledger_due(p->ledger, q.bytes);
    uint64_t gave = 0;

    for (struct allocator *a = p->first; a != NULL; a = a->peers_next) {
        uint64_t of_this = p->give(a, left);

        gave += of_this;
        left -= of_this < left ? of_this : left;
    }
    larder__ledger_answer(p->ledger, &q, gave);
}

/* If another thread is already answering there is nothing to do. */
void larder__peers_answer(struct peers *p)
{
    if (!mutex_try(&p->lock, RANK_PEERS))
        return;
    answer(p);
    mutex_leave(&p->lock);
}

/* Answer what no other thread has answered: it waits for one that is at it. */
static void answer_last(struct peers *p)
{
    mutex_take(&p->lock, RANK_PEERS);
    if (ledger_is_asked(p->ledger))
        answer(p);
    mutex_leave(&p->lock);
}

/* ---- a thread that answers while the program makes no calls ------------------ */

/* It sleeps until the bell rings; the timeout covers a ring that it missed. */
#define DOZE_NS UINT64_C(1000000000)

static void *helper_run(void *ctx)
{
    struct peers *p = ctx;

    while (!p->is_ending) {
        larder__ledger_sleep(p->ledger, DOZE_NS);
        if (!p->is_ending && ledger_is_asked(p->ledger))
            answer_last(p);
    }
    return NULL;
}

static larder_result helper_begin(struct peers *p)
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

static void helper_end(struct peers *p)
{
    if (!p->has_thread)
        return;
    p->is_ending = true;
    larder__ledger_wake(p->ledger);
    pthread_join(p->thread, NULL);
    p->has_thread = false;
}

/* ---- creating --------------------------------------------------------------- */

/* Of an allocator's device: they are equivalent.  NULL: none is open. */
static bool device_free(void *device, uint64_t *out)
{
    uint64_t total;

    return device != NULL &&
           larder_device_mem_info(device, out, &total) == LARDER_OK;
}

static void peers_free(struct peers *p)
{
    helper_end(p);
    larder__ledger_close(p->ledger);
    pthread_mutex_destroy(&p->lock);
    pthread_mutex_destroy(&p->thread_lock);
    larder__host_free(p);
}

static larder_result peers_make(const struct ledger_spec *spec,
                                peers_give_fn *give, struct peers **out)
{
    struct peers *p = larder__host_alloc(1, sizeof *p);
    larder_result r;

    if (p == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    if (pthread_mutex_init(&p->lock, NULL) != 0 ||
        pthread_mutex_init(&p->thread_lock, NULL) != 0) {
        larder__host_free(p);
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    }
    p->process = process_number();
    p->spec = *spec;
    p->give = give;
    r = larder__ledger_open(spec, device_free, &p->ledger);
    if (r != LARDER_OK)
        peers_free(p);
    else
        *out = p;
    return r;
}

/* Find the process's entry, or make it, and add a user.  The list's lock is
 * held. */
static larder_result peers_of(const struct ledger_spec *spec,
                              peers_give_fn *give, struct peers **out)
{
    struct peers *p = list;
    larder_result r = LARDER_OK;

    while (p != NULL && !peers_is_same(&p->spec, spec))
        p = p->next;
    if (p == NULL) {
        r = peers_make(spec, give, &p);
        if (r != LARDER_OK)
            return r;
        p->next = list;
        list = p;
    }
    p->users++;
    *out = p;
    return r;
}

static void peers_drop(struct peers *p)
{
    struct peers **link = &list;

    larder__assert(p->users > 0);
    if (--p->users > 0)
        return;
    larder__assert(p->first == NULL);
    while (*link != p) {
        larder__assert(*link != NULL);
        link = &(*link)->next;
    }
    *link = p->next;
    peers_free(p);
}

/* ---- the allocators --------------------------------------------------------- */

/* How much is free is asked of the device of the first in the list, which has not
 * been closed.  With the list's lock. */
static void use_first(struct peers *p)
{
    larder__ledger_set_device(p->ledger,
                              p->first == NULL ? NULL : p->first->device);
}

/* Complete, as others may have it give at once. */
static void link_in(struct peers *p, struct allocator *a)
{
    larder__assert(a->peers == NULL);
    a->peers = p;
    larder__shards_set_bell(a, ledger_bell(p->ledger));
    mutex_take(&p->lock, RANK_PEERS);
    a->peers_next = p->first;
    p->first = a;
    use_first(p);
    mutex_leave(&p->lock);
}

void larder__peers_withdraw(struct allocator *a)
{
    struct peers *p = a->peers;
    struct allocator **link;

    if (p == NULL)
        return;
    mutex_take(&p->lock, RANK_PEERS);
    for (link = &p->first; *link != NULL && *link != a;)
        link = &(*link)->peers_next;
    if (*link == a)
        *link = a->peers_next;
    use_first(p);
    mutex_leave(&p->lock);
}

void larder__peers_report_use(struct allocator *a)
{
    int64_t now = metric_all(&a->stats.allocated_bytes);

    larder__assert(now >= 0);
    if (now != a->told_use)
        larder__ledger_use(a->peers->ledger, now - a->told_use);
    a->told_use = now;
}

/* ---- settings --------------------------------------------------------------- */

static void set_limits(struct allocator *a)
{
    const struct conf *conf = &a->conf;
    struct ledger *l = a->peers->ledger;

    if (conf->limits_given)
        larder__ledger_set_limits(l, conf->process_limit_bytes,
                                  conf->group_limit_bytes);
}

static larder_result no_minimum(const struct allocator *a, uint64_t lacking)
{
    return larder__fail(LARDER_ERR_OUT_OF_MEMORY,
                        "minimum: %llu bytes cannot be kept: beside the "
                        "minimums of other processes the device lacks %llu "
                        "bytes",
                        (unsigned long long)a->conf.minimum_bytes,
                        (unsigned long long)lacking);
}

/* With `asks`, ask other processes to release memory for it. */
static larder_result keep_minimum(struct allocator *a, bool asks)
{
    struct peers_search search = larder__peers_search(a);
    uint64_t lacking = 0;

    if (!a->conf.minimum_given)
        return LARDER_OK;
    while (larder__ledger_keep(a->peers->ledger, a->conf.minimum_bytes,
                               &lacking) != LEDGER_GRANTED) {
        if (!asks || !larder__peers_search_again(a->peers, &search, lacking))
            return no_minimum(a, lacking);
    }
    return LARDER_OK;
}

static larder_result settings_apply(struct allocator *a, bool asks)
{
    larder_result r = LARDER_OK;

    if (a->conf.ledger_thread)
        r = helper_begin(a->peers);
    if (r == LARDER_OK)
        r = keep_minimum(a, asks);
    if (r == LARDER_OK)
        set_limits(a);
    return r;
}

larder_result larder__peers_configure(struct allocator *a)
{
    return a->peers == NULL ? LARDER_OK : settings_apply(a, false);
}

/* ---- joining and leaving ---------------------------------------------------- */

static larder_result join(struct allocator *a, peers_give_fn *give)
{
    struct ledger_spec spec;
    struct peers *p = NULL;
    larder_result r = spec_make(a, &spec);

    if (r != LARDER_OK)
        return r;
    if (!peers_watch_forks())
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    mutex_take(&lock, RANK_PEERS_LIST);
    r = peers_of(&spec, give, &p);
    mutex_leave(&lock);
    if (r != LARDER_OK)
        return r;
    link_in(p, a);
    r = settings_apply(a, true);
    if (r != LARDER_OK)
        larder__peers_leave(a);
    return r;
}

larder_result larder__peers_join(struct allocator *a, peers_give_fn *give)
{
    bool is_wanted = a->conf.ledger_given || a->conf.ledger_group[0] != '\0' ||
                     a->conf.minimum_given || a->conf.limits_given;
    larder_result r;

    if (!a->conf.ledger || !peers_is_shared(a))
        return LARDER_OK;
    r = join(a, give);
    if (r == LARDER_ERR_NO_HOST_MEMORY || is_wanted)
        return r;
    return LARDER_OK; /* optional: continue without a ledger */
}

void larder__peers_leave(struct allocator *a)
{
    struct peers *p = a->peers;

    if (p == NULL)
        return;
    larder__peers_withdraw(a);
    larder__ledger_use(p->ledger, -a->told_use);
    larder__shards_set_bell(a, NULL);
    a->peers = NULL;
    mutex_take(&lock, RANK_PEERS_LIST);
    peers_drop(p);
    mutex_leave(&lock);
}
