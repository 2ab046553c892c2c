/* test_cuda_ancient.c - a driver that lacks a required call is refused, and the
 * error names the call.  Its stand-in lacks cuStreamSynchronize(). */
#include "cuda_rig.h"

static void a_missing_call_is_named(void **state)
{
    larder_device *dev = NULL;

    (void)state;
    assert_refused(LARDER_ERR_UNSUPPORTED,
                   larder_device_open("cuda:0", 0, &dev),
                   "lacks 'cuStreamSynchronize'");
    assert_null(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_call_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
