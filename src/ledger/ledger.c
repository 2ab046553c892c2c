/* ledger.c - opens, locks and closes a ledger, and sweeps out processes that
 * ended. */
#include "ledger/ledger_place.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/host.h"
#include "base/ticks.h"
#include "base/witness.h"
#include "ledger/ledger_name.h"

enum { NAP_MIN_NS = 5000, NAP_MAX_NS = 500000 };

/* ---- the lock ------------------------------------------------------------- */

bool larder__ledger_lock(struct ledger *l)
{
    uint64_t give_up_ns = 0;
    struct timespec nap = {.tv_nsec = NAP_MIN_NS};

    mutex_take(&l->lock, RANK_LEDGER);
    while (!larder__token_take(&l->shared, LEDGER_LOCK)) {
        uint64_t now_ns = larder__ticks_system_ns();

        if (give_up_ns == 0)
            give_up_ns = now_ns + LEDGER_PATIENCE_NS;
        if (now_ns >= give_up_ns) {
            mutex_leave(&l->lock);
            return false;
        }
        nanosleep(&nap, NULL);
        if (nap.tv_nsec < NAP_MAX_NS)
            nap.tv_nsec *= 2;
    }
    return true;
}

void larder__ledger_unlock(struct ledger *l)
{
    larder__token_leave(&l->shared, LEDGER_LOCK);
    mutex_leave(&l->lock);
}

/* ---- slots; with the lock --------------------------------------------------- */

static void slot_clear(struct ledger_slot *s)
{
    s->pid = 0;
    word_set(&s->context_bytes, 0);
    word_set(&s->reserved_bytes, 0);
    word_set(&s->pending_bytes, 0);
    word_set(&s->in_use_bytes, 0);
    word_set(&s->minimum_bytes, 0);
    word_set(&s->limit_bytes, 0);
    word_set(&s->group_limit_bytes, 0);
    word_set(&s->given_bytes, 0);
    s->answered = 0;
    memset(s->name, 0, sizeof s->name);
    s->bell = 0;
    s->asked = 0;
    word_set(&s->asked_bytes, 0);
    word_set(&s->asked_ms, 0);
    word_set(&s->told_limit_bytes, 0);
}

void larder__ledger_sweep(struct ledger *l)
{
    for (size_t i = 0; i < LEDGER_SLOTS; i++) {
        struct ledger_slot *s = &l->page->slots[i];

        if (s->pid == 0 || s == l->self || larder__token_is_held(&l->shared, i))
            continue;
        slot_clear(s);
        atomic_fetch_add(&l->page->moves, 1);
    }
}

static bool ledger_is_empty(const struct ledger *l)
{
    for (size_t i = 0; i < LEDGER_SLOTS; i++) {
        if (l->page->slots[i].pid != 0)
            return false;
    }
    return true;
}

/* The process's name; "?" if the system does not say. */
static void name_read(char name[LEDGER_NAME_BYTES])
{
    int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, name, LEDGER_NAME_BYTES - 1);

    if (fd >= 0)
        close(fd);
    if (n <= 1)
        name[0] = '?';
    name[n > 1 ? n - 1 : 1] = '\0'; /* cut the line end */
}

/* A process that is leaving may still hold the token of a free slot. */
static larder_result slot_take(struct ledger *l)
{
    for (size_t i = 0; i < LEDGER_SLOTS; i++) {
        struct ledger_slot *s = &l->page->slots[i];

        if (s->pid != 0 || !larder__token_take(&l->shared, i))
            continue;
        slot_clear(s);
        name_read(s->name);
        word_set(&s->context_bytes, l->context_bytes);
        s->pid = getpid();
        l->self = s;
        return LARDER_OK;
    }
    return larder__fail(LARDER_ERR_BUSY,
                        "the ledger '%s' has %d processes, which is the most "
                        "it can have",
                        l->shared.name, LEDGER_SLOTS);
}

/* ---- opening -------------------------------------------------------------- */

static void page_make(struct ledger *l, const struct ledger_spec *spec)
{
    struct ledger_page *p = l->page;

    word_set(&p->total_bytes, spec->total_bytes);
    word_set(&p->others_bytes, 0);
    p->is_simulated = spec->is_simulated;
    snprintf(p->device, sizeof p->device, "%s", spec->device);
    word_set(&p->magic, LEDGER_MAGIC);
}

/* Map the page, with the file lock held. */
static larder_result page_join(struct ledger *l)
{
    larder_result r = larder__shared_join(&l->shared);

    l->page = l->shared.memory;
    return r;
}

static larder_result slot_join(struct ledger *l, const struct ledger_spec *spec)
{
    larder_result r;

    if (!larder__ledger_lock(l))
        return larder__fail(
            LARDER_ERR_BUSY,
            "the ledger '%s' is locked by a process that is stopped",
            l->shared.name);
    larder__ledger_sweep(l);
    /* This is the first process, or the first since all others died. */
    if (ledger_is_empty(l) || word_get(&l->page->magic) == 0)
        page_make(l, spec);
    r = slot_take(l);
    larder__ledger_unlock(l);
    return r;
}

static void ledger_free(struct ledger *l)
{
    larder__shared_close(&l->shared);
    pthread_mutex_destroy(&l->lock);
    larder__host_free(l);
}

static struct ledger *ledger_new(void)
{
    struct ledger *l = larder__host_alloc(1, sizeof *l);

    if (l == NULL)
        return NULL;
    if (pthread_mutex_init(&l->lock, NULL) != 0) {
        larder__host_free(l);
        return NULL;
    }
    l->shared = (struct shared_object){
        .bytes = sizeof *l->page,
        .magic = LEDGER_MAGIC,
        .kind = "a ledger",
        .advice = "remove it, or run without a ledger (ledger:off)",
        .file = {.fd = -1},
    };
    l->limit_bytes = UINT64_MAX;
    l->told_limit_bytes = UINT64_MAX;
    l->group_limit_bytes = UINT64_MAX;
    return l;
}

larder_result larder__ledger_open(const struct ledger_spec *spec,
                                  ledger_free_fn *free_fn, struct ledger **out)
{
    struct ledger *l = ledger_new();
    larder_result r;

    if (l == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    l->total_bytes = spec->total_bytes;
    l->context_bytes = spec->context_bytes;
    l->free_fn = free_fn;
    larder__ledger_name(spec, l->shared.name);
    l->shared.is_of_group = spec->is_of_group;
    l->shared.group = spec->group;
    r = page_join(l);
    if (r == LARDER_OK) {
        r = slot_join(l, spec);
        larder__shared_unlock(&l->shared);
    }
    if (r != LARDER_OK)
        ledger_free(l);
    else
        *out = l;
    return r;
}

void larder__ledger_set_device(struct ledger *l, void *device)
{
    mutex_take(&l->lock, RANK_LEDGER);
    l->device = device;
    mutex_leave(&l->lock);
}

/* The slot is freed even without the lock: its token goes with the file. */
static void leave(struct ledger *l)
{
    bool has_file_lock = larder__shared_lock(&l->shared);

    if (larder__ledger_lock(l)) {
        if (l->self != NULL) {
            slot_clear(l->self);
            atomic_fetch_add(&l->page->moves, 1);
        }
        l->self = NULL;
        larder__ledger_sweep(l);
        if (has_file_lock && ledger_is_empty(l))
            larder__shared_remove(&l->shared);
        larder__ledger_unlock(l);
    }
    if (has_file_lock)
        larder__shared_unlock(&l->shared);
}

void larder__ledger_close(struct ledger *l)
{
    if (l == NULL)
        return;
    leave(l);
    ledger_free(l);
}

/* ---- inspection without joining ------------------------------------------- */

larder_result larder__ledger_inspect(const char *id, struct ledger **out)
{
    struct ledger *l;
    larder_result r;

    if (!larder__ledger_id_is_good(id))
        return larder__fail(LARDER_ERR_INVALID, "'%.40s' is no ledger's id",
                            id);
    l = ledger_new();
    if (l == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    larder__ledger_name_of_id(id, &l->shared);
    r = larder__ledger_exists(&l->shared)
            ? page_join(l)
            : larder__fail(LARDER_ERR_INVALID, "there is no ledger '%s'", id);
    if (r != LARDER_OK) {
        ledger_free(l);
        return r;
    }
    larder__shared_unlock(&l->shared);
    l->total_bytes = word_get(&l->page->total_bytes);
    *out = l;
    return LARDER_OK;
}
