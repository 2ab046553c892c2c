/* orphan.c - memory that the device failed to take back. */
#include "core/peers/draw.h"
#include "core/segments/segment.h"

#include "base/fail.h"
#include "base/host.h"

bool larder__orphans_make_room(struct allocator *a, size_t count)
{
    /* One more than the pages, for a driver allocation. */
    size_t need = a->page_count + a->orphans.count + count + 1;

    if (need <= a->orphans.capacity)
        return true;
    need += need / 2;
    if (!larder__host_grow(&a->orphans.list, need, sizeof *a->orphans.list))
        return false;
    a->orphans.capacity = need;
    return true;
}

static larder_result orphan_release(struct allocator *a, struct orphan *o)
{
    larder_result r;

    if (o->memory != 0)
        return larder__return_memory(a, o->memory, o->bytes);
    if (o->mapped_at != 0) {
        r = larder__device_unmap(a->device, o->mapped_at, o->bytes, 1);
        if (r != LARDER_OK)
            return r;
        o->mapped_at = 0;
    }
    return larder__return_handle(a, o->handle, o->bytes);
}

void larder__orphan_try_release(struct allocator *a, struct orphan orphan)
{
    larder__assert((orphan.memory == 0) != (orphan.handle == 0));
    larder__assert(a->orphans.count < a->orphans.capacity);
    if (orphan_release(a, &orphan) == LARDER_OK)
        return;
    a->orphans.list[a->orphans.count++] = orphan;
    a->account.refused_bytes += orphan.bytes;
    larder__device_holds(a->device, orphan.bytes);
}

larder_result larder__orphans_release(struct allocator *a)
{
    larder_result r = LARDER_OK;
    size_t kept = 0;

    for (size_t i = 0; i < a->orphans.count; i++) {
        larder_result one = orphan_release(a, &a->orphans.list[i]);

        if (one != LARDER_OK) {
            a->orphans.list[kept++] = a->orphans.list[i];
        } else {
            larder__assert(a->account.refused_bytes >=
                           a->orphans.list[i].bytes);
            a->account.refused_bytes -= a->orphans.list[i].bytes;
            larder__device_lacks(a->device, a->orphans.list[i].bytes);
        }
        fail_keep_first(&r, one);
    }
    larder__assert(kept > 0 || a->account.refused_bytes == 0);
    a->orphans.count = kept;
    return r;
}
