/* test_emit.c - how a snapshot's lists are written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/pickle.h"
#include "core/observe/emit.h"

struct written {
    size_t used;
    unsigned char bytes[1 << 16];
};

static int keep(void *ctx, const void *data, size_t bytes)
{
    struct written *w = ctx;

    assert_true(w->used + bytes <= sizeof w->bytes);
    memcpy(w->bytes + w->used, data, bytes);
    w->used += bytes;
    return 0;
}

/* Of a list of so many True, a byte each: nothing else looks like an opcode. */
static size_t count_in_list(size_t items, unsigned char opcode)
{
    static struct emit e;
    static struct written w;
    size_t count = 0;

    w.used = 0;
    larder__emit_begin(&e, keep, &w, false);
    larder__emit_list_begin(&e);
    for (size_t i = 0; i < items; i++) {
        larder__emit_list_next(&e);
        larder__emit_bool(&e, true);
    }
    larder__emit_list_end(&e);
    assert_true(larder__emit_end(&e));
    for (size_t i = 0; i < w.used; i++)
        count += w.bytes[i] == opcode;
    return count;
}

/* Or the reader's stack would hold all of it, as Python's pickle says. */
static void a_long_list_is_appended_in_batches(void **state)
{
    static const struct {
        size_t items, batches;
    } lists[] = {{0, 0},
                 {1, 1},
                 {EMIT_BATCH, 1},
                 {EMIT_BATCH + 1, 2},
                 {3 * EMIT_BATCH, 3}};

    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        assert_int_equal(count_in_list(lists[i].items, PICKLE_APPENDS),
                         lists[i].batches);
        assert_int_equal(count_in_list(lists[i].items, PICKLE_MARK),
                         lists[i].batches);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_list_is_appended_in_batches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
