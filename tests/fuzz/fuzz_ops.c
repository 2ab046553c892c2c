/* fuzz_ops.c - any bytes as a program of allocator calls.
 *
 * The first byte chooses the settings; each following group of bytes is an
 * operation.  After every operation all structures are checked and no two live
 * blocks overlap; at the end all memory is released to the device. */
#include <larder/device.h>
#include <larder/sim.h>

#include "fuzz.h"

enum { SLOTS = 64, POOLS = 3, STREAMS = 4, STEPS_MAX = 4000 };

/* All rules are checked after each of the first steps, then once per as
 * many. */
enum { CHECKED_STEPS = 16 };

struct block {
    larder_addr addr; /* 0: none */
    uint64_t bytes;
};

struct machine {
    const uint8_t *at;
    const uint8_t *end;
    larder_device *dev;
    larder_allocator *a;
    struct block blocks[SLOTS];
    int begun[POOLS];
    int held[POOLS];
    larder_checkpoint *checkpoints[POOLS];
};

static const char *const settings[] = {
    "",
    "expandable_segments:True",
    "max_split_size_mb:24",
    "garbage_collection_threshold:0.4,per_process_memory_fraction:0.9",
    "roundup_power2_divisions:[1:4,16:2,>:1]",
    "preallocate:16MiB",
    "limit:40MiB,throw_on_cudamalloc_oom:True",
    "large_segment_size_mb:12,max_non_split_rounding_mb:22",
};

enum { SETTINGS = sizeof settings / sizeof settings[0] };

/* 0 after the end of the program. */
static uint8_t next_byte(struct machine *m)
{
    return m->at < m->end ? *m->at++ : 0;
}

static uint64_t next_size(struct machine *m)
{
    static const unsigned shifts[] = {0, 6, 9, 13, 17, 18, 20, 21};
    uint8_t byte = next_byte(m);
    uint64_t bytes = (uint64_t)next_byte(m) << shifts[byte % 8];

    if (byte == 255) /* absurd sizes too */
        return UINT64_MAX >> (bytes % 64);
    return bytes + (byte >> 3);
}

static struct block *next_block(struct machine *m)
{
    return &m->blocks[next_byte(m) % SLOTS];
}

static larder_pool_id pool_id(int i)
{
    return (larder_pool_id){(uint64_t)i + 1, 0};
}

static int is_allowed_failure(larder_result r)
{
    return r == LARDER_ERR_OUT_OF_MEMORY;
}

/* The new block overlaps none of the live ones. */
static void require_apart(const struct machine *m, const struct block *b)
{
    REQUIRE(b->addr % 512 == 0);
    for (int i = 0; i < SLOTS; i++) {
        const struct block *other = &m->blocks[i];

        if (other->addr != 0 && other != b)
            REQUIRE(b->addr + b->bytes <= other->addr ||
                    other->addr + other->bytes <= b->addr);
    }
}

/* ---- operations ---------------------------------------------------------- */

static void op_alloc(struct machine *m)
{
    struct block *b = next_block(m);
    larder_stream stream = next_byte(m) % STREAMS;
    larder_result r;

    if (b->addr != 0)
        return;
    b->bytes = next_size(m);
    r = larder_alloc(m->a, b->bytes, stream, &b->addr);
    REQUIRE(r == LARDER_OK || is_allowed_failure(r));
    if (r != LARDER_OK)
        REQUIRE(b->addr == 0);
    else if (b->bytes == 0)
        REQUIRE(b->addr == 0);
    else
        require_apart(m, b);
}

static void op_free(struct machine *m)
{
    struct block *b = next_block(m);

    REQUIRE(larder_free(m->a, b->addr) == LARDER_OK);
    b->addr = 0;
}

static void op_free_wrongly(struct machine *m)
{
    struct block *b = next_block(m);
    larder_result r;

    if (b->addr == 0)
        return;
    r = larder_free(m->a, b->addr + 1 + next_byte(m));
    REQUIRE(r == LARDER_ERR_UNKNOWN_ADDRESS || r == LARDER_ERR_DOUBLE_FREE);
}

static void op_record(struct machine *m)
{
    struct block *b = next_block(m);
    larder_stream stream = next_byte(m) % STREAMS;

    if (b->addr != 0)
        REQUIRE(larder_record_stream(m->a, b->addr, stream) == LARDER_OK);
}

static void op_complete(struct machine *m)
{
    REQUIRE(larder_sim_complete(m->dev, next_byte(m) % STREAMS) == LARDER_OK);
}

static int any_begun(const struct machine *m)
{
    return m->begun[0] || m->begun[1] || m->begun[2];
}

static void op_empty_cache(struct machine *m)
{
    REQUIRE(larder_empty_cache(m->a) ==
            (any_begun(m) ? LARDER_ERR_CAPTURING : LARDER_OK));
}

static int filter_low(void *ctx, larder_stream stream)
{
    (void)ctx;
    return stream < STREAMS / 2;
}

static void op_pool_begin(struct machine *m)
{
    uint8_t byte = next_byte(m);
    int i = byte % POOLS;
    larder_result r = larder_pool_begin(m->a, pool_id(i),
                                        byte & 0x80 ? filter_low : NULL, NULL);

    if (r == LARDER_OK) {
        REQUIRE(!m->begun[i]);
        m->begun[i] = 1;
        m->held[i]++;
    } else {
        REQUIRE(r == LARDER_ERR_INVALID);
        REQUIRE(m->begun[i] || m->held[i] == 0);
    }
}

static void op_pool_end(struct machine *m)
{
    int i = next_byte(m) % POOLS;

    REQUIRE(larder_pool_end(m->a, pool_id(i)) ==
            (m->begun[i] ? LARDER_OK : LARDER_ERR_UNKNOWN_POOL));
    m->begun[i] = 0;
}

static void op_pool_release(struct machine *m)
{
    int i = next_byte(m) % POOLS;

    if (m->begun[i]) /* otherwise its owner would end it first */
        return;
    REQUIRE(larder_pool_release(m->a, pool_id(i)) ==
            (m->held[i] > 0 ? LARDER_OK : LARDER_ERR_UNKNOWN_POOL));
    if (m->held[i] > 0)
        m->held[i]--;
}

static void op_checkpoint(struct machine *m)
{
    int i = next_byte(m) % POOLS;
    larder_checkpoint *cp = NULL;
    larder_result r = larder_checkpoint_take(m->a, pool_id(i), &cp);

    REQUIRE(r == LARDER_OK || r == LARDER_ERR_UNKNOWN_POOL);
    if (r != LARDER_OK)
        return;
    larder_checkpoint_destroy(m->checkpoints[i]);
    m->checkpoints[i] = cp;
}

/* Forget blocks that a restore removed, and take over those it recreated, as
 * many as there is room for; free the rest. */
static void take_over(struct machine *m, const larder_addr *freed,
                      size_t freed_count, const larder_addr *created,
                      size_t created_count)
{
    for (size_t i = 0; i < freed_count; i++) {
        for (int k = 0; k < SLOTS; k++) {
            if (m->blocks[k].addr == freed[i])
                m->blocks[k].addr = 0;
        }
    }
    for (size_t i = 0; i < created_count; i++) {
        int k = 0;

        while (k < SLOTS && m->blocks[k].addr != 0)
            k++;
        if (k == SLOTS)
            REQUIRE(larder_free(m->a, created[i]) == LARDER_OK);
        else
            m->blocks[k] = (struct block){created[i], 1};
    }
}

static void op_restore(struct machine *m)
{
    int i = next_byte(m) % POOLS;
    larder_addr freed[SLOTS], created[SLOTS];
    size_t freed_count = 0, created_count = 0;
    larder_result r;

    if (m->checkpoints[i] == NULL)
        return;
    r = larder_checkpoint_restore(m->a, m->checkpoints[i], freed, SLOTS,
                                  &freed_count, created, SLOTS, &created_count);
    REQUIRE(r == LARDER_OK || r == LARDER_ERR_INVALID ||
            r == LARDER_ERR_UNKNOWN_POOL);
    REQUIRE(freed_count <= SLOTS && created_count <= SLOTS);
    if (r == LARDER_OK)
        take_over(m, freed, freed_count, created, created_count);
}

static void op_configure(struct machine *m)
{
    REQUIRE(larder_configure(m->a, settings[next_byte(m) % SETTINGS]) ==
            LARDER_OK);
}

static void op_fraction(struct machine *m)
{
    REQUIRE(larder_set_memory_fraction(m->a, next_byte(m) / 255.0) ==
            LARDER_OK);
}

static void op_reserve(struct machine *m)
{
    larder_result r =
        larder_reserve(m->a, (uint64_t)(next_byte(m) % 8 + 1) << 20);

    REQUIRE(r == LARDER_OK || is_allowed_failure(r));
}

static void op_reset(struct machine *m)
{
    if (next_byte(m) % 2 == 0)
        REQUIRE(larder_stats_reset_peak(m->a) == LARDER_OK);
    else
        REQUIRE(larder_stats_reset_accumulated(m->a) == LARDER_OK);
}

typedef void operation(struct machine *m);

/* The first ones are more frequent. */
static operation *const operations[] = {
    op_alloc,      op_alloc,    op_alloc,        op_alloc,      op_free,
    op_free,       op_free,     op_record,       op_complete,   op_empty_cache,
    op_pool_begin, op_pool_end, op_pool_release, op_checkpoint, op_restore,
    op_configure,  op_fraction, op_reserve,      op_reset,      op_free_wrongly,
};

enum { OPERATIONS = sizeof operations / sizeof operations[0] };

/* ---- a program ----------------------------------------------------------- */

static void machine_start(struct machine *m)
{
    uint8_t byte = next_byte(m);
    larder_options opt;

    larder_options_init(&opt);
    opt.conf = settings[byte % SETTINGS];
    opt.policy = byte & 0x80 ? LARDER_POLICY_DIRECT : LARDER_POLICY_PYTORCH;
    REQUIRE(larder_device_open("sim:96MiB,backing=none,events=manual", 0,
                               &m->dev) == LARDER_OK);
    REQUIRE(larder_create(m->dev, &opt, &m->a) == LARDER_OK);
}

static void require_device_empty(larder_device *dev)
{
    larder_sim_usage usage = {.size = sizeof usage};

    REQUIRE(larder_sim_get_usage(dev, &usage) == LARDER_OK);
    REQUIRE(usage.allocations == 0 && usage.pages == 0);
    REQUIRE(usage.mappings == 0 && usage.reservations == 0);
    REQUIRE(usage.events == 0 && usage.self_bytes == usage.context_bytes);
}

static void machine_end(struct machine *m)
{
    larder_stats st;

    for (int i = 0; i < SLOTS; i++)
        REQUIRE(larder_free(m->a, m->blocks[i].addr) == LARDER_OK);
    for (int i = 0; i < POOLS; i++) {
        if (m->begun[i])
            REQUIRE(larder_pool_end(m->a, pool_id(i)) == LARDER_OK);
        for (; m->held[i] > 0; m->held[i]--)
            REQUIRE(larder_pool_release(m->a, pool_id(i)) == LARDER_OK);
        larder_checkpoint_destroy(m->checkpoints[i]);
    }
    REQUIRE(larder_empty_cache(m->a) == LARDER_OK);
    REQUIRE(larder_check(m->a) == LARDER_OK);
    larder_stats_init(&st);
    REQUIRE(larder_stats_get(m->a, &st) == LARDER_OK);
    REQUIRE(st.allocated_bytes.all.current == 0);
    REQUIRE(st.active_bytes.all.current == 0);
    REQUIRE(larder_destroy(m->a) == LARDER_OK);
    require_device_empty(m->dev);
    REQUIRE(larder_device_close(m->dev) == LARDER_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct machine m = {.at = data, .end = data + size};

    machine_start(&m);
    for (int step = 0; step < STEPS_MAX && m.at < m.end; step++) {
        operations[next_byte(&m) % OPERATIONS](&m);
        if (step < CHECKED_STEPS || step % CHECKED_STEPS == 0)
            REQUIRE(larder_check(m.a) == LARDER_OK);
    }
    machine_end(&m);
    return 0;
}
