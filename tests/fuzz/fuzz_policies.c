/* fuzz_policies.c - any bytes as a trace, run under every policy with tags,
 * hints, pauses, trims and prices chosen by the operations' numbers. */
#include <sys/mman.h>
#include <unistd.h>

#include <larder/device.h>
#include <larder/hint.h>
#include <larder/sim.h>
#include <larder/tag.h>

#include "fuzz.h"
#include "trace/trace.h"
#include "support/read_file.h"

enum { OPS_MAX = 1500, CHECK_EVERY = 16, TAGS = 3 };

struct subject {
    const char *spec;
    larder_policy policy;
};

static const struct subject subjects[] = {
    {"sim:64MiB,backing=none,events=manual", LARDER_POLICY_LARDER},
    {"sim:64MiB,backing=none,events=driver,vmm=off", LARDER_POLICY_LARDER},
    {"sim:64MiB,backing=none,events=manual", LARDER_POLICY_PYTORCH},
    {"sim:64MiB,backing=none,events=driver", LARDER_POLICY_DIRECT},
};
enum { SUBJECTS = sizeof subjects / sizeof subjects[0] };

static const char *const tags[TAGS] = {"weights", "cache", "other"};

struct run {
    larder_device *dev;
    larder_allocator *a;
    larder_addr *addrs; /* by ID; 0: none */
};

static void require_one_of(larder_result r, const larder_result *allowed,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (r == allowed[i])
            return;
    }
    fprintf(stderr, "%s: %s\n", larder_result_name(r), larder_last_error());
    abort();
}

#define ALLOWED(r, ...)                                                        \
    require_one_of((r), (const larder_result[]){LARDER_OK, __VA_ARGS__},       \
                   1 + sizeof((const larder_result[]){__VA_ARGS__}) /          \
                           sizeof(larder_result))

/* Every fourth request belongs to a tag. */
static void allocate(struct run *run, const struct trace_op *op)
{
    static const larder_hint hints[] = {LARDER_HINT_NONE, LARDER_HINT_LONG,
                                        LARDER_HINT_SHORT};
    int is_tagged = op->id % 4 == 0;

    if (is_tagged)
        ALLOWED(larder_tag_begin(run->a, tags[op->id / 4 % TAGS]),
                LARDER_ERR_PAUSED);
    ALLOWED(larder_alloc_hinted(run->a, op->bytes, op->stream,
                                hints[op->id % 3], &run->addrs[op->id]),
            LARDER_ERR_OUT_OF_MEMORY, LARDER_ERR_PAUSED);
    if (is_tagged)
        ALLOWED(larder_tag_end(run->a), LARDER_ERR_INVALID);
}

/* A mark pauses, resumes, trims or limits, depending on its label's length. */
static void disturb(struct run *run, size_t length)
{
    const char *tag = tags[length / 8 % TAGS];

    switch (length % 8) {
    case 0:
        ALLOWED(larder_pause(run->a, tag, LARDER_PAUSE_DROP),
                LARDER_ERR_INVALID, LARDER_ERR_PAUSED, LARDER_ERR_UNSUPPORTED);
        break;
    case 1:
        ALLOWED(larder_resume(run->a, tag), LARDER_ERR_INVALID,
                LARDER_ERR_OUT_OF_MEMORY);
        break;
    case 2:
        ALLOWED(larder_tag_limit(run->a, tag, (uint64_t)length << 20),
                LARDER_ERR_INVALID);
        break;
    default:
        ALLOWED(larder_trim(run->a, (uint64_t)length << 18, NULL), LARDER_OK);
    }
}

static void apply(struct run *run, const struct trace *t,
                  const struct trace_op *op)
{
    larder_addr *addr = &run->addrs[op->id];

    switch (op->kind) {
    case TRACE_ALLOC:
        allocate(run, op);
        break;
    case TRACE_FREE:
        REQUIRE(larder_free(run->a, *addr) == LARDER_OK);
        *addr = 0;
        break;
    case TRACE_RECORD:
        if (*addr != 0)
            REQUIRE(larder_record_stream(run->a, *addr, op->stream) ==
                    LARDER_OK);
        break;
    case TRACE_COMPLETE:
        REQUIRE(larder_sim_complete(run->dev, op->stream) == LARDER_OK);
        break;
    case TRACE_EMPTY_CACHE:
        REQUIRE(larder_empty_cache(run->a) == LARDER_OK);
        break;
    default:
        disturb(run, strlen(trace_label(t, op)));
    }
}

/* Prices derived from the trace: the cost of calls does not change any
 * result. */
static void set_prices(larder_device *dev, const struct trace *t)
{
    larder_prices prices;

    larder_prices_init(&prices);
    prices.page_create = t->op_count * 1000;
    prices.map = t->id_count;
    REQUIRE(larder_device_set_prices(dev, &prices) == LARDER_OK);
}

static void run_under(const struct trace *t, const struct subject *s)
{
    struct run run = {.addrs = calloc(t->id_count + 1, sizeof(larder_addr))};
    larder_sim_usage usage = {.size = sizeof usage};
    larder_options opt;

    REQUIRE(run.addrs != NULL);
    larder_options_init(&opt);
    opt.policy = s->policy;
    opt.conf = "";
    REQUIRE(larder_device_open(s->spec, 0, &run.dev) == LARDER_OK);
    set_prices(run.dev, t);
    REQUIRE(larder_create(run.dev, &opt, &run.a) == LARDER_OK);
    for (size_t i = 0; i < t->op_count && i < OPS_MAX; i++) {
        apply(&run, t, &t->ops[i]);
        if (i % CHECK_EVERY == 0)
            REQUIRE(larder_check(run.a) == LARDER_OK);
    }
    REQUIRE(larder_check(run.a) == LARDER_OK);
    REQUIRE(larder_destroy(run.a) == LARDER_OK);
    REQUIRE(larder_sim_get_usage(run.dev, &usage) == LARDER_OK);
    REQUIRE(usage.self_bytes == 0 && usage.pages == 0);
    REQUIRE(larder_device_close(run.dev) == LARDER_OK);
    free(run.addrs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tool_error error = {.text = ""};
    struct trace t;
    char name[FUZZ_NAME_MAX];
    int fd = fuzz_file(data, size, name);

    if (trace_read(name, &t, &error)) {
        for (int i = 0; i < SUBJECTS; i++)
            run_under(&t, &subjects[i]);
        trace_free(&t);
    }
    close(fd);
    return 0;
}
