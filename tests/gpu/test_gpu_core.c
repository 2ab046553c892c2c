/* test_gpu_core.c - the allocator on a real GPU, or on any named device: what
 * can be checked without control of the streams and while other programs use
 * memory too.
 *
 * LARDER_GPU names the device (cuda:0).  Skipped if there is no driver; a
 * driver that exists but fails is a failure. */
#include "support/rig.h"

#include <pthread.h>

enum { SLOTS = 64, ROUNDS = 2000, THREADS = 4, NOT_HERE = 77 };

static const char *spec(void)
{
    const char *named = getenv("LARDER_GPU");

    return named == NULL ? "cuda:0" : named;
}

/* ---- patterns ------------------------------------------------------------------ */

struct slot {
    larder_addr addr;
    uint64_t bytes;
    unsigned char value;
};

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* From bytes to 40 MiB: every pool and every kind of segment. */
static uint64_t random_bytes(uint32_t *state)
{
    uint32_t kind = next_random(state) % 8;

    if (kind < 5)
        return 1 + next_random(state) % KIB(64);
    return kind < 7 ? 1 + next_random(state) % MIB(4)
                    : MIB(10) + next_random(state) % MIB(30);
}

/* The first and the last byte are unchanged. */
static int slot_is_intact(larder_device *dev, const struct slot *s)
{
    unsigned char ends[2] = {0, 0};

    return larder_device_copy(dev, (uintptr_t)&ends[0], s->addr, 1,
                              LARDER_COPY_TO_HOST, 0) == LARDER_OK &&
           larder_device_copy(dev, (uintptr_t)&ends[1], s->addr + s->bytes - 1,
                              1, LARDER_COPY_TO_HOST, 0) == LARDER_OK &&
           larder_device_stream_sync(dev, 0) == LARDER_OK &&
           ends[0] == s->value && ends[1] == s->value;
}

static int slot_fill(struct rig *rig, struct slot *s, uint32_t *state)
{
    s->bytes = random_bytes(state);
    s->value = (unsigned char)(1 + next_random(state) % 255);
    return larder_alloc(rig->a, s->bytes, 0, &s->addr) == LARDER_OK &&
           larder_device_fill(rig->dev, s->addr, s->value, s->bytes, 0) ==
               LARDER_OK;
}

static int slot_empty(struct rig *rig, struct slot *s)
{
    int ok = slot_is_intact(rig->dev, s) &&
             larder_free(rig->a, s->addr) == LARDER_OK;

    s->addr = 0;
    return ok;
}

/* False if memory changed, or a call failed. */
static int churn(struct rig *rig, uint32_t seed, int rounds)
{
    struct slot slots[SLOTS] = {{0}};
    uint32_t state = seed;
    int ok = 1;

    for (int n = 0; ok && n < rounds; n++) {
        struct slot *s = &slots[next_random(&state) % SLOTS];

        ok = s->addr == 0 ? slot_fill(rig, s, &state) : slot_empty(rig, s);
    }
    for (int i = 0; i < SLOTS; i++) {
        if (slots[i].addr != 0)
            ok = slot_empty(rig, &slots[i]) && ok;
    }
    if (!ok)
        print_error("churn: %s\n", larder_last_error());
    return ok;
}

static struct rig gpu_up(larder_policy policy, const char *conf)
{
    return rig_up_policy(spec(), policy, conf);
}

/* Without the checks that only a simulated GPU allows. */
static void gpu_down(struct rig *rig)
{
    assert_ok(larder_check(rig->a));
    assert_ok(larder_destroy(rig->a));
    assert_ok(larder_device_close(rig->dev));
}

/* ---- tests ---------------------------------------------------------------------- */

static void memory_keeps_what_was_written(void **state)
{
    static const struct {
        larder_policy policy;
        const char *conf;
    } ways[] = {
        {LARDER_POLICY_PYTORCH, ""},
        {LARDER_POLICY_PYTORCH, "expandable_segments:True"},
        {LARDER_POLICY_PYTORCH, "max_split_size_mb:32"},
        {LARDER_POLICY_DIRECT, ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct rig rig = gpu_up(ways[i].policy, ways[i].conf);

        assert_true(churn(&rig, (uint32_t)i + 1, ROUNDS));
        assert_ok(larder_empty_cache(rig.a));
        assert_int_equal(rig_reserved(&rig), 0);
        gpu_down(&rig);
    }
}

struct worker {
    struct rig *rig;
    uint32_t seed;
    int ok;
};

static void *work(void *arg)
{
    struct worker *w = arg;

    w->ok = churn(w->rig, w->seed, ROUNDS / 4);
    return NULL;
}

static void threads_share_an_allocator(void **state)
{
    struct rig rig = gpu_up(LARDER_POLICY_PYTORCH, "");
    struct worker workers[THREADS];
    pthread_t threads[THREADS];

    (void)state;
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.rig = &rig, .seed = (uint32_t)i + 77};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]),
                         0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(workers[i].ok);
    }
    gpu_down(&rig);
}

/* A request for more than is free is refused, with the figures, and the
 * allocator stays usable. */
static void running_out_is_explained_and_leaves_the_allocator_usable(
    void **state)
{
    struct rig rig = gpu_up(LARDER_POLICY_PYTORCH, "");
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
    larder_addr addr = 0;
    larder_addr kept = rig_alloc(&rig, MIB(3));

    (void)state;
    assert_ok(larder_device_mem_info(rig.dev, &free_bytes, &total_bytes));
    assert_true(free_bytes <= total_bytes);
    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder_alloc(rig.a, total_bytes + MIB(2), 0, &addr),
                   "out of memory");
    addr = rig_alloc(&rig, MIB(5));
    rig_free(&rig, addr);
    rig_free(&rig, kept);
    gpu_down(&rig);
}

static void recorded_streams_are_waited_for(void **state)
{
    struct rig rig = gpu_up(LARDER_POLICY_PYTORCH, "");
    larder_addr addr = rig_alloc(&rig, MIB(3));

    (void)state;
    /* The block is of the default stream; number 2 is the driver's per-thread
     * stream. */
    assert_ok(larder_record_stream(rig.a, addr, 2));
    rig_free(&rig, addr);
    assert_ok(larder_empty_cache(rig.a));
    assert_int_equal(rig_reserved(&rig), 0);
    gpu_down(&rig);
}

/* A refused driver call fails the request, but loses no memory. */
static void refused_calls_leave_memory_alone(void **state)
{
    struct rig rig = gpu_up(LARDER_POLICY_PYTORCH, "");
    larder_addr kept = rig_alloc(&rig, MIB(3));
    larder_addr addr = 0;

    (void)state;
    assert_ok(larder_device_fill(rig.dev, kept, 9, MIB(3), 0));
    assert_ok(larder_device_fail(rig.dev, LARDER_CALL_mem_alloc, 1, 0,
                                 LARDER_ERR_DEVICE));
    assert_result(LARDER_ERR_DEVICE, larder_alloc(rig.a, MIB(64), 0, &addr));
    assert_ok(larder_device_fail(rig.dev, LARDER_CALL_mem_alloc, 0, 0,
                                 LARDER_ERR_DEVICE));
    assert_true(slot_is_intact(
        rig.dev, &(struct slot){.addr = kept, .bytes = MIB(3), .value = 9}));
    rig_free(&rig, kept);
    gpu_down(&rig);
}

static void host_memory_is_copied_from_and_to(void **state)
{
    struct rig rig = gpu_up(LARDER_POLICY_PYTORCH, "");
    larder_addr addr = rig_alloc(&rig, MIB(1));
    void *host = NULL;

    (void)state;
    assert_ok(larder_device_host_alloc(rig.dev, MIB(2), &host));
    memset(host, 5, MIB(1));
    memset((char *)host + MIB(1), 0, MIB(1));
    assert_ok(larder_device_copy(rig.dev, addr, (uintptr_t)host, MIB(1),
                                 LARDER_COPY_TO_DEVICE, 0));
    assert_ok(larder_device_copy(rig.dev, (uintptr_t)host + MIB(1), addr,
                                 MIB(1), LARDER_COPY_TO_HOST, 0));
    assert_ok(larder_device_stream_sync(rig.dev, 0));
    assert_memory_equal(host, (char *)host + MIB(1), MIB(1));
    assert_ok(larder_device_host_free(rig.dev, host));
    rig_free(&rig, addr);
    gpu_down(&rig);
}

/* ---- live memory ------------------------------------------------------------------ */

enum { PIECES = 40, KEPT_EACH = 4 };

#define PIECE MIB(16)

/* Each byte says which piece it is of, and where it is. */
static void pattern_make(unsigned char *bytes, int piece)
{
    for (uint64_t i = 0; i < PIECE; i++)
        bytes[i] = (unsigned char)(i / 512 * 7 + i + (uint64_t)piece * 31);
}

static void pieces_write(struct rig *rig, const larder_addr *at,
                         unsigned char *bytes)
{
    for (int i = 0; i < PIECES; i += KEPT_EACH) {
        pattern_make(bytes, i);
        assert_ok(larder_device_copy(rig->dev, at[i], (uintptr_t)bytes, PIECE,
                                     LARDER_COPY_TO_DEVICE, 0));
        assert_ok(larder_device_stream_sync(rig->dev, 0));
    }
}

static void pieces_are_intact(struct rig *rig, const larder_addr *at,
                              unsigned char *bytes, unsigned char *got)
{
    for (int i = 0; i < PIECES; i += KEPT_EACH) {
        pattern_make(bytes, i);
        assert_ok(larder_device_copy(rig->dev, (uintptr_t)got, at[i], PIECE,
                                     LARDER_COPY_TO_HOST, 0));
        assert_ok(larder_device_stream_sync(rig->dev, 0));
        assert_memory_equal(got, bytes, PIECE);
    }
}

/* Three quarters are free, in pieces between those in use: one request gets
 * nearly all of it. */
static void live_memory_moves_with_its_contents(void **state)
{
    struct rig rig = gpu_up(LARDER_POLICY_LARDER, "migrate:on,limit:640MiB");
    unsigned char *bytes = malloc(PIECE);
    unsigned char *got = malloc(PIECE);
    larder_addr at[PIECES];
    larder_addr large;

    (void)state;
    assert_non_null(bytes);
    assert_non_null(got);
    for (int i = 0; i < PIECES; i++)
        at[i] = rig_alloc(&rig, PIECE);
    pieces_write(&rig, at, bytes);
    for (int i = 0; i < PIECES; i++) {
        if (i % KEPT_EACH != 0)
            rig_free(&rig, at[i]);
    }
    large = rig_alloc(&rig, PIECE * PIECES * 7 / 10);
    assert_ok(
        larder_device_fill(rig.dev, large, 9, PIECE * PIECES * 7 / 10, 0));
    pieces_are_intact(&rig, at, bytes, got);
    rig_free(&rig, large);
    for (int i = 0; i < PIECES; i += KEPT_EACH)
        rig_free(&rig, at[i]);
    free(bytes);
    free(got);
    gpu_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_keeps_what_was_written),
        cmocka_unit_test(threads_share_an_allocator),
        cmocka_unit_test(
            running_out_is_explained_and_leaves_the_allocator_usable),
        cmocka_unit_test(recorded_streams_are_waited_for),
        cmocka_unit_test(refused_calls_leave_memory_alone),
        cmocka_unit_test(host_memory_is_copied_from_and_to),
        cmocka_unit_test(live_memory_moves_with_its_contents),
    };
    larder_device *dev = NULL;
    larder_result r = larder_device_open(spec(), 0, &dev);

    if (r == LARDER_ERR_UNSUPPORTED) {
        printf("no such device here: %s\n", larder_last_error());
        return NOT_HERE;
    }
    if (r == LARDER_OK)
        larder_device_close(dev);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
