/* test_preload_migrate_storm.c - threads at work through the gate while memory
 * moves all the while: copies, fills and kernels on streams of their own, ordered
 * by events, host functions, short captures.  Whoever works with a block knows
 * its bytes and checks them; the stand-in reports work that is queued on pages
 * while they move.
 *
 *   test_preload_migrate_storm [SECONDS [SEED]]
 *
 * Each round of the first thread makes fresh holes, and asks for more than they
 * leave: only moving serves that. */
#include "moving_rig.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "support/clock.h"
#include "support/random.h"
#include "support/thread_fail.h"
#include "work.h"

enum {
    WORKERS = 4,
    TRIES = 2000,    /* of a request, which a capture may hold up */
    USED = 64 << 10, /* of each block of a page: short work, and much of it */
    SLICE = 256,     /* of the rest, which the writer fills */
    SMALL = 64 << 10,
    ORDINAL = 9,           /* attribute of a pointer: its device */
    FIRST_RAW_STREAM = 900 /* the stand-in's, for kernels */
};

static long seconds = 5;
static uint64_t first_seed = 1;

/* ---- blocks that everybody works with ------------------------------------------ */

static struct place {
    pthread_mutex_t lock;
    cud_addr at; /* 0: nothing */
    unsigned char value;
    cud_event event; /* after the work queued last */
} places[KEPT];

struct worker {
    pthread_t thread;
    uint64_t seed;
    cud_stream stream;
    cud_stream captured;
    larder_stream raw;
    unsigned char *read;
    unsigned char *written;
    unsigned char expected;
    uint64_t done;
    void (*step)(struct worker *w);
};

static atomic_bool is_over;

static bool is_all(const unsigned char *bytes, unsigned char value, size_t n)
{
    return bytes[0] == value && memcmp(bytes, bytes + 1, n - 1) == 0;
}

static struct place *place_take(struct worker *w)
{
    struct place *p = &places[random_next(&w->seed) % KEPT];

    if (pthread_mutex_trylock(&p->lock) != 0)
        return NULL;
    if (p->at != 0)
        return p;
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void follow(cud_stream stream, const struct place *p)
{
    EXPECT(DRIVER(cuStreamWaitEvent)(stream, p->event, 0) == 0);
}

static void lead(struct place *p, cud_stream stream)
{
    EXPECT(DRIVER(cuEventRecord)(p->event, stream) == 0);
}

static void finish(cud_stream stream)
{
    EXPECT(DRIVER(cuStreamSynchronize)(stream) == 0);
}

static unsigned char value_new(struct worker *w)
{
    return (unsigned char)random_next(&w->seed);
}

/* ---- work with one block --------------------------------------------------------- */

static void fill(struct worker *w, struct place *p)
{
    p->value = value_new(w);
    follow(w->stream, p);
    EXPECT(cuMemsetD8Async(p->at, p->value, USED, w->stream) == 0);
    lead(p, w->stream);
}

static void upload(struct worker *w, struct place *p)
{
    finish(w->stream); /* the last upload */
    p->value = value_new(w);
    memset(w->written, p->value, USED);
    follow(w->stream, p);
    EXPECT(cuMemcpyHtoDAsync_v2(p->at, w->written, USED, w->stream) == 0);
    lead(p, w->stream);
}

static void compare_read(void *ctx)
{
    const struct worker *w = ctx;

    EXPECT(is_all(w->read, w->expected, USED));
}

static void download(struct worker *w, struct place *p)
{
    finish(w->stream);
    w->expected = p->value;
    follow(w->stream, p);
    EXPECT(cuMemcpyDtoHAsync_v2(w->read, p->at, USED, w->stream) == 0);
    EXPECT(cuLaunchHostFunc(w->stream, compare_read, w) == 0);
    lead(p, w->stream);
}

static void write_and_read(struct worker *w, struct place *p)
{
    finish(w->stream);
    EXPECT(DRIVER(cuEventSynchronize)(p->event) == 0);
    for (int i = 0; i < 8; i++) {
        p->value = value_new(w);
        EXPECT(cuMemsetD8_v2(p->at, p->value, USED) == 0);
        EXPECT(cuMemcpyDtoH_v2(w->read, p->at, USED) == 0);
        EXPECT(is_all(w->read, p->value, USED));
    }
}

/* Many small writes and no read between them: they go on for about as long as a
 * move takes, so one that the gate lets through is lost, and no later write
 * repairs it. */
static void write_in_slices(struct worker *w, struct place *p)
{
    unsigned char value = value_new(w);

    for (cud_addr at = USED; at < PAGE; at += SLICE)
        EXPECT(cuMemsetD8_v2(p->at + at, value, SLICE) == 0);
    EXPECT(cuMemcpyDtoH_v2(w->read, p->at + USED, PAGE - USED) == 0);
    EXPECT(is_all(w->read, value, PAGE - USED));
}

static void copy(struct worker *w, struct place *p)
{
    struct place *to = place_take(w);

    if (to == NULL)
        return;
    follow(w->stream, p);
    follow(w->stream, to);
    EXPECT(cuMemcpyDtoDAsync_v2(to->at, p->at, USED, w->stream) == 0);
    to->value = p->value;
    lead(p, w->stream);
    lead(to, w->stream);
    pthread_mutex_unlock(&to->lock);
}

struct kernel {
    unsigned char *bytes;
    unsigned char before;
    unsigned char after;
};

static void kernel_run(void *ctx)
{
    const struct kernel *k = ctx;

    EXPECT(is_all(k->bytes, k->before, USED));
    memset(k->bytes, k->after, USED);
}

/* The stand-in's kernels do nothing: this one is given to its GPU, through the
 * gate as if by cuLaunchKernel(), and may run in another thread's move. */
static void compute(struct worker *w, struct place *p)
{
    struct kernel k = {(unsigned char *)(uintptr_t)p->at, p->value,
                       value_new(w)};
    larder_device *dev = fake()->device(0);
    bool is_entered = preload_work_enter();

    EXPECT(fake()->wait_event(0, w->raw, (uintptr_t)p->event) == LARDER_OK);
    EXPECT(fake()->launch(dev, w->raw, kernel_run, &k) == LARDER_OK);
    preload_work_leave(is_entered);
    (void)sched_yield();
    EXPECT(fake()->complete(dev, w->raw) == LARDER_OK);
    p->value = k.after;
}

static void look(struct worker *w, struct place *p)
{
    int device = -1;

    (void)w;
    EXPECT(cuPointerGetAttribute(&device, ORDINAL, p->at) == 0);
    EXPECT(device == 0);
}

/* ---- work of its own ---------------------------------------------------------------- */

static void live_shortly(struct worker *w)
{
    unsigned char value = value_new(w);
    cud_addr at = 0;

    finish(w->stream);
    if (cuMemAlloc_v2(&at, SMALL) != CUD_SUCCESS)
        return; /* the device is full for a moment */
    EXPECT(cuMemsetD8Async(at, value, SMALL, w->stream) == 0);
    EXPECT(cuMemcpyDtoHAsync_v2(w->read, at, SMALL, w->stream) == 0);
    if (random_next(&w->seed) % 2 == 0) {
        finish(w->stream);
        EXPECT(is_all(w->read, value, SMALL));
    }
    EXPECT(cuMemFree_v2(at) == 0);
}

static void capture(struct worker *w)
{
    void *graph = NULL;

    EXPECT(cuStreamBeginCapture_v2(w->captured, CUD_CAPTURE_RELAXED) == 0);
    nap_ms(1);
    EXPECT(DRIVER(cuStreamEndCapture)(w->captured, &graph) == 0);
    EXPECT(DRIVER(cuGraphDestroy)(graph) == 0);
}

/* ---- workers -------------------------------------------------------------------------- */

typedef void work_fn(struct worker *w, struct place *p);

static work_fn *const kinds[] = {fill,           fill, upload,  download,
                                 write_and_read, copy, compute, look};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

static void step(struct worker *w)
{
    uint64_t chance = random_next(&w->seed) % 256;
    struct place *p;

    if (chance == 0)
        capture(w);
    else if (chance < 32)
        live_shortly(w);
    else if ((p = place_take(w)) != NULL) {
        for (uint64_t i = chance % 16; i < 16; i++, w->done++)
            kinds[random_next(&w->seed) % KINDS](w, p);
        pthread_mutex_unlock(&p->lock);
    }
}

/* One worker does nothing else. */
static void step_writer(struct worker *w)
{
    struct place *p = place_take(w);

    if (p == NULL)
        return;
    write_in_slices(w, p);
    w->done++;
    pthread_mutex_unlock(&p->lock);
}

static void *work(void *arg)
{
    struct worker *w = arg;

    (void)rig_context(0);
    w->stream = new_stream();
    w->captured = new_stream();
    w->read = malloc(PAGE);
    w->written = malloc(USED);
    EXPECT(w->read != NULL && w->written != NULL);
    while (!atomic_load(&is_over) && !atomic_load(&failed))
        w->step(w);
    finish(w->stream);
    EXPECT(cuStreamDestroy_v2(w->stream) == 0);
    EXPECT(cuStreamDestroy_v2(w->captured) == 0);
    free(w->read);
    free(w->written);
    return NULL;
}

/* ---- holes ------------------------------------------------------------------------------ */

static cud_addr take(size_t bytes)
{
    cud_addr got = 0;

    for (int i = 0; i < TRIES && !atomic_load(&failed); i++) {
        if (cuMemAlloc_v2(&got, bytes) == CUD_SUCCESS)
            return got;
        nap_ms(1);
    }
    EXPECT(got != 0);
    return 0;
}

static void place_fill(struct worker *w, struct place *p, cud_addr at)
{
    pthread_mutex_lock(&p->lock);
    p->at = at;
    fill(w, p);
    pthread_mutex_unlock(&p->lock);
}

static void make_holes(struct worker *w)
{
    cud_addr all[BLOCKS];

    for (int i = 0; i < BLOCKS; i++)
        all[i] = take(PAGE);
    for (int i = 0; i < BLOCKS; i++) {
        if (i % KEPT_EVERY == 1)
            place_fill(w, &places[i / KEPT_EVERY], all[i]);
        else
            EXPECT(cuMemFree_v2(all[i]) == 0);
    }
}

static void verify(struct worker *w, struct place *p)
{
    pthread_mutex_lock(&p->lock);
    download(w, p);
    finish(w->stream);
    pthread_mutex_unlock(&p->lock);
}

/* Work may still be queued on it, and be finished first. */
static void place_drop(struct place *p)
{
    pthread_mutex_lock(&p->lock);
    EXPECT(cuMemFree_v2(p->at) == 0);
    p->at = 0;
    pthread_mutex_unlock(&p->lock);
}

/* In each page, where others' blocks would be hit. */
static void scribble(struct worker *w, cud_addr at)
{
    for (cud_addr end = at + WANTED; at < end; at += PAGE)
        EXPECT(cuMemsetD8Async(at, 0xee, USED, w->stream) == 0);
}

/* So that the next holes are in handles of many pages again. */
static void empty_cache(void)
{
    larder_result r = LARDER_ERR_CAPTURING;

    for (int i = 0; i < TRIES && r == LARDER_ERR_CAPTURING; i++) {
        r = larder_preload_empty_cache(0);
        if (r == LARDER_ERR_CAPTURING)
            nap_ms(1);
    }
    EXPECT(r == LARDER_OK);
}

static void play_round(struct worker *w)
{
    cud_addr got;

    make_holes(w);
    got = take(WANTED);
    scribble(w, got);
    for (int i = 0; i < KEPT; i++)
        verify(w, &places[i]);
    EXPECT(cuMemFree_v2(got) == 0);
    for (int i = 0; i < KEPT; i++)
        place_drop(&places[i]);
    empty_cache();
}

/* ---- the storm ---------------------------------------------------------------------------- */

static void places_make(void)
{
    for (int i = 0; i < KEPT; i++) {
        pthread_mutex_init(&places[i].lock, NULL);
        assert_int_equal(DRIVER(cuEventCreate)(&places[i].event, 2), 0);
    }
}

static void play(struct worker *first, unsigned long *rounds)
{
    uint64_t end = now_ms() + (uint64_t)seconds * 1000;

    while (now_ms() < end && !atomic_load(&failed)) {
        play_round(first);
        ++*rounds;
    }
}

static void work_and_moves_do_not_meet(void **state)
{
    struct worker w[WORKERS + 1] = {0};
    unsigned long rounds = 0;
    uint64_t done = 0;

    (void)state;
    release(allocate(PAGE)); /* there are statistics from now on */
    places_make();
    for (int i = 0; i <= WORKERS; i++) {
        w[i].seed = first_seed * 1000 + (uint64_t)i + 1;
        w[i].raw = FIRST_RAW_STREAM + (larder_stream)i;
        w[i].step = i == WORKERS ? step_writer : step;
    }
    for (int i = 1; i <= WORKERS; i++)
        assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
    w[0].stream = new_stream();
    w[0].read = malloc(USED);
    assert_non_null(w[0].read);
    play(&w[0], &rounds);
    atomic_store(&is_over, true);
    for (int i = 1; i <= WORKERS; i++) {
        assert_int_equal(pthread_join(w[i].thread, NULL), 0);
        done += w[i].done;
    }
    print_message("%lu rounds, %lu moves, %lu pieces of work\n", rounds,
                  (unsigned long)stats_now().moves, (unsigned long)done);
    assert_false(any_thread_failed());
    /* What is asked for in a capture is the driver's, and leaves other holes. */
    assert_true(rounds > 0 && stats_now().moves * 2 >= rounds);
    assert_true(done > rounds);
    free(w[0].read);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        PRELOAD_TEST(work_and_moves_do_not_meet),
    };

    if (argc > 1)
        seconds = strtol(argv[1], NULL, 10);
    if (argc > 2)
        first_seed = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
