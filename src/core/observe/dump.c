/* dump.c - writes a snapshot when memory runs out. */
#include "core/observe/dump.h"

#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "core/observe/snapshot_state.h"
#include "core/state/shard.h"

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

void larder__dump_on_oom(struct allocator *a)
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
