/* ledger_api.c - inspects ledgers from outside.
 *
 * The memory may contain anything: texts are truncated and cleaned, numbers are
 * only passed on. */
#include <larder/ledger.h>

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/fail.h"
#include "base/host.h"
#include "ledger/ledger_name.h"

/* ---- copying -------------------------------------------------------------- */

/* Copy printable ASCII, with a NUL. */
static void text_copy(char *out, const char *in, size_t bytes)
{
    size_t n = 0;

    for (; n + 1 < bytes && in[n] != '\0'; n++)
        out[n] = in[n] >= ' ' && in[n] <= '~' ? in[n] : '?';
    out[n] = '\0';
}

static bool is_own(int64_t pid)
{
    char path[64];
    struct stat st;

    snprintf(path, sizeof path, "/proc/%lld", (long long)pid);
    return stat(path, &st) == 0 && st.st_uid == geteuid();
}

static void device_copy(const struct ledger *l, larder_ledger_device *out)
{
    const struct ledger_page *p = l->page;
    const char *id = l->shared.name + 1;

    memset(out, 0, sizeof *out);
    out->size = sizeof *out;
    snprintf(out->id, sizeof out->id, "%s", id);
    text_copy(out->name, p->device, sizeof p->device);
    larder__ledger_uuid_of_id(id, out->uuid);
    out->total_bytes = word_get(&p->total_bytes);
    out->others_bytes = word_get(&p->others_bytes);
    out->group = l->shared.is_of_group ? (int64_t)l->shared.group : -1;
    out->is_simulated = p->is_simulated != 0;
}

static void process_copy(const struct ledger_slot *s,
                         larder_ledger_process *out)
{
    memset(out, 0, sizeof *out);
    out->size = sizeof *out;
    out->pid = s->pid;
    text_copy(out->name, s->name, sizeof s->name);
    out->context_bytes = word_get(&s->context_bytes);
    out->reserved_bytes = word_get(&s->reserved_bytes);
    out->in_use_bytes =
        bits_lesser(word_get(&s->in_use_bytes), out->reserved_bytes);
    out->minimum_bytes = word_get(&s->minimum_bytes);
    out->limit_bytes = word_get(&s->limit_bytes);
    out->group_limit_bytes = word_get(&s->group_limit_bytes);
    out->is_own = is_own(out->pid);
    out->is_self = out->pid == getpid();
}

/* A limit set from outside counts if it is lower than the process's own. */
static void add_told(const struct ledger_slot *s, larder_ledger_process *out)
{
    uint64_t told = word_get(&s->told_limit_bytes);

    if (told != 0 && (out->limit_bytes == 0 || told < out->limit_bytes))
        out->limit_bytes = told;
}

static bool processes_copy(struct ledger *l, larder_ledger_process *out,
                           size_t *count)
{
    *count = 0;
    if (!larder__ledger_lock(l))
        return false;
    larder__ledger_sweep(l);
    for (uint32_t i = 0; i < LEDGER_SLOTS; i++) {
        const struct ledger_slot *s = &l->page->slots[i];

        if (s->pid == 0)
            continue;
        process_copy(s, &out[*count]);
        add_told(s, &out[*count]);
        *count += 1;
        larder__ledger_ring(l, i, 0);
    }
    larder__ledger_unlock(l);
    return true;
}

/* ---- listing ledgers -------------------------------------------------------- */

/* Ledgers of others, and those that are gone, are skipped. */
static void show(const char *id, larder_ledger_process *room,
                 larder_ledger_fn *fn, void *ctx)
{
    larder_ledger_device device;
    struct ledger *l;
    size_t count;

    if (larder__ledger_inspect(id, &l) != LARDER_OK)
        return;
    if (processes_copy(l, room, &count) && count > 0) {
        device_copy(l, &device);
        fn(ctx, &device, room, count);
    }
    larder__ledger_close(l);
}

larder_result larder_ledger_each(larder_ledger_fn *fn, void *ctx)
{
    larder_ledger_process *room;
    const struct dirent *entry;
    DIR *folder;

    if (fn == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    room = larder__host_alloc(LEDGER_SLOTS, sizeof *room);
    if (room == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    folder = opendir(LEDGER_FOLDER);
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (larder__ledger_id_is_good(entry->d_name))
            show(entry->d_name, room, fn, ctx);
    }
    if (folder != NULL)
        closedir(folder);
    larder__host_free(room);
    return LARDER_OK;
}

/* ---- one process ------------------------------------------------------------ */

/* The number of its slot, with the lock held.  LEDGER_SLOTS: none. */
static uint32_t slot_of(const struct ledger *l, int64_t pid)
{
    uint32_t i = 0;

    while (i < LEDGER_SLOTS && (pid == 0 || l->page->slots[i].pid != pid))
        i++;
    return i;
}

/* Ask the process for `bytes`, after setting its limit unless that is NULL. */
static larder_result tell(const char *id, int64_t pid, uint64_t bytes,
                          const uint64_t *limit)
{
    struct ledger *l;
    larder_result r = larder__ledger_inspect(id, &l);
    uint32_t slot;

    if (r != LARDER_OK)
        return r;
    if (!larder__ledger_lock(l)) {
        larder__ledger_close(l);
        return larder__fail(
            LARDER_ERR_BUSY,
            "the ledger '%s' is locked by a process that is stopped", id);
    }
    larder__ledger_sweep(l);
    slot = slot_of(l, pid);
    if (slot < LEDGER_SLOTS && limit != NULL)
        word_set(&l->page->slots[slot].told_limit_bytes, *limit);
    if (slot < LEDGER_SLOTS)
        larder__ledger_ring(l, slot, bytes);
    larder__ledger_unlock(l);
    larder__ledger_close(l);
    return slot < LEDGER_SLOTS
               ? LARDER_OK
               : larder__fail(LARDER_ERR_INVALID,
                              "the ledger '%s' has no process %lld", id,
                              (long long)pid);
}

larder_result larder_ledger_trim(const char *id, int64_t pid, uint64_t bytes)
{
    return tell(id, pid, bytes, NULL);
}

larder_result larder_ledger_limit(const char *id, int64_t pid, uint64_t bytes)
{
    return tell(id, pid, 0, &bytes);
}
