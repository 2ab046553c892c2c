/* test_preload_migrate_contexts.c - nothing moves once there was a context other
 * than a device's primary one: the library cannot wait for its work. */
#include "moving_rig.h"

static void nothing_moves_once_there_was_another_context(void **state)
{
    struct holes h = holes_make();
    cud_addr got = allocate(WANTED);
    cud_context other;
    cud_context popped;

    (void)state;
    assert_int_equal(stats_now().moves, 1);
    release(got);
    holes_give(&h);
    h = holes_make();
    assert_int_equal(cuCtxCreate_v2(&other, 0, 0), CUD_SUCCESS);
    assert_int_equal(cuMemsetD8_v2(h.kept[0], byte_of(0), PAGE), CUD_SUCCESS);
    assert_int_equal(DRIVER(cuCtxPopCurrent_v2)(&popped), CUD_SUCCESS);
    assert_nothing_moves();
    holes_verify(&h);
    holes_give(&h);
    assert_int_equal(cuCtxDestroy_v2(other), CUD_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PRELOAD_TEST(nothing_moves_once_there_was_another_context),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
