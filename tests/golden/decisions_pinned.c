/* decisions_pinned.c - operations of random programs on pinned host memory. */
#include <larder/pinned.h>

#include <sys/mman.h>

#include "device/device_object.h"
#include "golden/decisions.h"

/* ---- the host's memory ------------------------------------------------------- */

/* Of two free blocks of a size the lower is taken, so that where the host's
 * memory lies decides: here at ever higher addresses. */
enum { ARENA_GIB = 8 };

static struct {
    char *base;
    uint64_t used;
} arena;

static larder_result arena_alloc(void *self, uint64_t bytes, void **out)
{
    (void)self;
    assert_true(arena.used + bytes <= GIB(ARENA_GIB));
    *out = arena.base + arena.used;
    arena.used += (bytes + MIB(2) - 1) / MIB(2) * MIB(2);
    return LARDER_OK;
}

static larder_result arena_free(void *self, void *ptr)
{
    (void)self;
    (void)ptr;
    return LARDER_OK;
}

void host_begin(struct world *w)
{
    arena.used = 0;
    arena.base = mmap(NULL, GIB(ARENA_GIB), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(arena.base, MAP_FAILED);
    w->rig.dev->ops.host_alloc = arena_alloc;
    w->rig.dev->ops.host_free = arena_free;
}

void host_end(void)
{
    assert_int_equal(munmap(arena.base, GIB(ARENA_GIB)), 0);
}

/* ---- operations ---------------------------------------------------------------- */

/* Where in its segment. */
static void mix_place(struct world *w, const void *ptr)
{
    larder_addr base = 0;
    uint64_t bytes = 0;

    if (!CALL(w,
              larder_base_allocation(w->pinned, (uintptr_t)ptr, &base, &bytes)))
        return;
    mix(w, DIGEST_placed, (uintptr_t)ptr - base);
    mix(w, DIGEST_placed, bytes);
    step_says(w, "  at %llx of %llu",
              (unsigned long long)((uintptr_t)ptr - base),
              (unsigned long long)bytes);
}

void op_pin(struct world *w)
{
    void **pin = &w->pins[draw(w, PINS)];
    uint64_t bytes = draw_size(w) / 4;

    if (*pin != NULL) {
        step_says(w, "unpin %d", (int)(pin - w->pins));
        if (CALL(w, larder_pinned_free(w->pinned, *pin)))
            *pin = NULL;
        return;
    }
    step_says(w, "pin %d, %llu", (int)(pin - w->pins),
              (unsigned long long)bytes);
    if (step_ends_silently(w, larder_pinned_alloc(w->pinned, bytes, pin)))
        mix_place(w, *pin);
}

void op_pin_record(struct world *w)
{
    void *pin = w->pins[draw(w, PINS)];
    larder_stream stream = draw(w, STREAMS);

    if (pin == NULL)
        return;
    step_says(w, "record pinned on %llu", (unsigned long long)stream);
    CALL(w, larder_pinned_record_stream(w->pinned, pin, stream));
}

void op_pin_release(struct world *w)
{
    step_says(w, "release pinned");
    if (chance(w, 2))
        CALL(w, larder_empty_cache(w->pinned));
    else
        CALL(w, larder_trim(w->pinned, draw(w, MIB(16)), NULL));
}
