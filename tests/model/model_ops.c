/* model_ops.c - random programs: sizes at the edges of every rule, memory that
 * is nearly full, settings that change. */
#include "model/model_ops.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)
/* A range of an expandable segment is 9/8 of the capacity, and there are
 * many. */
#define CAPACITY_MAX (200 * 1024 * MIB)

/* ---- random numbers ----------------------------------------------------- */

void model_random_init(struct model_random *r, uint64_t seed)
{
    r->state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (int i = 0; i < 4; i++)
        model_random_below(r, 2);
}

uint64_t model_random_below(struct model_random *r, uint64_t n)
{
    r->state ^= r->state >> 12;
    r->state ^= r->state << 25;
    r->state ^= r->state >> 27;
    return (r->state * UINT64_C(0x2545f4914f6cdd1d) >> 16) % n;
}

bool model_random_chance(struct model_random *r, unsigned percent)
{
    return model_random_below(r, 100) < percent;
}

/* ---- configurations ----------------------------------------------------- */

struct text {
    char *out;
    size_t length;
};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
text_add(struct text *t, const char *format, ...)
{
    va_list args;

    if (t->length > 0 && t->out[t->length - 1] != '[')
        t->out[t->length++] = ',';
    va_start(args, format);
    t->length += (size_t)vsnprintf(t->out + t->length,
                                   MODEL_CONF_MAX - t->length, format, args);
    va_end(args);
}

static void add_divisions(struct text *t, struct model_random *r)
{
    unsigned interval = (unsigned)model_random_below(r, 4);

    if (model_random_chance(r, 50)) {
        text_add(t, "roundup_power2_divisions:%u",
                 1u << model_random_below(r, 6));
        return;
    }
    text_add(t, "roundup_power2_divisions:[");
    for (; interval < 12; interval += 1 + (unsigned)model_random_below(r, 3))
        text_add(t, "%u:%u", 1u << interval, 1u << model_random_below(r, 5));
    if (model_random_chance(r, 70))
        text_add(t, ">:%u", 1u << model_random_below(r, 5));
    t->out[t->length++] = ']';
    t->out[t->length] = '\0';
}

/* Often `half`: then limits are multiples of segments, and both `is equal` and
 * `is less` occur. */
static unsigned half_or(struct model_random *r, unsigned value, unsigned half)
{
    return model_random_chance(r, 40) ? half : value;
}

void model_conf_text(uint64_t value, char out[MODEL_CONF_MAX])
{
    struct text t = {out, 0};
    struct model_random r;

    model_random_init(&r, value);
    out[0] = '\0';
    if (model_random_chance(&r, 50))
        text_add(&t, "expandable_segments:%s",
                 model_random_chance(&r, 70) ? "True" : "False");
    if (model_random_chance(&r, 40))
        text_add(&t, "max_split_size_mb:%" PRIu64,
                 33 + model_random_below(&r, 60));
    if (model_random_chance(&r, 20)) /* not below the largest segments */
        text_add(&t, "max_non_split_rounding_mb:%" PRIu64,
                 32 + model_random_below(&r, 40));
    if (model_random_chance(&r, 20))
        text_add(&t, "large_segment_size_mb:%" PRIu64,
                 12 + 2 * model_random_below(&r, 11));
    if (model_random_chance(&r, 40))
        text_add(&t, "garbage_collection_threshold:0.%u",
                 half_or(&r, 1 + (unsigned)model_random_below(&r, 9), 5));
    if (model_random_chance(&r, 40))
        text_add(&t, "per_process_memory_fraction:0.%u",
                 half_or(&r, 30 + (unsigned)model_random_below(&r, 70), 50));
    if (model_random_chance(&r, 30))
        add_divisions(&t, &r);
}

/* ---- sizes -------------------------------------------------------------- */

/* Close to a size where a rule changes. */
static uint64_t edge_size(struct model_random *r)
{
    static const uint64_t edges[] = {
        512,      1024,     MIB,      2 * MIB,  10 * MIB,
        12 * MIB, 20 * MIB, 21 * MIB, 33 * MIB, 64 * MIB,
    };
    uint64_t at = edges[model_random_below(r, sizeof edges / sizeof edges[0])];

    return at - 513 + model_random_below(r, 1027) % 1027 +
           (model_random_chance(r, 20) ? MIB : 0);
}

static uint64_t power_size(struct model_random *r, unsigned from, unsigned to)
{
    uint64_t at = UINT64_C(1) << (from + model_random_below(r, to - from));

    return at + model_random_below(r, at);
}

static uint64_t random_size(const struct model_plan *p, struct model_random *r)
{
    unsigned kind = (unsigned)model_random_below(r, 10);

    if (model_random_chance(r, 1))
        return model_random_chance(r, 50)
                   ? 0
                   : UINT64_C(1) << (36 + model_random_below(r, 27));
    if (kind < 2)
        return edge_size(r);
    switch (p->sizes) {
    case 0:
        return power_size(r, 0, 20);
    case 1:
        return power_size(r, 18, 25);
    case 2:
        return power_size(r, 20, 27);
    case 3:
        return kind < 7 ? power_size(r, 8, 21) : power_size(r, 21, 26);
    case 4:
        return power_size(r, 24, 35);
    default:
        /* A few sizes only: exact fits, and many of the same size. */
        return 512 * (1 + model_random_below(r, 4)) *
               (UINT64_C(1) << 4 * model_random_below(r, 5));
    }
}

/* ---- plans -------------------------------------------------------------- */

/* About half of what all the slots would hold, times a factor from much too
 * little to more than enough. */
static uint64_t random_capacity(const struct model_plan *p,
                                struct model_random *r)
{
    static const uint64_t mean_mib[] = {4, 9, 26, 9, 800, 17};
    static const uint64_t percent[] = {40, 80, 150, 250, 400, 800};
    uint64_t bytes = p->slots * mean_mib[p->sizes] * MIB / 200 *
                     percent[model_random_below(r, 6)];

    bytes = bytes / (8 * MIB) * 8 * MIB + 24 * MIB;
    if (bytes > CAPACITY_MAX)
        bytes = CAPACITY_MAX;
    if (model_random_chance(r, 20))
        bytes += 512 * model_random_below(r, 4096);
    return bytes;
}

void model_plan_init(struct model_plan *p, uint64_t seed)
{
    struct model_random *r = &p->random;

    memset(p, 0, sizeof *p);
    p->seed = seed;
    model_random_init(r, seed);
    p->sizes = (unsigned)model_random_below(r, 6);
    p->conf = model_random_below(r, UINT64_C(1) << 40);
    p->slots = 4u << model_random_below(r, 6);
    if (model_random_chance(r, 5))
        p->slots = MODEL_SLOTS;
    p->capacity = random_capacity(p, r);
    p->streams = 1 + (unsigned)model_random_below(r, MODEL_STREAMS);
    p->record_percent =
        model_random_chance(r, 50) ? (unsigned)model_random_below(r, 30) : 0;
    p->with_pools = model_random_chance(r, 40);
    p->with_configure = model_random_chance(r, 40);
    p->fill_percent = 50;
}

static unsigned any_stream(struct model_plan *p)
{
    return (unsigned)model_random_below(&p->random, p->streams);
}

static struct model_op next_pool_op(struct model_plan *p)
{
    struct model_random *r = &p->random;
    struct model_op op = {.slot = (unsigned)model_random_below(r, MODEL_POOLS)};

    if (p->begun[op.slot]) {
        op.kind = MODEL_POOL_END;
        p->begun[op.slot] = false;
    } else if (p->held[op.slot] && model_random_chance(r, 60)) {
        op.kind = MODEL_POOL_RELEASE;
        p->held[op.slot] = false;
    } else {
        op.kind = MODEL_POOL_BEGIN;
        op.stream = model_random_chance(r, 30)
                        ? (1u << MODEL_STREAMS) - 1
                        : (unsigned)model_random_below(r, 1u << MODEL_STREAMS);
        p->begun[op.slot] = true;
        p->held[op.slot] = true;
    }
    if (model_random_chance(r, 5))
        op.kind = MODEL_POOL_BEGIN + (unsigned)model_random_below(r, 3);
    return op;
}

static bool any_begun(const struct model_plan *p)
{
    for (size_t i = 0; i < MODEL_POOLS; i++) {
        if (p->begun[i])
            return true;
    }
    return false;
}

/* An operation that is neither an allocation nor a free. */
static struct model_op next_other(struct model_plan *p)
{
    struct model_random *r = &p->random;
    struct model_op op = {.kind = MODEL_EMPTY_CACHE};
    unsigned pick = (unsigned)model_random_below(r, 100);

    if (p->with_pools && pick < (any_begun(p) ? 30 : 8)) {
        op = next_pool_op(p);
    } else if (pick < 40) {
        op.kind = MODEL_COMPLETE;
        op.stream = any_stream(p);
    } else if (pick < 50) {
        op.kind = MODEL_FREE_BAD;
        op.slot = (unsigned)model_random_below(r, p->slots);
    } else if (p->with_configure && pick < 54) {
        op.kind = MODEL_CONFIGURE;
        op.value = model_random_below(r, UINT64_C(1) << 40);
    } else if (p->with_configure && pick < 56) {
        op.kind = MODEL_FRACTION;
        op.value = 20 + model_random_below(r, 80);
    } else if (pick < 58) {
        op.kind = MODEL_RESET_PEAK;
    } else if (pick < 59 && model_random_chance(r, 10)) {
        op.kind = MODEL_RESET_ACCUMULATED;
    } else if (pick < 90) {
        op.kind = MODEL_COMPLETE;
        op.stream = any_stream(p);
    }
    return op;
}

/* Of three tries, a slot that is in use, or is not, as far as known. */
static unsigned pick_slot(struct model_plan *p, bool in_use)
{
    unsigned slot = 0;

    for (int i = 0; i < 3; i++) {
        slot = (unsigned)model_random_below(&p->random, p->slots);
        if (p->in_use[slot] == in_use)
            break;
    }
    return slot;
}

struct model_op model_plan_next(struct model_plan *p)
{
    struct model_random *r = &p->random;
    struct model_op op = {.kind = MODEL_FREE};

    if (model_random_below(r, 400) == 0)
        p->fill_percent = 20 + (unsigned)model_random_below(r, 70);
    if (model_random_chance(r, 6))
        return next_other(p);
    if (model_random_chance(r, p->record_percent)) {
        op.kind = MODEL_RECORD;
        op.slot = pick_slot(p, true);
        op.stream = any_stream(p);
    } else if (model_random_chance(r, p->fill_percent)) {
        op.kind = MODEL_ALLOC;
        op.slot = pick_slot(p, false);
        op.stream = any_stream(p);
        op.value = random_size(p, r);
        p->in_use[op.slot] = true;
    } else {
        op.slot = pick_slot(p, true);
        p->in_use[op.slot] = false;
    }
    return op;
}

/* ---- printing ----------------------------------------------------------- */

void model_op_print(const struct model_op *op, FILE *out)
{
    char conf[MODEL_CONF_MAX];

    switch (op->kind) {
    case MODEL_ALLOC:
        fprintf(out, "a %u %" PRIu64 " %u\n", op->slot, op->value, op->stream);
        break;
    case MODEL_FREE:
        fprintf(out, "f %u\n", op->slot);
        break;
    case MODEL_FREE_BAD:
        fprintf(out, "free again %u\n", op->slot);
        break;
    case MODEL_RECORD:
        fprintf(out, "r %u %u\n", op->slot, op->stream);
        break;
    case MODEL_COMPLETE:
        fprintf(out, "c %u\n", op->stream);
        break;
    case MODEL_EMPTY_CACHE:
        fputs("e\n", out);
        break;
    case MODEL_POOL_BEGIN:
        fprintf(out, "begin pool %u for streams %#x\n", op->slot, op->stream);
        break;
    case MODEL_POOL_END:
        fprintf(out, "end pool %u\n", op->slot);
        break;
    case MODEL_POOL_RELEASE:
        fprintf(out, "release pool %u\n", op->slot);
        break;
    case MODEL_CONFIGURE:
        model_conf_text(op->value, conf);
        fprintf(out, "configure '%s'\n", conf);
        break;
    case MODEL_FRACTION:
        fprintf(out, "fraction 0.%02u\n", (unsigned)op->value);
        break;
    case MODEL_RESET_PEAK:
        fputs("reset peak\n", out);
        break;
    case MODEL_RESET_ACCUMULATED:
        fputs("reset accumulated\n", out);
        break;
    case MODEL_KIND_COUNT:
        break;
    }
}
