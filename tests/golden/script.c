/* script.c - a script of operations, run as a release of PyTorch would run
 * it. */
#include "golden/script.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <larder/history.h>
#include <larder/larder.h>
#include <larder/sim.h>

#include "core/entry/handle.h"
#include "support/call_log.h"

enum { IDS = 65536, POOLS = 1024, STREAMS_MAX = 8 };

/* The streams whose allocations go to a pool; none: all of them. */
struct scope {
    larder_stream streams[STREAMS_MAX];
    int count;
};

struct run {
    larder_device *device;
    larder_allocator *allocator;
    larder_addr base;
    larder_addr *addrs; /* by ID */
    struct scope scopes[POOLS];
    FILE *out;
    bool records_streams;
};

/* ---- statistics ----------------------------------------------------------- */

static void put_stat(FILE *out, const char *name, const char *pool,
                     const larder_stat *s)
{
    if (s->peak == 0 && s->allocated == 0 && s->freed == 0)
        return;
    fprintf(out, " %s%s=%" PRId64 "/%" PRId64 "/%" PRId64 "/%" PRId64, name,
            pool, s->current, s->peak, s->allocated, s->freed);
}

static void put_split(FILE *out, const char *name, const larder_stat_split *s)
{
    put_stat(out, name, ".all", &s->all);
    put_stat(out, name, ".small_pool", &s->small_pool);
    put_stat(out, name, ".large_pool", &s->large_pool);
}

/* Fields that are not 0. */
static void put_stats(struct run *r)
{
    larder_stats st;

    larder_stats_init(&st);
    if (larder_stats_get(r->allocator, &st) != LARDER_OK)
        return;
    if (r->records_streams) {
        /* It depends on the order in which frees complete, which in PyTorch is
         * that of hash tables and can differ from run to run. */
        st.inactive_split = (larder_stat_split){0};
        st.inactive_split_bytes = (larder_stat_split){0};
    }
    fputs("s", r->out);
#define X(name, text) put_split(r->out, #name, &st.name);
    LARDER_METRIC_MAP(X)
#undef X
    put_stat(r->out, "oversize_allocations", "", &st.oversize_allocations);
    put_stat(r->out, "oversize_segments", "", &st.oversize_segments);
#define X(name, text)                                                          \
    if (st.name != 0)                                                          \
        fprintf(r->out, " " #name "=%" PRId64, st.name);
    LARDER_COUNTER_MAP(X)
#undef X
    fprintf(r->out, " max_split_size=%" PRId64 "\n", st.max_split_size);
}

/* ---- history and blocks ---------------------------------------------------- */

static int put_event(void *ctx, const larder_event *e)
{
    const struct run *r = ctx;
    bool is_oom = e->action == LARDER_ACTION_oom;

    fprintf(r->out, "h %d %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
            (int)e->action, is_oom ? e->device_free_bytes : e->addr - r->base,
            e->bytes, e->stream);
    return 0;
}

static int put_segment(void *ctx, const larder_segment_info *s)
{
    const struct run *r = ctx;

    fprintf(r->out, "g %" PRIu64 " %" PRIu64 " %" PRIu64 " %s%s %" PRIu64 "\n",
            s->addr - r->base, s->bytes, s->stream,
            s->is_large ? "large" : "small",
            s->is_expandable ? " expandable" : "", s->pool.second);
    return 0;
}

static int put_block(void *ctx, const larder_segment_info *s,
                     const larder_block_info *b)
{
    static const char *const states[] = {
        [LARDER_BLOCK_FREE] = "free",
        [LARDER_BLOCK_PENDING] = "pending",
        [LARDER_BLOCK_ALLOCATED] = "live",
    };
    const struct run *r = ctx;

    (void)s;
    fprintf(r->out, "b %" PRIu64 " %" PRIu64 " %s %" PRIu64 "\n",
            b->addr - r->base, b->bytes, states[b->state], b->requested_bytes);
    return 0;
}

static larder_result put_end(struct run *r)
{
    larder_result result = larder_history_walk(r->allocator, put_event, r);

    return result == LARDER_OK
               ? larder_walk(r->allocator, put_segment, put_block, r)
               : result;
}

/* ---- operations ------------------------------------------------------------ */

static int scope_takes(void *ctx, larder_stream stream)
{
    const struct scope *s = ctx;

    for (int i = 0; i < s->count; i++) {
        if (s->streams[i] == stream)
            return 1;
    }
    return s->count == 0;
}

static larder_result pool_begin(struct run *r, unsigned pool, const char *rest)
{
    struct scope *s = &r->scopes[pool];
    const larder_pool_id id = {0, pool};
    char *end;

    s->count = 0;
    for (;;) {
        unsigned long stream = strtoul(rest, &end, 10);

        if (end == rest || s->count == STREAMS_MAX)
            break;
        s->streams[s->count++] = stream;
        rest = end;
    }
    return larder_pool_begin(r->allocator, id, scope_takes, s);
}

static larder_result on_pool(struct run *r, char op, unsigned pool,
                             const char *rest)
{
    const larder_pool_id id = {0, pool};

    switch (op) {
    case 'b':
        return pool_begin(r, pool, rest);
    case 'n':
        return larder_pool_end(r->allocator, id);
    case 'u':
        return larder_pool_release(r->allocator, id);
    case 'o':
        return larder_pool_set_lending(r->allocator, id, 1);
    default:
        return larder_pool_set_whole(r->allocator, id, 1);
    }
}

static larder_result allocate(struct run *r, unsigned id, const char *rest)
{
    uint64_t bytes = 0;
    unsigned stream = 0;
    larder_result result;

    sscanf(rest, "%" SCNu64 " %u", &bytes, &stream);
    r->addrs[id] = 0;
    result = larder_alloc(r->allocator, bytes, stream, &r->addrs[id]);
    if (result == LARDER_ERR_OUT_OF_MEMORY)
        fprintf(r->out, "p %u oom\n", id);
    else if (result == LARDER_OK && r->addrs[id] == 0)
        fprintf(r->out, "p %u null\n", id);
    else if (result == LARDER_OK)
        fprintf(r->out, "p %u %" PRIu64 "\n", id, r->addrs[id] - r->base);
    return result == LARDER_ERR_OUT_OF_MEMORY ? LARDER_OK : result;
}

static larder_result record(struct run *r, unsigned id, const char *rest)
{
    unsigned stream = 0;

    sscanf(rest, "%u", &stream);
    if (r->addrs[id] == 0)
        return LARDER_OK;
    return larder_record_stream(r->allocator, r->addrs[id], stream);
}

static larder_result release(struct run *r, unsigned id)
{
    larder_addr addr = r->addrs[id];

    r->addrs[id] = 0;
    return addr == 0 ? LARDER_OK : larder_free(r->allocator, addr);
}

/* With ERR_CAPTURING the cache is not emptied; PyTorch raises an exception or
 * says nothing. */
static larder_result empty_cache(struct run *r)
{
    larder_result result = larder_empty_cache(r->allocator);

    return result == LARDER_ERR_CAPTURING ? LARDER_OK : result;
}

static larder_result run_numbered(struct run *r, char op, unsigned number,
                                  const char *rest)
{
    switch (op) {
    case 'a':
        return allocate(r, number, rest);
    case 'f':
        return release(r, number);
    case 'r':
        return record(r, number, rest);
    case 'c':
        return larder_sim_complete(r->device, number);
    case 'g':
        return larder_capture_begin(r->allocator);
    case 'h':
        return larder_capture_end(r->allocator);
    case 'w': /* the graph of a capture is not needed here */
    case 'j':
        return LARDER_OK;
    default:
        return number < POOLS ? on_pool(r, op, number, rest)
                              : LARDER_ERR_INVALID;
    }
}

static larder_result run_line(struct run *r, const char *line)
{
    const char *rest = line + 1;
    char *end;
    unsigned long number;

    switch (line[0]) {
    case 'e':
        return empty_cache(r);
    case 'q':
        put_stats(r);
        return LARDER_OK;
    case 'k':
        return larder_configure(r->allocator, rest + 1);
    case 'l':
        return larder_set_memory_fraction(r->allocator, strtod(rest, NULL));
    default:
        number = strtoul(rest, &end, 10);
        return end != rest && number < IDS
                   ? run_numbered(r, line[0], (unsigned)number, end)
                   : LARDER_ERR_INVALID;
    }
}

/* ---- the whole script ------------------------------------------------------- */

/* Set the given rules, of whatever release, before anything is allocated. */
static larder_result set_rules(struct run *r, const struct script *s,
                               const struct pytorch_rules *rules)
{
    struct allocator *a;
    larder_result result = larder__handle_lock(r->allocator, &a);

    if (result != LARDER_OK)
        return result;
    a->conf.rules = rules;
    a->slab.has_serials = rules->free_order != PYTORCH_ADDRESSES;
    a->small_max_bytes = 0; /* it is not yet created */
    larder__handle_unlock(a);
    result = larder_configure(r->allocator, s->conf);
    a->small_max_bytes = SMALL_MAX_BYTES;
    if (result == LARDER_OK && s->fraction < 1)
        result = larder_set_memory_fraction(r->allocator, s->fraction);
    return result;
}

static larder_result watch(struct run *r)
{
    larder_history_options options;

    larder_history_options_init(&options);
    call_log_begin(r->device, r->base, r->out);
    return larder_history_start(r->allocator, &options);
}

static larder_result open_all(struct run *r, const struct script *s,
                              const struct pytorch_rules *rules)
{
    larder_options options;
    larder_addr second;
    char spec[96];
    larder_result result;

    snprintf(spec, sizeof spec, "sim:%" PRIu64 ",backing=none,events=%s",
             s->capacity, s->is_manual ? "manual" : "immediate");
    larder_options_init(&options);
    options.policy = LARDER_POLICY_PYTORCH;
    options.conf = "";
    result = larder_device_open(spec, 0, &r->device);
    if (result == LARDER_OK)
        result = larder_sim_regions(r->device, &r->base, &second);
    if (result == LARDER_OK)
        result = larder_create(r->device, &options, &r->allocator);
    if (result == LARDER_OK)
        result = set_rules(r, s, rules);
    return result == LARDER_OK ? watch(r) : result;
}

static bool run_lines(struct run *r, const char *lines,
                      struct tool_error *error)
{
    char *copy = strdup(lines);
    char *rest = copy;
    char *line;
    larder_result result = copy != NULL ? LARDER_OK : LARDER_ERR_NO_HOST_MEMORY;

    while (result == LARDER_OK && (line = strsep(&rest, "\n")) != NULL) {
        if (line[0] == '\0' || line[0] == '#')
            continue;
        result = run_line(r, line);
        if (result != LARDER_OK)
            tool_set_error(error, "'%.60s': %s: %s", line,
                           larder_result_name(result), larder_last_error());
    }
    free(copy);
    if (result == LARDER_OK && larder_check(r->allocator) != LARDER_OK)
        return tool_fail(error, "%s", larder_last_error());
    return result == LARDER_OK;
}

/* Runs the script once everything is open. */
static bool run_opened(struct run *r, const struct script *s,
                       larder_result open, struct tool_error *error)
{
    bool ok;

    if (open == LARDER_ERR_CONF) {
        fprintf(r->out, "refused\n");
        return true;
    }
    if (open != LARDER_OK)
        return tool_fail(error, "%s", larder_last_error());
    ok = run_lines(r, s->lines, error);
    call_log_end(r->device);
    if (!ok)
        return false;
    put_stats(r);
    return put_end(r) == LARDER_OK ||
           tool_fail(error, "%s", larder_last_error());
}

bool script_run(const struct script *s, const struct pytorch_rules *rules,
                FILE *out, struct tool_error *error)
{
    struct run *r = calloc(1, sizeof *r);
    bool ok = false;

    if (r != NULL)
        r->addrs = calloc(IDS, sizeof *r->addrs);
    if (r == NULL || r->addrs == NULL) {
        tool_set_error(error, "out of host memory");
    } else {
        r->out = out;
        r->records_streams =
            strncmp(s->lines, "r ", 2) == 0 || strstr(s->lines, "\nr ") != NULL;
        ok = run_opened(r, s, open_all(r, s, rules), error);
        larder_destroy(r->allocator);
        larder_device_close(r->device);
        free(r->addrs);
    }
    free(r);
    return ok;
}
