/* test_preload_migrate_ends.c - calls after which nothing moves, as others may
 * use memory that is neither held back nor waited for; and calls like them after
 * which it still does.  Each ends moving for good: one process a test. */
#include "moving_rig.h"

#include <spawn.h>
#include <sys/wait.h>

#include "lookup.h"
#include "unknown.h"
#include "work.h"

enum { SYNC_MEMOPS = 6, BLOCKING_SYNC = 4, HOST = 2 };

static void allow(int type, cud_addr addr)
{
    const cud_access access = {.location = {.type = type},
                               .flags = CUD_READ_WRITE};

    (void)cuMemSetAccess(addr, PAGE, &access, 1);
}

/* ---- what ends it -------------------------------------------------------------- */

static void attribute_of_a_pointer(cud_addr at)
{
    unsigned on = 1;

    (void)cuPointerSetAttribute(&on, SYNC_MEMOPS, at);
}

static void tokens_of_a_peer(cud_addr at)
{
    unsigned long long tokens[2];

    (void)cuPointerGetAttribute(tokens, CUD_PEER_TOKENS, at);
}

static void tokens_among_attributes(cud_addr at)
{
    unsigned long long tokens[2];
    size_t bytes;
    int which[2] = {CUD_RANGE_SIZE, CUD_PEER_TOKENS};
    void *out[2] = {&bytes, tokens};

    (void)cuPointerGetAttributes(2, which, out, at);
}

static void multicast(cud_addr at)
{
    (void)cuMulticastBindAddr(1, 0, at, PAGE, 0);
}

static void multicast_of_today(cud_addr at)
{
    (void)cuMulticastBindAddr_v2(1, 0, 0, at, PAGE, 0);
}

static void logical_endpoint(cud_addr at)
{
    (void)cuLogicalEndpointBindAddr(1, 0, 0, (void *)(uintptr_t)at, PAGE, 0);
}

static void handle_of_a_range(cud_addr at)
{
    int fd;

    (void)cuMemGetHandleForAddressRange(&fd, at, PAGE, 1, 0);
}

static void handle_of_memory_in_use(cud_addr at)
{
    cud_page page = 0;

    if (cuMemRetainAllocationHandle(&page, (void *)(uintptr_t)at) == 0)
        (void)cuMemRelease(page);
}

static void green_context(cud_addr at)
{
    void *context;

    (void)at;
    (void)cuGreenCtxCreate(&context, NULL, 0, 1);
}

static void context_of_graphics(cud_addr at)
{
    cud_context context;

    (void)at;
    (void)cuGLCtxCreate_v2(&context, 0, 0);
}

static void capture_for_graphics(cud_addr at)
{
    (void)at;
    (void)cuStreamBeginCaptureToCig(NULL, NULL);
}

static void frame_presented(cud_addr at)
{
    const struct preload_frame frame = {.planes = {(void *)(uintptr_t)at}};

    (void)cuEGLStreamProducerPresentFrame(NULL, frame, NULL);
}

static void access_of_the_host(cud_addr at)
{
    allow(HOST, at);
}

static void flag_of_the_context(cud_addr at)
{
    (void)at;
    (void)cuCtxSetFlags(BLOCKING_SYNC | CUD_SYNC_MEMOPS_OF_CONTEXT);
}

static void flag_of_the_primary_context(cud_addr at)
{
    (void)at;
    (void)cuDevicePrimaryCtxSetFlags_v2(0, CUD_SYNC_MEMOPS_OF_CONTEXT);
}

static void flag_of_the_primary_context_of_old(cud_addr at)
{
    (void)at;
    (void)cuDevicePrimaryCtxSetFlags(0, CUD_SYNC_MEMOPS_OF_CONTEXT);
}

/* ---- calls that are not known ----------------------------------------------------- */

typedef __typeof__(cuOfTomorrow) tomorrow_fn;

static tomorrow_fn *found(const char *name, int version)
{
    void *out = NULL;
    tomorrow_fn *fn;
    int status;

    assert_int_equal(cuGetProcAddress_v2(name, &out, version, 0, &status), 0);
    assert_non_null(out);
    memcpy(&fn, &out, sizeof fn);
    return fn;
}

/* All arguments arrive, on the stack and in registers of both kinds. */
static void call_of_tomorrow(tomorrow_fn *fn)
{
    uint64_t sum = 0;

    assert_ptr_not_equal(fn, &DRIVER(cuOfTomorrow));
    assert_null(preload_work_shared_by());
    assert_int_equal(fn(1, 10, 100, 1000, 10000, 100000, 1000000, 1e7, &sum),
                     0);
    assert_int_equal(sum, 1 + 20 + 300 + 5000 + 70000 + 1100000 + 13000000 +
                              170000000);
    assert_non_null(preload_work_shared_by());
}

static void unknown_call(cud_addr at)
{
    (void)at;
    call_of_tomorrow(found("cuOfTomorrow", 12000));
    assert_string_equal(preload_work_shared_by(), "cuOfTomorrow");
}

static void newer_variant_of_a_known_call(cud_addr at)
{
    (void)at;
    call_of_tomorrow(found("cuMemcpyAsync", FAKE_TOMORROW));
    assert_string_equal(preload_work_shared_by(), "cuMemcpyAsync");
}

/* As any program asks whose dlsym() is the library's. */
static void unknown_symbol(cud_addr at)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *call = preload_dlsym_hook(library, "cuOfTomorrow");
    tomorrow_fn *fn;

    (void)at;
    assert_non_null(call);
    memcpy(&fn, &call, sizeof fn);
    call_of_tomorrow(fn);
    assert_int_equal(dlclose(library), 0);
}

static void too_many_unknown_calls(cud_addr at)
{
    enum { MANY = 1000 };
    char name[32];

    (void)at;
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "cuTomorrow%d", i);
        assert_non_null(preload_unknown(name, &name));
    }
}

/* ---- what does not ------------------------------------------------------------- */

static void harmless_calls(cud_addr at)
{
    static const char *const names[] = {"cuMemcpyAsync", "cuStreamQuery",
                                        "cuGetExportTable", "cuCtxCreate",
                                        "cuPointerSetAttribute"};
    unsigned long long attribute;
    void *out;
    int status;

    (void)found("cuOfTomorrow", 12000); /* and not called */
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        (void)cuGetProcAddress_v2(names[i], &out, 13000, 0, &status);
    (void)cuCtxSetFlags(BLOCKING_SYNC);
    (void)cuDevicePrimaryCtxSetFlags_v2(0, BLOCKING_SYNC);
    (void)cuPointerGetAttribute(&attribute, CUD_RANGE_START, at);
    allow(CUD_ON_DEVICE, at);
    allow(HOST, 0x1000); /* none of ours */
}

/* ---- each ------------------------------------------------------------------------ */

typedef void ending_fn(cud_addr at);

static void check(ending_fn *fn, bool ends)
{
    struct holes h = holes_make();
    uint64_t moves = stats_now().moves;

    fn(h.kept[0]);
    fake()->forget(); /* what the stand-in thinks of it */
    if (ends) {
        assert_nothing_moves();
        assert_non_null(preload_work_shared_by());
        assert_non_null(
            strstr(larder_preload_last_error(), preload_work_shared_by()));
    } else {
        release(allocate(WANTED));
        assert_int_equal(stats_now().moves, moves + 1);
    }
    holes_verify(&h);
    holes_give(&h);
}

#define ENDING_MAP(X)                                                          \
    X(attribute_of_a_pointer, true)                                            \
    X(tokens_of_a_peer, true)                                                  \
    X(tokens_among_attributes, true)                                           \
    X(multicast, true)                                                         \
    X(multicast_of_today, true)                                                \
    X(logical_endpoint, true)                                                  \
    X(handle_of_a_range, true)                                                 \
    X(handle_of_memory_in_use, true)                                           \
    X(green_context, true)                                                     \
    X(context_of_graphics, true)                                               \
    X(capture_for_graphics, true)                                              \
    X(frame_presented, true)                                                   \
    X(access_of_the_host, true)                                                \
    X(flag_of_the_context, true)                                               \
    X(flag_of_the_primary_context, true)                                       \
    X(flag_of_the_primary_context_of_old, true)                                \
    X(unknown_call, true)                                                      \
    X(newer_variant_of_a_known_call, true)                                     \
    X(unknown_symbol, true)                                                    \
    X(too_many_unknown_calls, true)                                            \
    X(harmless_calls, false)

#define X(name, ends)                                                          \
    static void name##_decides(void **state)                                   \
    {                                                                          \
        (void)state;                                                           \
        check(name, ends);                                                     \
    }
ENDING_MAP(X)
#undef X

static const struct CMUnitTest tests[] = {
#define X(name, ends) PRELOAD_TEST(name##_decides),
    ENDING_MAP(X)
#undef X
};

extern char **environ;

/* False: the test failed, in a process of its own. */
static bool run_alone(const char *test)
{
    char self[] = "/proc/self/exe";
    char *arguments[] = {self, (char *)(uintptr_t)test, NULL};
    int status = 0;
    pid_t child;

    return posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0 &&
           waitpid(child, &status, 0) == child && status == 0;
}

int main(int argc, char **argv)
{
    int failed = 0;

    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
        return cmocka_run_group_tests(tests, NULL, NULL);
    }
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        failed += !run_alone(tests[i].name);
    return failed != 0;
}
