/* test_larder_storm.c - the policy larder with real bytes and all its features
 * at once: each thread allocates, frees, records streams and hands blocks to
 * other threads; captures graphs and replays them; pauses and resumes its tag;
 * sends blocks to itself over a socket; trims, empties the cache, changes
 * settings.  The owner of a block knows its bytes and checks them.
 *
 *   test_larder_storm [STEPS [SEED]]
 */
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include <larder/tag.h>

#include "support/random.h"
#include "support/sanitized.h"
#include "support/share_rig.h"
#include "support/thread_fail.h"

enum {
    THREADS = 4,
    SLOTS = 48,
    HANDED = 32,
    TAGGED = 6,
    GRAPH_BLOCKS = 8,
    STREAMS = 3,            /* shared by all */
    FIRST_OWN_STREAM = 10,  /* then one for each thread */
    FIRST_GRAPH_STREAM = 20 /* one for each thread, too */
};

/* Features that a run uses. */
enum { CAN_TAG = 1, CAN_PAUSE = 2, CAN_SHARE = 4, CAN_ALL = 7 };

/* ---- blocks ------------------------------------------------------------------- */

struct held {
    larder_addr addr; /* 0: nothing */
    uint64_t bytes;
    uint64_t value;
};

/* A block that one thread leaves for another. */
static struct handed {
    pthread_mutex_t lock;
    struct held block;
} handed[HANDED];

struct worker {
    pthread_t thread;
    larder_allocator *a;
    larder_device *dev;
    int number;
    uint64_t seed;
    long steps;
    unsigned can; /* CAN_... */
    char tag[16];
    uint64_t made; /* blocks allocated */
    struct held slots[SLOTS];
    struct held tagged[TAGGED];
    struct held graph[GRAPH_BLOCKS];
    int graph_count; /* 0: no graph */
    larder_pool_id pool;
};

static uint64_t draw(struct worker *w, uint64_t end)
{
    return random_next(&w->seed) % end;
}

/* The distance between checked words: all words of small blocks, some of large
 * ones; the last word always. */
static uint64_t word_step(const struct held *h)
{
    return h->bytes <= 4096 ? 1 : 1021;
}

static uint64_t word_of(const struct held *h, uint64_t i)
{
    return (h->value + i) * UINT64_C(0x9E3779B97F4A7C15);
}

static void held_write(struct worker *w, struct held *h)
{
    uint64_t *words = (uint64_t *)(uintptr_t)h->addr;

    h->value = draw(w, UINT64_MAX);
    for (uint64_t i = 0; i < h->bytes / 8; i += word_step(h))
        words[i] = word_of(h, i);
    words[h->bytes / 8 - 1] = word_of(h, h->bytes / 8 - 1);
}

static bool is_as_written(const struct held *h, larder_addr addr)
{
    const uint64_t *words = (const uint64_t *)(uintptr_t)addr;

    for (uint64_t i = 0; i < h->bytes / 8; i += word_step(h)) {
        if (words[i] != word_of(h, i))
            return false;
    }
    return words[h->bytes / 8 - 1] == word_of(h, h->bytes / 8 - 1);
}

static uint64_t draw_bytes(struct worker *w)
{
    return 8 + draw(w, UINT64_C(1) << (6 + draw(w, 16))) / 8 * 8;
}

static larder_stream draw_stream(struct worker *w)
{
    return draw(w, 2) == 0 ? FIRST_OWN_STREAM + (larder_stream)w->number
                           : draw(w, STREAMS);
}

static bool held_get(struct worker *w, struct held *h, larder_stream stream)
{
    larder_result r;

    h->bytes = draw_bytes(w);
    r = larder_alloc(w->a, h->bytes, stream, &h->addr);
    if (r != LARDER_OK) {
        EXPECT(r == LARDER_ERR_OUT_OF_MEMORY);
        h->addr = 0;
        return false;
    }
    w->made++;
    held_write(w, h);
    return true;
}

static void held_put(struct worker *w, struct held *h)
{
    EXPECT(is_as_written(h, h->addr));
    EXPECT(larder_free(w->a, h->addr) == LARDER_OK);
    h->addr = 0;
}

/* ---- steps -------------------------------------------------------------------- */

static void step_slot(struct worker *w)
{
    struct held *h = &w->slots[draw(w, SLOTS)];

    if (h->addr == 0)
        (void)held_get(w, h, draw_stream(w));
    else
        held_put(w, h);
}

static void step_record(struct worker *w)
{
    const struct held *h = &w->slots[draw(w, SLOTS)];

    if (h->addr != 0)
        EXPECT(larder_record_stream(w->a, h->addr, draw(w, STREAMS)) ==
               LARDER_OK);
}

/* Exchange a block with another thread. */
static void step_hand_over(struct worker *w)
{
    struct handed *place = &handed[draw(w, HANDED)];
    struct held *h = &w->slots[draw(w, SLOTS)];
    struct held ours = *h;

    pthread_mutex_lock(&place->lock);
    *h = place->block;
    place->block = ours;
    pthread_mutex_unlock(&place->lock);
    if (h->addr != 0)
        EXPECT(is_as_written(h, h->addr));
}

static void step_complete(struct worker *w)
{
    larder_stream stream = draw(w, 2) == 0 ? draw(w, STREAMS) : draw_stream(w);

    EXPECT(larder_sim_complete(w->dev, stream) == LARDER_OK);
}

static int is_graph_stream(void *ctx, larder_stream stream)
{
    const struct worker *w = ctx;

    return stream == FIRST_GRAPH_STREAM + (larder_stream)w->number;
}

static void graph_capture(struct worker *w)
{
    larder_stream stream = FIRST_GRAPH_STREAM + (larder_stream)w->number;

    w->pool = (larder_pool_id){1 + (uint64_t)w->number, w->pool.second + 1};
    EXPECT(larder_pool_begin(w->a, w->pool, is_graph_stream, w) == LARDER_OK);
    for (w->graph_count = 0; w->graph_count < GRAPH_BLOCKS; w->graph_count++) {
        if (!held_get(w, &w->graph[w->graph_count], stream))
            break;
    }
    for (int i = 0; i < w->graph_count; i++)
        EXPECT(larder_free(w->a, w->graph[i].addr) == LARDER_OK);
    EXPECT(larder_pool_end(w->a, w->pool) == LARDER_OK);
    if (w->graph_count == 0)
        EXPECT(larder_pool_release(w->a, w->pool) == LARDER_OK);
}

static void graph_drop(struct worker *w)
{
    if (w->graph_count > 0)
        EXPECT(larder_pool_release(w->a, w->pool) == LARDER_OK);
    w->graph_count = 0;
}

/* The results of the last replay are still there, though its blocks were
 * freed. */
static void step_graph(struct worker *w)
{
    if (w->graph_count == 0) {
        graph_capture(w);
        return;
    }
    for (int i = 0; i < w->graph_count; i++)
        EXPECT(is_as_written(&w->graph[i], w->graph[i].addr));
    for (int i = 0; i < w->graph_count; i++)
        held_write(w, &w->graph[i]);
    if (draw(w, 3) == 0)
        graph_drop(w);
}

static void step_tag(struct worker *w)
{
    struct held *h = &w->tagged[draw(w, TAGGED)];

    if (!(w->can & CAN_TAG))
        return;
    if (h->addr != 0) {
        held_put(w, h);
        return;
    }
    EXPECT(larder_tag_begin(w->a, w->tag) == LARDER_OK);
    (void)held_get(w, h, draw_stream(w));
    EXPECT(larder_tag_end(w->a) == LARDER_OK);
}

/* The tag's own limit as well: it may have been set below what the tag held in
 * large handles, which is more than it may resume with. */
static void make_room(struct worker *w)
{
    EXPECT(larder_configure(w->a, "limit:1024g") == LARDER_OK);
    EXPECT(larder_tag_limit(w->a, w->tag, 0) == LARDER_OK);
    for (int i = 0; i < SLOTS; i++) {
        if (w->slots[i].addr != 0)
            held_put(w, &w->slots[i]);
    }
}

/* Other threads may block it with a pool and take the memory: then retry. */
static void resume(struct worker *w)
{
    larder_result r;

    do {
        r = larder_resume(w->a, w->tag);
        EXPECT(r == LARDER_OK || r == LARDER_ERR_CAPTURING ||
               r == LARDER_ERR_OUT_OF_MEMORY);
        if (r == LARDER_ERR_OUT_OF_MEMORY)
            make_room(w);
    } while (r != LARDER_OK && !atomic_load(&failed));
}

static void step_pause(struct worker *w)
{
    larder_result r = larder_tag_limit(w->a, w->tag, MIB(24));

    if (!(w->can & CAN_PAUSE) || r != LARDER_OK)
        return;
    r = larder_pause(w->a, w->tag, LARDER_PAUSE_KEEP);
    EXPECT(r == LARDER_OK || r == LARDER_ERR_CAPTURING ||
           r == LARDER_ERR_INVALID); /* it was never begun */
    if (r != LARDER_OK)
        return;
    for (int i = 0; i < 20; i++)
        step_slot(w);
    if (w->tagged[0].addr != 0) {
        EXPECT(larder_free(w->a, w->tagged[0].addr) == LARDER_OK);
        w->tagged[0].addr = 0;
    }
    resume(w);
    for (int i = 0; i < TAGGED; i++) {
        if (w->tagged[i].addr != 0)
            EXPECT(is_as_written(&w->tagged[i], w->tagged[i].addr));
    }
}

/* A block freed while it is exported keeps its bytes. */
static void step_share(struct worker *w)
{
    struct held *slot = &w->slots[draw(w, SLOTS)];
    struct held block = *slot;
    larder_import_info info = {.size = sizeof info};
    larder_export *e = NULL;
    larder_import *m = NULL;
    int sockets[2];

    if (!(w->can & CAN_SHARE) || block.addr == 0)
        return;
    EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    EXPECT(larder_export_open(w->a, block.addr, &e) == LARDER_OK);
    EXPECT(larder_export_send(e, sockets[0]) == LARDER_OK);
    EXPECT(larder_import_receive(w->dev, sockets[1], &m) == LARDER_OK);
    if (m == NULL)
        return;
    EXPECT(larder_import_get(m, &info) == LARDER_OK);
    EXPECT(larder_free(w->a, block.addr) == LARDER_OK);
    slot->addr = 0;
    for (int i = 0; i < 20; i++)
        step_slot(w);
    EXPECT(is_as_written(&block, info.addr));
    if (draw(w, 2) == 0) {
        EXPECT(larder_export_close(e) == LARDER_OK);
        EXPECT(larder_import_close(m) == LARDER_OK);
    } else {
        EXPECT(larder_import_close(m) == LARDER_OK);
        EXPECT(larder_export_close(e) == LARDER_OK);
    }
    close(sockets[0]);
    close(sockets[1]);
}

static void step_free_own(struct worker *w)
{
    larder_result r = draw(w, 4) == 0
                          ? larder_empty_cache(w->a)
                          : larder_trim(w->a, MIB(draw(w, 64)), NULL);

    EXPECT(r == LARDER_OK || r == LARDER_ERR_CAPTURING);
}

static void step_setting(struct worker *w)
{
    static const char *const settings[] = {
        "defrag:limit",  "defrag:eager", "defrag:off",
        "trim_age:0.02", "trim_age:0",   "history:1000",
        "history:0",     "limit:40MiB",  "limit:1024g",
    };
    size_t i = draw(w, sizeof settings / sizeof settings[0]);

    EXPECT(larder_configure(w->a, settings[i]) == LARDER_OK);
}

static void step_look(struct worker *w)
{
    larder_stats st;

    larder_stats_init(&st);
    EXPECT(larder_check(w->a) == LARDER_OK);
    EXPECT(larder_stats_get(w->a, &st) == LARDER_OK);
    EXPECT(st.allocation.all.current <= st.allocation.all.peak);
}

static const struct {
    unsigned per_10000;
    void (*take)(struct worker *w);
} steps_of[] = {
    {600, step_record}, {500, step_hand_over}, {400, step_complete},
    {100, step_graph},  {100, step_tag},       {20, step_pause},
    {20, step_share},   {20, step_free_own},   {6, step_setting},
    {6, step_look},     {10000, step_slot},
};

/* ---- runs --------------------------------------------------------------------- */

static void put_all(struct worker *w)
{
    for (int i = 0; i < SLOTS; i++) {
        if (w->slots[i].addr != 0)
            held_put(w, &w->slots[i]);
    }
    for (int i = 0; i < TAGGED; i++) {
        if (w->tagged[i].addr != 0)
            held_put(w, &w->tagged[i]);
    }
    graph_drop(w);
}

static void *work(void *ctx)
{
    struct worker *w = ctx;

    for (long n = 0; n < w->steps && !atomic_load(&failed); n++) {
        uint64_t choice = draw(w, 10000);
        size_t i = 0;

        while (choice >= steps_of[i].per_10000)
            choice -= steps_of[i++].per_10000;
        steps_of[i].take(w);
    }
    put_all(w);
    return NULL;
}

static long steps = 6000;
static uint64_t first_seed = 7;

static void workers_run(struct worker *workers)
{
    struct timespec begin, end;
    uint64_t made = 0;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        made += workers[i].made;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    print_message("%ld steps, %llu blocks, %.2f s\n", steps * THREADS,
                  (unsigned long long)made,
                  (double)(end.tv_sec - begin.tv_sec) +
                      (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
    assert_false(any_thread_failed());
}

static void handed_put_all(struct rig *rig)
{
    for (int i = 0; i < HANDED; i++) {
        struct held *h = &handed[i].block;

        if (h->addr == 0)
            continue;
        assert_true(is_as_written(h, h->addr));
        rig_free(rig, h->addr);
        h->addr = 0;
    }
}

static void storm(const char *spec, larder_policy policy, const char *conf,
                  unsigned can)
{
    struct worker *workers = test_calloc(THREADS, sizeof *workers);
    struct rig rig = rig_up_policy(spec, policy, conf);

    for (int i = 0; i < HANDED; i++) /* of a run that failed */
        handed[i].block.addr = 0;
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){
            .a = rig.a,
            .dev = rig.dev,
            .number = i,
            .seed = first_seed * 1000 + (uint64_t)i + 1,
            .steps = steps,
            .can = can,
        };
        snprintf(workers[i].tag, sizeof workers[i].tag, "thread %d", i);
    }
    workers_run(workers);
    handed_put_all(&rig);
    for (larder_stream stream = 0; stream < 32; stream++)
        assert_ok(larder_sim_complete(rig.dev, stream));
    assert_ok(larder_configure(rig.a, "history:0,trim_age:0,limit:1024g"));
    assert_ok(larder_empty_cache(rig.a));
    assert_int_equal(rig_stats(&rig).allocation.all.current, 0);
    assert_int_equal(rig_stats(&rig).active.all.current, 0);
    assert_int_equal(rig_reserved(&rig), 0);
    rig_down(&rig);
    test_free(workers);
}

static void every_feature_at_once_on_a_full_device(void **state)
{
    (void)state;
    storm("sim:48MiB,backing=memory,export=fd,events=manual",
          LARDER_POLICY_LARDER, "", CAN_ALL);
}

/* Each stream of each tag reserves as many addresses as the device has bytes,
 * and a sanitizer does not leave enough. */
#ifdef IS_SANITIZED
#define LARGE "sim:10GiB"
#define LARGE_CAN CAN_SHARE
#else
#define LARGE "sim:40GiB"
#define LARGE_CAN CAN_ALL
#endif

static void every_feature_at_once_with_large_handles(void **state)
{
    (void)state;
    storm(LARGE ",backing=memory,export=fd,events=manual", LARDER_POLICY_LARDER,
          "", LARGE_CAN);
}

static void every_feature_at_once_in_segments(void **state)
{
    (void)state;
    storm("sim:64MiB,backing=memory,vmm=off,events=manual",
          LARDER_POLICY_LARDER, "", CAN_TAG);
}

static void every_feature_at_once_in_expandable_segments(void **state)
{
    (void)state;
    storm("sim:128MiB,backing=memory,export=fd,events=manual",
          LARDER_POLICY_PYTORCH, "expandable_segments:True", CAN_ALL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_feature_at_once_on_a_full_device),
        cmocka_unit_test(every_feature_at_once_with_large_handles),
        cmocka_unit_test(every_feature_at_once_in_segments),
        cmocka_unit_test(every_feature_at_once_in_expandable_segments),
    };

    if (argc > 1)
        steps = strtol(argv[1], NULL, 10);
    if (argc > 2)
        first_seed = strtoull(argv[2], NULL, 10);
    if (steps <= 0 || first_seed == 0) {
        fprintf(stderr, "usage: %s [STEPS [SEED]], both above 0\n", argv[0]);
        return 2;
    }
    for (int i = 0; i < HANDED; i++)
        pthread_mutex_init(&handed[i].lock, NULL);
    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
