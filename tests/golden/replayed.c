/* replayed.c - replays of random traces and snapshots. */
#include "golden/replayed.h"

#include <inttypes.h>
#include <unistd.h>

#include "golden/record.h"
#include "replay/replay.h"
#include "support/digest.h"
#include "support/random.h"
#include "support/rig.h"

enum { OPS = 700, LIVE = 90, STREAMS = 4, SIZES = 8 };

struct program {
    unsigned number;
    uint64_t seed;
    FILE *log;           /* NULL: none */
    uint64_t unit_bytes; /* sizes are up to 4096 of these */
    uint64_t device_bytes;
    uint64_t sizes[SIZES];
    uint32_t live[LIVE]; /* IDs, from 1; 0: none */
    struct trace trace;
    struct replay_options options;
    char device[128];
    char conf[128];
    uint64_t to_do; /* what progress says */
    uint64_t done;
};

/* Below `end`.  At most once in an expression whose order is open. */
static uint64_t draw(struct program *p, uint64_t end)
{
    return random_u64(&p->seed, end);
}

/* ---- traces ------------------------------------------------------------------ */

static uint64_t draw_size(struct program *p)
{
    const uint64_t units = UINT64_C(1) << draw(p, 12);

    return p->unit_bytes * (1 + draw(p, units)) - draw(p, 2);
}

static void add(struct program *p, struct trace_op op)
{
    assert_true(trace_append(&p->trace, &op));
}

static void add_alloc(struct program *p, uint32_t *slot)
{
    struct trace_op op = {.kind = TRACE_ALLOC,
                          .id = (uint32_t)p->trace.id_count,
                          .bytes = p->sizes[draw(p, SIZES)]};

    if (draw(p, 6) == 0)
        op.bytes = draw_size(p);
    if (draw(p, 40) == 0)
        op.bytes = 0;
    op.stream = (uint16_t)(draw(p, 3) == 0 ? draw(p, STREAMS) : 0);
    if (p->number % 5 == 4)
        op.pool = (uint8_t)draw(p, 3);
    add(p, op);
    *slot = op.id + 1;
}

static void add_free(struct program *p, uint32_t *slot)
{
    add(p, (struct trace_op){.kind = TRACE_FREE, .id = *slot - 1});
    *slot = 0;
}

static void add_other(struct program *p, uint32_t id, bool orders_work)
{
    const uint64_t what = draw(p, 8);
    const uint16_t stream = (uint16_t)draw(p, STREAMS);

    /* Its first allocation, which is freed by then as a rule: that ends a
     * replay. */
    if (p->number % 11 == 10 && p->trace.op_count > OPS / 2)
        add(p, (struct trace_op){.kind = TRACE_RECORD, .stream = 1});
    else if (what == 0)
        add(p, (struct trace_op){.kind = TRACE_EMPTY_CACHE});
    else if (what == 1)
        assert_true(trace_append_mark(&p->trace, "step", 4));
    else if (what < 4 && orders_work)
        add(p, (struct trace_op){.kind = TRACE_COMPLETE, .stream = stream});
    else if (id != 0 && orders_work)
        add(p, (struct trace_op){
                   .kind = TRACE_RECORD, .id = id - 1, .stream = stream});
}

static void make_trace(struct program *p)
{
    const bool orders_work = draw(p, 2) == 0;
    uint64_t of_16 = 9;

    trace_init(&p->trace);
    for (int i = 0; i < SIZES; i++)
        p->sizes[i] = draw_size(p);
    for (int i = 0; i < OPS; i++) {
        uint32_t *slot = &p->live[draw(p, LIVE)];

        if (draw(p, 60) == 0)
            of_16 = 5 + draw(p, 7);
        if (draw(p, 12) == 0)
            add_other(p, *slot, orders_work);
        else if (*slot != 0 && draw(p, 16) >= of_16)
            add_free(p, slot);
        else if (*slot == 0)
            add_alloc(p, slot);
    }
}

/* ---- options -------------------------------------------------------------------- */

static void progress(void *ctx, uint64_t more_to_do, uint64_t more_done)
{
    struct program *p = ctx;

    p->to_do += more_to_do;
    p->done += more_done;
}

static void draw_options(struct program *p)
{
    static const char *const confs[] = {
        "",
        "expandable_segments:True",
        "defrag:off",
        "defrag:eager",
        "handle_mib:2",
        "max_split_size_mb:21",
        "garbage_collection_threshold:0.6,per_process_memory_fraction:0.8",
        "lifetimes:off",
    };
    struct replay_options *o = &p->options;
    static const char *const releases[] = {"2.4", "2.8", "2.13"};

    o->policy = draw(p, 3) == 0 ? LARDER_POLICY_PYTORCH : LARDER_POLICY_DEFAULT;
    snprintf(p->conf, sizeof p->conf, "%s",
             confs[draw(p, sizeof confs / sizeof confs[0])]);
    o->conf = p->conf;
    if (draw(p, 6) == 0)
        o->release = releases[draw(p, 3)];
    snprintf(p->device, sizeof p->device, "sim:%" PRIu64 "%s%s",
             p->device_bytes, draw(p, 4) == 0 ? ",vmm=off" : "",
             p->number % 7 == 0 ? ",context=100MiB" : "");
    o->device = p->device;
    o->repeat = (unsigned)draw(p, 4);
    o->min_capacity = draw(p, 2) == 0;
    o->hints_after = draw(p, 2) * (1 + draw(p, 40));
    o->summary = draw(p, 2) == 0;
    o->stats_every = draw(p, 2) * 50;
    o->progress = progress;
    o->progress_ctx = p;
}

/* Of GiB, as cards are, or small; some do not fit. */
static void program_begin(struct program *p, unsigned number, FILE *log)
{
    uint64_t peak;

    *p = (struct program){
        .number = number,
        .seed = random_begin(number + 1),
        .log = log,
    };
    random_next(&p->seed);
    p->unit_bytes = number % 2 == 0 ? KIB(1) : KIB(200);
    make_trace(p);
    assert_true(trace_peak_requested(&p->trace, &peak));
    p->device_bytes = peak / 8 * (7 + draw(p, 8)) + MIB(4);
    draw_options(p);
}

/* ---- results ---------------------------------------------------------------------- */

static void put_digest(FILE *out, const char *name, const char *text)
{
    uint64_t digest = DIGEST_BEGIN;

    digest_bytes(&digest, text, text != NULL ? strlen(text) : 0);
    fprintf(out, " %s %08" PRIx32, name, digest_short(digest));
}

static void put_figures(FILE *out, const struct replay_result *r)
{
    fputs("  figures", out);
#define PUT(name) fprintf(out, " " #name " %" PRIu64, r->name)
    PUT(ops);
    PUT(oom_count);
    PUT(oom_op);
    PUT(peak_requested_bytes);
    PUT(peak_allocated_bytes);
    PUT(peak_reserved_bytes);
    PUT(driver_allocs);
    PUT(driver_frees);
    PUT(pages_created);
    PUT(pages_mapped);
    PUT(pages_unmapped);
    PUT(stream_syncs);
    PUT(driver_calls);
    PUT(driver_time_ns);
    PUT(later_driver_calls);
    PUT(later_driver_time_ns);
    PUT(min_capacity_bytes);
#undef PUT
    fprintf(out, " fragmentation %.6f refused_fits %d\n", r->peak_fragmentation,
            r->refused_fits);
}

static void put_cures(const struct replay_refused *f, FILE *out)
{
    char words[REPLAY_CONF_MAX];

    fputs(" cures", out);
    for (size_t i = 0; i < f->cure_count; i++)
        fprintf(out, "%s%s:%s", i == 0 ? " " : "+",
                larder_policy_name(f->cures[i].policy),
                replay_setting_line(&f->cures[i], NULL, words));
    fputs(f->cure_count == 0 ? " none\n" : "\n", out);
}

static void put_snapshot(FILE *out, const struct replay_snapshot *s)
{
    const struct replay_refused *f = &s->refused;

    fprintf(out,
            "  recorded conf '%s' used %d compared %d placements %" PRIu64
            " same %" PRIu64 " segments %" PRIu64 " segments_same %d "
            "end_same %d\n",
            s->conf, s->recorded_settings, s->recorded.compared,
            (uint64_t)s->recorded.placements, (uint64_t)s->recorded.same,
            (uint64_t)s->recorded.segment_events, s->recorded.segments_same,
            s->recorded.end_same);
    fprintf(out,
            "  refused found %d on_card %d device %" PRIu64
            " fits %d by_beginning %d min %" PRIu64 " short %" PRIu64
            " tried %zu",
            f->card.found, f->on_card, f->device_bytes, f->fits,
            f->by_beginning, f->min_bytes, f->short_bytes, f->tried);
    put_cures(f, out);
}

/* How long it took is not a decision. */
static void put_result(struct program *p, FILE *out, struct replay_result *r)
{
    char *json;

    put_figures(out, r);
    if (r->snapshot != NULL)
        put_snapshot(out, r->snapshot);
    fprintf(out, "  timed is %d\n", r->ns_per_op >= 0);
    if (r->ns_per_op >= 0)
        r->ns_per_op = 12.5;
    json = replay_result_json(r, "a.trace", &p->options);
    assert_non_null(json);
    if (p->log != NULL)
        fprintf(p->log, "%s\n%s\n", json,
                r->oom_text != NULL ? r->oom_text : "");
    fputs("  digests", out);
    put_digest(out, "json", json);
    put_digest(out, "words", r->oom_text);
    put_digest(out, "summary", r->summary);
    fputc('\n', out);
    free(json);
}

/* ---- running ------------------------------------------------------------------------ */

/* What the replay writes. */
struct written {
    char *text;
    size_t length;
    FILE *file;
};

static void written_begin(struct written *w)
{
    w->file = open_memstream(&w->text, &w->length);
    assert_non_null(w->file);
}

static void written_end(struct program *p, struct written *w, FILE *out,
                        const char *name)
{
    assert_int_equal(fclose(w->file), 0);
    if (p->log != NULL)
        fputs(w->text, p->log);
    put_digest(out, name, w->text);
    free(w->text);
}

static void replay_trace(struct program *p, FILE *out)
{
    struct written placements, stats;
    struct replay_result r;
    struct tool_error error;

    written_begin(&placements);
    written_begin(&stats);
    p->options.placements = placements.file;
    p->options.stats = stats.file;
    if (p->trace.id_count > 0 && p->number % 2 == 0) {
        p->trace.has_refused = true;
        p->trace.refused = (uint32_t)(p->trace.id_count - 1);
    }
    if (replay_run(&p->trace, &p->options, &r, &error)) {
        put_result(p, out, &r);
        replay_result_free(&r);
    } else {
        fprintf(out, "  error is '%s'\n", error.text);
    }
    fputs("  written", out);
    written_end(p, &placements, out, "placements");
    written_end(p, &stats, out, "stats");
    fputc('\n', out);
}

/* The trace runs under PyTorch's policy until it runs out of memory, or to its
 * end. */
static bool record_snapshot(struct program *p, const char *path)
{
    struct replay_options o = {
        .policy = LARDER_POLICY_PYTORCH,
        .conf = p->number % 2 == 0 ? "" : "expandable_segments:True",
        .device = p->device};
    struct replay_result r;
    struct tool_error error;
    bool ok;

    if (p->number % 4 < 2)
        o.oom_snapshot = path;
    else
        o.snapshot = path;
    ok = replay_run(&p->trace, &o, &r, &error);
    if (ok)
        replay_result_free(&r);
    return ok;
}

static void replay_recording(struct program *p, const char *path, FILE *out)
{
    struct replay_input in;
    struct replay_result r;
    struct tool_error error;

    if (draw(p, 4) != 0) { /* what was recorded */
        p->options.policy = LARDER_POLICY_DEFAULT;
        p->options.conf = NULL;
        p->options.device = draw(p, 3) == 0 ? p->device : NULL;
    }
    if (!replay_input_open(path, &in, &error)) {
        fputs("  nothing was recorded\n", out);
        return;
    }
    if (!replay_run_snapshot(&in, &p->options, &r, &error)) {
        fputs("  error is one\n", out);
        return;
    }
    put_result(p, out, &r);
    replay_result_free(&r);
}

static void replay_snapshot(struct program *p, FILE *out)
{
    char path[] = "/tmp/larder_recorded_XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    close(fd);
    unlink(path);
    if (record_snapshot(p, path))
        replay_recording(p, path, out);
    else
        fputs("  recording failed\n", out);
    unlink(path);
}

char *replay_record(unsigned number, FILE *log)
{
    struct program *p = test_calloc(1, sizeof *p);
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    assert_non_null(out);
    program_begin(p, number, log);
    fprintf(out,
            "program %u: %s, '%s', release %s, %s, repeat %u, hints %" PRIu64
            "%s\n",
            number, larder_policy_name(p->options.policy), p->conf,
            p->options.release != NULL ? p->options.release : "none", p->device,
            p->options.repeat, p->options.hints_after,
            p->options.min_capacity ? ", smallest device" : "");
    if (number % 3 == 2)
        replay_snapshot(p, out);
    else
        replay_trace(p, out);
    fprintf(out, "  progress to_do %" PRIu64 " done %" PRIu64 "\n", p->to_do,
            p->done);
    assert_int_equal(fclose(out), 0);
    trace_free(&p->trace);
    test_free(p);
    return text;
}
