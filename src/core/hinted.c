/* hinted.c - the public call of hint.h. */
#include <larder/hint.h>

#include "base/fail.h"
#include "core/fast.h"
#include "core/handle.h"
#include "core/policy.h"
#include "core/recording.h"

static larder_result check_hint(larder_hint hint)
{
    if (hint == LARDER_HINT_NONE || hint == LARDER_HINT_LONG ||
        hint == LARDER_HINT_SHORT)
        return LARDER_OK;
    return larder__fail(LARDER_ERR_INVALID,
                        "%d is no hint; expected LARDER_HINT_NONE, "
                        "LARDER_HINT_LONG or LARDER_HINT_SHORT",
                        (int)hint);
}

/* As larder_alloc() does.  The long way marks what lives long; nothing else
 * has need of it. */
static bool alloc_shortly(struct allocator *a, uint64_t bytes,
                          larder_stream stream, larder_hint hint,
                          larder_addr *out)
{
    struct front *f = front_of(a, stream);
    bool done;

    if (f == NULL || hint == LARDER_HINT_LONG)
        return false;
    lock_take(&f->lock);
    done = fast_take(a, f, bytes, out) || larder__fast_alloc(a, f, bytes, out);
    lock_leave(&f->lock);
    return done;
}

larder_result larder_alloc_hinted(larder_allocator *handle, uint64_t bytes,
                                  larder_stream stream, larder_hint hint,
                                  larder_addr *out)
{
    struct allocator *a;
    larder_result r = check_hint(hint);

    if (r != LARDER_OK)
        return r;
    if (out == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    a = handle_allocator(handle);
    if (a == NULL)
        return larder__handle_bad(handle);
    if (bytes == 0) {
        *out = 0;
        return LARDER_OK;
    }
    if (alloc_shortly(a, bytes, stream, hint, out))
        return LARDER_OK;
    larder__lock_all(a);
    larder__front_enter(a);
    history_enter(a, __builtin_return_address(0));
    r = larder__request(a, bytes, stream, hint, out);
    larder__front_stock(a, stream);
    larder__unlock_all(a);
    return r;
}
