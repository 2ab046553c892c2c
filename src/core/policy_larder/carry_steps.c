/* carry_steps.c - the driver calls of a move, each of which may fail
 * (carry.h). */
#include "core/policy_larder/carry.h"

#include "base/fail.h"
#include "core/peers/draw.h"
#include "core/segments/events.h"
#include "core/segments/segment.h"

static uint64_t run_bytes(const struct carry *c, size_t i)
{
    return pages_bytes(c->runs[i].pages);
}

static uint64_t handle_bytes(const struct carry *c)
{
    return pages_bytes(c->end - c->begin);
}

static larder_addr handle_place(const struct carry *c)
{
    return page_at(c->segment, c->begin);
}

/* ---- copying --------------------------------------------------------------- */

/* If the wait fails the copy may still be running.  Waiting once more may tell
 * that it is over, but the failure is returned either way. */
static larder_result carry_steps_copy_wait(struct allocator *a,
                                           larder_copy_kind kind)
{
    struct carry *c = &a->larder->carry;
    larder_stream stream = c->segment->heap->stream;
    larder_result r = larder__events_pass(a, stream);

    if (r != LARDER_OK && larder__events_pass(a, stream) != LARDER_OK &&
        kind == LARDER_COPY_TO_HOST)
        c->is_in_flight = true;
    return r;
}

/* Copy all used pages: `at` is where the handle, or one like it, is mapped; at
 * `packed` they follow one another.  `kind` says which of them is the target. */
static larder_result copy(struct allocator *a, uint64_t packed, larder_addr at,
                          larder_copy_kind kind)
{
    const struct carry *c = &a->larder->carry;
    bool unpacks = kind == LARDER_COPY_TO_DEVICE;
    larder_result r = LARDER_OK;

    for (size_t i = 0; r == LARDER_OK && i < c->count; i++) {
        larder_addr place = at + pages_bytes(c->runs[i].begin - c->begin);

        r = larder_device_copy(a->device, unpacks ? place : packed,
                               unpacks ? packed : place, run_bytes(c, i), kind,
                               c->segment->heap->stream);
        packed += run_bytes(c, i);
    }
    /* Wait even if a copy failed: earlier ones are queued. */
    fail_keep_first(&r, carry_steps_copy_wait(a, kind));
    return r;
}

larder_result larder__carry_to_host(struct allocator *a)
{
    const struct carry *c = &a->larder->carry;

    return copy(a, (uint64_t)(uintptr_t)c->host, handle_place(c),
                LARDER_COPY_TO_HOST);
}

/* ---- the new handles ------------------------------------------------------- */

larder_result larder__carry_new_create(struct allocator *a)
{
    struct carry *c = &a->larder->carry;
    larder_result r = LARDER_OK;

    larder__assert(a->has_withheld && c->made <= c->count);
    while (r == LARDER_OK && c->made < c->count) {
        r = larder__draw_handle(a, run_bytes(c, c->made),
                                &c->runs[c->made].handle);
        c->made += r == LARDER_OK;
    }
    return r;
}

void larder__carry_new_release(struct allocator *a)
{
    struct carry *c = &a->larder->carry;

    larder__assert(c->mapped == 0);
    while (c->made > 0) {
        size_t i = --c->made;

        larder__orphan_try_release(a,
                                   (struct orphan){.handle = c->runs[i].handle,
                                                   .bytes = run_bytes(c, i)});
    }
}

larder_result larder__carry_new_map(struct allocator *a)
{
    struct carry *c = &a->larder->carry;
    larder_result r = LARDER_OK;

    larder__assert(!c->is_mapped && c->made == c->count);
    while (r == LARDER_OK && c->mapped < c->count) {
        size_t i = c->mapped;

        r = larder__device_map(a->device, carry_place(c, i), run_bytes(c, i),
                               c->runs[i].handle);
        c->mapped += r == LARDER_OK;
    }
    for (size_t i = 0; r == LARDER_OK && i < c->count; i++)
        r = larder__device_set_access(a->device, carry_place(c, i),
                                      run_bytes(c, i));
    return r;
}

larder_result larder__carry_new_unmap(struct allocator *a)
{
    struct carry *c = &a->larder->carry;
    larder_result r = LARDER_OK;

    larder__assert(c->mapped <= c->made);
    while (r == LARDER_OK && c->mapped > 0) {
        r = larder__device_unmap(a->device, carry_place(c, c->mapped - 1),
                                 run_bytes(c, c->mapped - 1), 1);
        c->mapped -= r == LARDER_OK;
    }
    return r;
}

/* ---- scratch addresses ----------------------------------------------------- */

larder_result larder__scratch_free(struct allocator *a)
{
    struct carry *c = &a->larder->carry;
    larder_result r;

    if (c->scratch == 0)
        return LARDER_OK;
    r = larder__device_address_free(a->device, c->scratch,
                                    pages_bytes(c->scratch_pages));
    if (r == LARDER_OK)
        c->scratch = c->scratch_pages = 0;
    return r;
}

larder_result larder__scratch_ensure(struct allocator *a, size_t pages)
{
    struct carry *c = &a->larder->carry;
    larder_result r;

    if (c->scratch_pages >= pages)
        return LARDER_OK;
    r = larder__scratch_free(a);
    if (r == LARDER_OK)
        r = larder__device_address_reserve(a->device, pages_bytes(pages),
                                           &c->scratch);
    if (r == LARDER_OK)
        c->scratch_pages = pages;
    return r;
}

/* Where the i-th run is mapped. */
static larder_addr scratch_place(const struct carry *c, size_t i)
{
    larder_addr at = c->scratch;

    while (i > 0)
        at += run_bytes(c, --i);
    return at;
}

static larder_result scratch_map(struct allocator *a, size_t *mapped)
{
    const struct carry *c = &a->larder->carry;
    larder_addr at = c->scratch;

    larder__assert(c->scratch != 0 && c->scratch_pages >= c->used);
    for (*mapped = 0; *mapped < c->count; ++*mapped) {
        uint64_t bytes = run_bytes(c, *mapped);
        larder_result r =
            larder__device_map(a->device, at, bytes, c->runs[*mapped].handle);

        if (r != LARDER_OK)
            return r;
        at += bytes;
    }
    return larder__device_set_access(a->device, c->scratch,
                                     pages_bytes(c->used));
}

/* A handle that the device fails to unmap becomes an orphan. */
static larder_result scratch_unmap(struct allocator *a, size_t mapped)
{
    struct carry *c = &a->larder->carry;
    larder_result r = LARDER_OK;

    if (mapped > 0)
        r = larder__device_unmap(a->device, c->scratch,
                                 scratch_place(c, mapped) - c->scratch, mapped);
    if (r == LARDER_OK)
        return r;
    while (c->made > 0) {
        size_t i = --c->made;
        struct orphan orphan = {.handle = c->runs[i].handle,
                                .bytes = run_bytes(c, i)};

        if (i < mapped)
            orphan.mapped_at = scratch_place(c, i);
        larder__orphan_try_release(a, orphan);
    }
    return r;
}

/* The runs are next to each other on both sides. */
static larder_result copy_from_host(struct allocator *a)
{
    const struct carry *c = &a->larder->carry;
    larder_result r = larder_device_copy(
        a->device, c->scratch, (uint64_t)(uintptr_t)c->host,
        pages_bytes(c->used), LARDER_COPY_TO_DEVICE, c->segment->heap->stream);

    fail_keep_first(&r, carry_steps_copy_wait(a, LARDER_COPY_TO_DEVICE));
    return r;
}

larder_result larder__scratch_copy(struct allocator *a, bool from_host)
{
    const struct carry *c = &a->larder->carry;
    size_t mapped = 0;
    larder_result r = scratch_map(a, &mapped);

    if (r == LARDER_OK)
        r = from_host
                ? copy_from_host(a)
                : copy(a, c->scratch, handle_place(c), LARDER_COPY_ON_DEVICE);
    fail_keep_first(&r, scratch_unmap(a, mapped));
    return r;
}

/* ---- the old handle -------------------------------------------------------- */

larder_result larder__carry_old_unmap(struct allocator *a)
{
    struct carry *c = &a->larder->carry;
    larder_result r =
        larder__device_unmap(a->device, handle_place(c), handle_bytes(c), 1);

    if (r == LARDER_OK)
        c->is_mapped = c->is_usable = false;
    return r;
}

larder_result larder__carry_old_release(struct allocator *a)
{
    struct carry *c = &a->larder->carry;
    larder_result r = larder__return_handle(a, c->handle, handle_bytes(c));

    larder__assert(!c->is_mapped && c->host != NULL);
    if (r == LARDER_OK)
        c->handle = 0;
    return r;
}

larder_result larder__carry_old_remake(struct allocator *a)
{
    struct carry *c = &a->larder->carry;
    larder_result r;

    if (c->handle != 0)
        return LARDER_OK;
    r = larder__draw_handle(a, handle_bytes(c), &c->handle);
    if (r == LARDER_OK)
        c->is_blank = true;
    return r;
}

static larder_result scratch_map_old(struct allocator *a)
{
    struct carry *c = &a->larder->carry;
    larder_result r;

    if (a->orphans.count > 0) /* one may be mapped there */
        (void)larder__orphans_release(a);
    r = larder__scratch_ensure(a, c->end - c->begin);
    if (r == LARDER_OK)
        r = larder__device_map(a->device, c->scratch, handle_bytes(c),
                               c->handle);
    c->is_at_scratch = r == LARDER_OK;
    return r;
}

/* At its own addresses work would see the handle before it has its contents. */
larder_result larder__carry_old_refill(struct allocator *a)
{
    struct carry *c = &a->larder->carry;
    larder_result r = LARDER_OK;

    larder__assert(c->handle != 0 && !c->is_mapped);
    if (allocator_is_capturing(a)) /* the copy would be a part of the graph */
        return larder__fail_plain(LARDER_ERR_CAPTURING);
    if (!c->is_at_scratch)
        r = scratch_map_old(a);
    if (r == LARDER_OK)
        r = larder__device_set_access(a->device, c->scratch, handle_bytes(c));
    if (r == LARDER_OK)
        r = copy(a, (uint64_t)(uintptr_t)c->host, c->scratch,
                 LARDER_COPY_TO_DEVICE);
    if (r == LARDER_OK)
        r = larder__device_unmap(a->device, c->scratch, handle_bytes(c), 1);
    if (r == LARDER_OK)
        c->is_at_scratch = c->is_blank = false;
    return r;
}

larder_result larder__carry_old_map(struct allocator *a)
{
    struct carry *c = &a->larder->carry;
    larder_result r = LARDER_OK;

    larder__assert(c->handle != 0 && !c->is_blank && c->mapped == 0);
    if (!c->is_mapped)
        r = larder__device_map(a->device, handle_place(c), handle_bytes(c),
                               c->handle);
    if (r != LARDER_OK)
        return r;
    c->is_mapped = true;
    if (!c->is_usable)
        r = larder__device_set_access(a->device, handle_place(c),
                                      handle_bytes(c));
    if (r == LARDER_OK)
        c->is_usable = true;
    return r;
}
