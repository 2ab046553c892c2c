/* test_kernel_reads.c [STEPS [SEED]] - memory that kernels use is not reused
 * until they have run, under every policy, on a device that executes
 * asynchronously like a driver's.
 *
 * Each allocation is filled on its stream and read on that stream and on
 * others; all of this is queued.  Meanwhile allocations come and go, memory is
 * carved from pieces and lent by a pool, and streams run when the test says so
 * or when something waits.  Every read must find what was filled in. */
#include "support/random.h"
#include "support/rig.h"

static const larder_pool_id routed = {1, 0};
static const larder_pool_id lender = {2, 0};

enum {
    STREAMS = 5,
    LIVE = 80,
    READS = 4096, /* maximum number queued at once */
    EDGE = 64,    /* bytes read at either end */
    STEPS_QUICK = 2000
};

/* Queued: the two ends of a block are copied out, then checked. */
struct read {
    unsigned char ends[2 * EDGE];
    unsigned char wanted;
    struct read *next; /* free ones */
    struct model *model;
};

struct block {
    larder_addr addr; /* 0: none */
    uint64_t bytes;
    larder_stream stream;
    unsigned char value;
};

struct model {
    struct rig rig;
    uint64_t random;
    struct block live[LIVE];
    struct read reads[READS];
    struct read *free_reads;
    uint64_t looked;
    uint64_t wrong;
    int is_pytorch;
    int is_late; /* PyTorch 2.10: empties pools without users while one is begun */
    int pool_begun;
    int has_lender;
    unsigned long step;
};

static uint64_t below(struct model *m, uint64_t n)
{
    return random_u64(&m->random, n);
}

/* ---- kernels ----------------------------------------------------------------- */

static void look(void *ctx)
{
    struct read *read = ctx;
    struct model *m = read->model;

    for (int i = 0; i < 2 * EDGE; i++) {
        if (read->ends[i] != read->wanted) {
            m->wrong++;
            break;
        }
    }
    m->looked++;
    read->next = m->free_reads;
    m->free_reads = read;
}

static void complete_all(struct model *m)
{
    for (larder_stream s = 0; s < STREAMS; s++)
        assert_ok(larder_sim_complete(m->rig.dev, s));
}

static void copy_out(struct model *m, void *to, larder_addr from,
                     uint64_t bytes, larder_stream stream)
{
    assert_ok(larder_device_copy(m->rig.dev, (uintptr_t)to, from, bytes,
                                 LARDER_COPY_TO_HOST, stream));
}

static void queue_read(struct model *m, const struct block *b,
                       larder_stream stream)
{
    uint64_t edge = b->bytes < EDGE ? b->bytes : EDGE;
    struct read *read;

    if (m->free_reads == NULL)
        complete_all(m);
    read = m->free_reads;
    m->free_reads = read->next;
    read->wanted = b->value;
    memset(read->ends, b->value, sizeof read->ends);
    copy_out(m, read->ends, b->addr, edge, stream);
    copy_out(m, read->ends + EDGE, b->addr + b->bytes - edge, edge, stream);
    assert_ok(larder_sim_launch(m->rig.dev, stream, look, read));
}

/* The stream continues when the block's own stream has come this far. */
static void queue_after(struct model *m, const struct block *b,
                        larder_stream stream)
{
    uint64_t event;

    assert_ok(larder_device_event_create(m->rig.dev, &event));
    assert_ok(larder_device_event_record(m->rig.dev, event, b->stream));
    assert_ok(larder_sim_wait_event(m->rig.dev, stream, event));
    assert_ok(larder_device_event_destroy(m->rig.dev, event));
}

/* ---- steps --------------------------------------------------------------------- */

static uint64_t random_size(struct model *m)
{
    static const uint64_t most[] = {KIB(1), KIB(16), KIB(256), MIB(1), MIB(9)};

    return 1 + below(m, most[below(m, 5)]);
}

static void allocate(struct model *m, struct block *b, larder_stream stream)
{
    larder_result r;

    b->bytes = random_size(m);
    b->stream = stream;
    b->value = (unsigned char)(1 + below(m, 255));
    r = larder_alloc(m->rig.a, b->bytes, b->stream, &b->addr);
    if (r == LARDER_ERR_OUT_OF_MEMORY) {
        b->addr = 0;
        return;
    }
    assert_ok(r);
    assert_ok(
        larder_device_fill(m->rig.dev, b->addr, b->value, b->bytes, b->stream));
    queue_read(m, b, b->stream);
}

static void free_block(struct model *m, struct block *b)
{
    if (b->addr != 0)
        rig_free(&m->rig, b->addr);
    b->addr = 0;
}

/* PyTorch 2.4 forgets streams recorded while a pool is begun. */
static void use_elsewhere(struct model *m, const struct block *b)
{
    larder_stream other = below(m, STREAMS);

    if (b->addr == 0 || (m->is_pytorch && m->pool_begun))
        return;
    if (other != b->stream) {
        queue_after(m, b, other);
        assert_ok(larder_record_stream(m->rig.a, b->addr, other));
    }
    queue_read(m, b, other);
}

static int odd_streams(void *ctx, larder_stream stream)
{
    (void)ctx;
    return stream % 2 == 1;
}

static void toggle_pool(struct model *m)
{
    if (m->pool_begun) {
        assert_ok(larder_pool_end(m->rig.a, routed));
        assert_ok(larder_pool_release(m->rig.a, routed));
        m->pool_begun = 0;
    } else if (larder_pool_begin(m->rig.a, routed, odd_streams, NULL) ==
               LARDER_OK) {
        m->pool_begun = 1;
    }
}

static void release(struct model *m)
{
    larder_result want = m->pool_begun ? LARDER_ERR_CAPTURING : LARDER_OK;
    uint64_t kept = below(m, MIB(32));

    if (below(m, 2) == 0)
        assert_result(m->is_late ? LARDER_OK : want,
                      larder_empty_cache(m->rig.a));
    else
        assert_result(want, larder_trim(m->rig.a, kept, NULL));
}

/* A block of the pool that lends: its stream and the borrower's are usually
 * not the same.  Beginning the pool ends a loan. */
static void allocate_in_lender(struct model *m, struct block *b)
{
    larder_result r = larder_pool_begin(m->rig.a, lender, NULL, NULL);

    if (r != LARDER_OK)
        return; /* something is borrowed, or cannot be waited for now */
    m->has_lender = 1;
    allocate(m, b, below(m, STREAMS));
    assert_ok(larder_pool_end(m->rig.a, lender));
}

/* Lend the pool to a stream that then asks for as much as there is, and frees
 * some of it while its work is queued. */
static void lend(struct model *m)
{
    larder_stream to = below(m, STREAMS);

    if (!m->has_lender || larder_pool_lend(m->rig.a, lender, to) != LARDER_OK)
        return;
    for (int i = 0; i < LIVE; i++) {
        if (m->live[i].addr != 0 || below(m, 4) != 0)
            continue;
        allocate(m, &m->live[i], to);
        if (below(m, 2) == 0)
            free_block(m, &m->live[i]);
    }
    (void)larder_pool_recall(m->rig.a, lender); /* unless some is in use */
}

/* From the pool, while its own work is queued, to the borrower and back. */
static void change_owners(struct model *m)
{
    struct block *b = &m->live[below(m, LIVE)];

    free_block(m, b);
    allocate_in_lender(m, b);
    if (below(m, 2) == 0)
        free_block(m, b);
    lend(m);
    if (b->addr == 0)
        allocate_in_lender(m, b);
}

static void step(struct model *m)
{
    struct block *b = &m->live[below(m, LIVE)];
    uint64_t what = below(m, 1000);

    if (what < 500 && b->addr == 0)
        allocate(m, b, below(m, STREAMS));
    else if (what < 500)
        free_block(m, b);
    else if (what < 520)
        change_owners(m);
    else if (what < 950)
        use_elsewhere(m, b);
    else if (what < 965)
        assert_ok(larder_sim_complete(m->rig.dev, below(m, STREAMS)));
    else if (what < 975)
        release(m);
    else
        toggle_pool(m);
}

/* ---- runs ------------------------------------------------------------------------ */

struct subject {
    const char *spec;
    larder_policy policy;
    const char *conf;
};

#define SPEC "sim:64MiB,events=driver"
#define TIGHT "sim:24MiB,events=driver" /* pools lend often */

static const struct subject subjects[] = {
    {SPEC, LARDER_POLICY_LARDER, ""},
    {SPEC, LARDER_POLICY_LARDER, "defrag:eager"},
    {SPEC ",vmm=off", LARDER_POLICY_LARDER, ""},
    {SPEC, LARDER_POLICY_PYTORCH, ""},
    {SPEC, LARDER_POLICY_PYTORCH, "expandable_segments:True"},
    {SPEC, LARDER_POLICY_PYTORCH,
     "per_process_memory_fraction:0.9,garbage_collection_threshold:0.5"},
    {SPEC ",vmm=off", LARDER_POLICY_PYTORCH, "max_split_size_mb:21"},
    {SPEC, LARDER_POLICY_LARDER, "preallocate:40MiB"},
    {SPEC ",vmm=off", LARDER_POLICY_LARDER, "preallocate:62MiB"},
    {TIGHT, LARDER_POLICY_LARDER, "debug:2"},
    {TIGHT, LARDER_POLICY_LARDER, "expandable_segments:True"},
    {TIGHT ",vmm=off", LARDER_POLICY_LARDER, ""},
    {SPEC, LARDER_POLICY_PYTORCH, "preallocate:40MiB"},
    {SPEC, LARDER_POLICY_PYTORCH, "expandable_segments:True,pytorch:2.10"},
    {SPEC, LARDER_POLICY_DIRECT, "preallocate:40MiB"},
    {SPEC, LARDER_POLICY_DIRECT, ""},
    {SPEC ",vmm=off", LARDER_POLICY_DIRECT, ""},
};
enum { SUBJECTS = sizeof subjects / sizeof subjects[0] };

static unsigned long steps = STEPS_QUICK;
static uint64_t seed = 1;

static void end(struct model *m)
{
    for (int i = 0; i < LIVE; i++)
        free_block(m, &m->live[i]);
    if (m->pool_begun)
        toggle_pool(m);
    while (m->has_lender && larder_pool_release(m->rig.a, lender) == LARDER_OK)
        ;
    complete_all(m);
    assert_int_equal(m->wrong, 0);
    assert_true(m->looked > steps / 4);
    rig_down(&m->rig);
}

static void run(const struct subject *s)
{
    static struct model m;

    m = (struct model){.random = random_begin(seed),
                       .is_pytorch = s->policy == LARDER_POLICY_PYTORCH,
                       .is_late = strstr(s->conf, "pytorch:2.10") != NULL};
    for (int i = 0; i < READS; i++) {
        m.reads[i].model = &m;
        m.reads[i].next = m.free_reads;
        m.free_reads = &m.reads[i];
    }
    m.rig = rig_up_policy(s->spec, s->policy, s->conf);
    for (m.step = 0; m.step < steps && m.wrong == 0; m.step++)
        step(&m);
    if (m.wrong != 0)
        print_error("%s, policy %s, '%s': a kernel read other bytes at step "
                    "%lu of seed %llu\n",
                    s->spec, larder_policy_name(s->policy), s->conf, m.step,
                    (unsigned long long)seed);
    end(&m);
}

static void kernels_find_what_was_written_for_them(void **state)
{
    (void)state;
    for (int i = 0; i < SUBJECTS; i++)
        run(&subjects[i]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_find_what_was_written_for_them),
    };

    if (argc > 1)
        steps = strtoul(argv[1], NULL, 10);
    if (argc > 2)
        seed = strtoull(argv[2], NULL, 10);
    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
