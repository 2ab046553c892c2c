/* fake_handles.c - which handles are valid.  A handle is a number that is never
 * used twice, so a handle of a destroyed object or of another kind, or an
 * invalid one, is detected without reading any memory. */
#include "driver/fake_state.h"

#include <string.h>

enum { HANDLE_BUCKETS = 4096 };

/* Above all numbers that are predefined stream handles.  Programs expect the
 * alignment of a pointer. */
enum { HANDLE_FIRST = 1 << 20, HANDLE_STEP = 16 };

static struct fake_handle *handles[HANDLE_BUCKETS];
static uintptr_t handles_made;

static struct fake_handle **bucket_of(uintptr_t value)
{
    return &handles[value / HANDLE_STEP % HANDLE_BUCKETS];
}

void *fake_handle_make(struct fake_handle *h, enum fake_kind kind)
{
    struct fake_handle **bucket;

    h->value = HANDLE_FIRST + HANDLE_STEP * handles_made++;
    h->kind = kind;
    bucket = bucket_of(h->value);
    h->next = *bucket;
    *bucket = h;
    return (void *)h->value;
}

void *fake_handle_find(enum fake_kind kind, const void *handle)
{
    struct fake_handle *h = *bucket_of((uintptr_t)handle);

    while (h != NULL && h->value != (uintptr_t)handle)
        h = h->next;
    return h != NULL && h->kind == kind ? h : NULL;
}

void fake_handle_drop(struct fake_handle *h)
{
    struct fake_handle **at = bucket_of(h->value);

    while (*at != h)
        at = &(*at)->next;
    *at = h->next;
}

void fake_handles_each(enum fake_kind kind, fake_handle_fn *fn,
                       const struct fake_device *d)
{
    for (int i = 0; i < HANDLE_BUCKETS; i++) {
        struct fake_handle *h = handles[i];

        while (h != NULL)
            h = h->kind == kind && fn(h, d) ? handles[i] : h->next;
    }
}

cud_result fake_begin_handle(const char *symbol, enum fake_kind kind,
                             const void *handle, void *out)
{
    static const struct {
        const char *name;
        cud_result answer;
    } kinds[] = {
        [FAKE_STREAM] = {"stream", CUD_INVALID_HANDLE},
        [FAKE_CONTEXT] = {"context", CUD_INVALID_CONTEXT},
        [FAKE_POOL] = {"pool", CUD_INVALID_VALUE},
        [FAKE_GRAPH] = {"graph", CUD_INVALID_VALUE},
        [FAKE_EXEC] = {"executable graph", CUD_INVALID_VALUE},
        [FAKE_OBJECT] = {"user object", CUD_INVALID_VALUE},
        [FAKE_MODULE] = {"module", CUD_INVALID_HANDLE},
        [FAKE_FUNCTION] = {"function", CUD_INVALID_HANDLE},
        [FAKE_LINK] = {"linker", CUD_INVALID_HANDLE},
    };
    cud_result answer = fake_begin_bare(symbol);
    void *found;

    if (answer != CUD_SUCCESS)
        return answer;
    found = fake_handle_find(kind, handle);
    memcpy(out, &found, sizeof found);
    return found != NULL
               ? CUD_SUCCESS
               : fake_end(fake_broken(symbol, kinds[kind].answer,
                                      "there is no %s %p, or no longer",
                                      kinds[kind].name, handle));
}
