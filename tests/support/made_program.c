/* made_program.c - memory snapshots of made-up programs, from a seed. */
#include "support/made_program.h"

#include <stdio.h>

#include "support/made_plan.h"
#include "support/random.h"

enum { LIVE_MAX = 64, NOTE_MAX = 32 };

/* ---- a running program ----------------------------------------------------- */

struct program {
    const struct made_plan *plan;
    struct made_device *device;
    unsigned number; /* of the device */
    uint64_t random;
    unsigned asked; /* stacks so far */
    unsigned step;
    char notes[STEPS_MAX + 1][NOTE_MAX];
    json_t *marks; /* annotations */
};

/* The stack of what the program does now; the caller releases it. */
static json_t *stack_of(struct program *g, enum made_role role, unsigned layer)
{
    const struct made_plan *p = g->plan;

    g->asked++;
    if (p->missing > 0 && g->asked % p->missing == 0)
        return json_array();
    return made_frames(p->unwinding, role, layer, p->library);
}

static const char *note_of(const struct program *g, enum made_role role)
{
    static const char *const words[MADE_ROLES] = {
        [MADE_SETUP] = "Parameter",           [MADE_DATA] = "input",
        [MADE_FORWARD] = "activation",        [MADE_ATTENTION] = "temporary",
        [MADE_LOSS] = "no category",          [MADE_BACKWARD] = "gradients",
        [MADE_OPTIMIZER] = "optimizer_state",
    };

    if (g->plan->notes == STEP_NOTES)
        return g->notes[g->step];
    return g->plan->notes == CATEGORIES ? words[role] : NULL;
}

static size_t alloc_on(struct program *g, enum made_role role, unsigned layer,
                       unsigned units, unsigned stream, unsigned pool)
{
    const struct made_plan *p = g->plan;
    uint64_t bytes = p->unit * (units > 0 ? units : 1);
    json_t *frames = stack_of(g, role, layer);
    size_t made = made_alloc(
        g->device, &(struct made_request){.bytes = bytes - p->odd_bytes,
                                          .stream = stream % p->streams,
                                          .pool = pool % p->pools,
                                          .frames = frames,
                                          .note = note_of(g, role)});

    json_decref(frames);
    return made;
}

static size_t alloc(struct program *g, enum made_role role, unsigned layer,
                    unsigned units)
{
    return alloc_on(g, role, layer, units, 0, 0);
}

static void release(struct program *g, size_t number, enum made_role role,
                    unsigned layer)
{
    json_t *frames = stack_of(g, role, layer);

    made_free(g->device, number, frames);
    json_decref(frames);
}

static void mark(struct program *g, const char *stage)
{
    static const char *const names[MARKS] = {NULL, "ProfilerStep#%u", "iter %u",
                                             "Optimizer.step#%u"};
    char name[NOTE_MAX];

    if (g->plan->marks == NO_MARKS)
        return;
    snprintf(name, sizeof name, names[g->plan->marks], g->step);
    json_array_append_new(
        g->marks, json_pack("{s:s, s:s, s:i, s:I}", "stage", stage, "name",
                            name, "device", (int)g->number, "time_us",
                            (json_int_t)made_time(g->device)));
}

/* ---- failures -------------------------------------------------------------- */

static void fail(struct program *g, uint64_t bytes, uint64_t left,
                 unsigned stream, unsigned pool)
{
    json_t *frames = stack_of(g, MADE_FORWARD, 3);

    made_fail(g->device,
              &(struct made_request){bytes, stream % g->plan->streams,
                                     pool % g->plan->pools, frames,
                                     note_of(g, MADE_FORWARD)},
              left);
    json_decref(frames);
}

/* Memory runs out once; what was arranged for it stays. */
static void run_out(struct program *g)
{
    const struct made_plan *p = g->plan;
    uint64_t large = p->unit * 40;
    uint64_t left = p->unit * random_u32(&g->random, 3);
    size_t made;

    switch (p->failure) {
    case TOO_MUCH:
        fail(g, large * 20, left, 0, 0);
        break;
    case OTHER_STREAM:
        made = alloc_on(g, MADE_DATA, 1, 40, 1, 0);
        alloc_on(g, MADE_DATA, 2, 1, 1, 0);
        release(g, made, MADE_DATA, 1);
        fail(g, large, left, 0, 0);
        break;
    case OTHER_POOL:
        made = alloc_on(g, MADE_SETUP, 1, 40, 0, 1);
        alloc_on(g, MADE_SETUP, 2, 1, 0, 1);
        release(g, made, MADE_SETUP, 1);
        fail(g, large, left, 0, 0);
        break;
    case WHILE_PENDING:
        made = alloc(g, MADE_DATA, 1, 40);
        made_request_free(g->device, made, NULL);
        fail(g, large, left, 0, 0);
        break;
    case OF_A_LIMIT:
        fail(g, large, large * 8, 0, 0);
        break;
    default: /* WITHOUT_A_FIGURE */
        fail(g, large, MADE_UNTOLD, 0, 0);
        break;
    }
}

static void run_out_at_last(struct program *g)
{
    if (g->plan->failure == NO_FAILURE)
        return;
    for (unsigned i = 0; i < g->plan->failures; i++) {
        run_out(g);
        if (i + 1 < g->plan->failures || g->plan->goes_on)
            alloc(g, MADE_LOG, i, 1);
    }
}

/* ---- training and inference ------------------------------------------------ */

struct tensors {
    size_t at[LIVE_MAX];
    unsigned count;
};

static void keep(struct tensors *t, size_t made)
{
    if (t->count < LIVE_MAX)
        t->at[t->count++] = made;
}

/* `extra` units make the peak a multiple of twenty. */
static void set_up(struct program *g, unsigned extra)
{
    for (unsigned i = 0; i < g->plan->layers; i++)
        alloc_on(g, MADE_SETUP, i, 1 + i % 3, 0, i == 1 ? 1 : 0);
    for (; extra > 0; extra -= extra > 7 ? 7 : extra)
        alloc(g, MADE_SETUP, 90, extra > 7 ? 7 : extra);
}

static void forward(struct program *g, struct tensors *kept)
{
    for (unsigned i = 0; i < g->plan->layers; i++) {
        size_t made = alloc_on(g, i % 3 == 1 ? MADE_ATTENTION : MADE_FORWARD, i,
                               1 + i % 2 * 3, i % 4 == 3 ? 1 : 0, 0);
        size_t brief = alloc(g, MADE_FORWARD, i + 20, 2);

        release(g, brief, MADE_FORWARD, i + 20);
        if (g->plan->kind == INFERENCE && i + 1 < g->plan->layers)
            release(g, made, MADE_FORWARD, i);
        else
            keep(kept, made);
    }
}

static void backward(struct program *g, struct tensors *kept,
                     struct tensors *grads)
{
    bool has_grads = grads->count > 0;

    while (kept->count > 0) {
        unsigned i = --kept->count;
        size_t brief = alloc(g, MADE_BACKWARD, i + 20, 1 + i % 2);

        if (!has_grads)
            keep(grads, alloc(g, MADE_BACKWARD, i, 1 + i % 3));
        release(g, brief, MADE_BACKWARD, i + 20);
        if (g->plan->defers && i == 0) {
            json_t *frames = stack_of(g, MADE_BACKWARD, 1);

            made_request_free(g->device, kept->at[i], frames);
            json_decref(frames);
        } else {
            release(g, kept->at[i], MADE_BACKWARD, i);
        }
    }
}

static void optimize(struct program *g, struct tensors *grads)
{
    for (unsigned i = 0; i < g->plan->layers; i++) {
        if (g->step == 0)
            alloc(g, MADE_OPTIMIZER, i, 1 + i % 3);
    }
    while (g->plan->zeroes_grads && grads->count > 0)
        release(g, grads->at[--grads->count], MADE_ZERO_GRAD, 0);
}

/* What a step leaves to others. */
static void leave(struct program *g, struct tensors *late)
{
    const struct made_plan *p = g->plan;

    if (p->leaks)
        alloc(g, MADE_LOG, 1, 1);
    if (p->frees_late && late->count > 1)
        release(g, late->at[--late->count], MADE_LOG, 3);
    if (p->frees_late && late->count < 2)
        keep(late, alloc(g, MADE_LOG, 2, 2));
    if (p->grows) {
        size_t grown = alloc(g, MADE_LOG, 4, 16 + g->step);

        release(g, grown, MADE_LOG, 4);
    }
    if (p->empties_cache)
        made_empty_cache(g->device, NULL);
}

static void train(struct program *g)
{
    const struct made_plan *p = g->plan;
    struct tensors kept = {.count = 0};
    struct tensors grads = {.count = 0};
    struct tensors late = {.count = 0};

    for (g->step = 0; g->step < p->steps; g->step++) {
        size_t batch;

        mark(g, "START");
        batch = alloc(g, MADE_DATA, 0, 2);
        forward(g, &kept);
        if (p->kind == TRAINING) {
            size_t loss = alloc(g, MADE_LOSS, 0, 1 + p->layers);

            release(g, loss, MADE_LOSS, 0);
            backward(g, &kept, &grads);
            optimize(g, &grads);
        }
        while (kept.count > 0)
            release(g, kept.at[--kept.count], MADE_LOG, 0);
        release(g, batch, MADE_DATA, 0);
        leave(g, &late);
        mark(g, "END");
    }
    g->step = STEPS_MAX;
}

/* One pass through many equal layers. */
static void run_layers(struct program *g)
{
    size_t first = alloc(g, MADE_DATA, 0, 3);

    for (unsigned i = 0; i < 3 * g->plan->layers; i++) {
        size_t brief = alloc(g, MADE_FORWARD, 20, 2);

        alloc(g, MADE_FORWARD, 1, 1 + g->plan->leaks);
        release(g, brief, MADE_FORWARD, 20);
    }
    alloc(g, MADE_FORWARD, 60, 5);
    release(g, first, MADE_DATA, 0);
}

/* ---- without any plan ------------------------------------------------------ */

static void stir(struct program *g)
{
    const struct made_plan *p = g->plan;
    uint64_t *r = &g->random;
    struct tensors live = {.count = 0};

    for (unsigned i = 0; i < p->soup; i++) {
        unsigned what = random_u32(r, 10);
        unsigned which = live.count > 0 ? random_u32(r, live.count) : 0;
        enum made_role role = (enum made_role)random_u32(r, MADE_ROLES);

        if (what < 6 || live.count == 0) {
            keep(&live,
                 alloc_on(g, role, random_u32(r, 3), random_u32(r, 6),
                          random_u32(r, p->streams), random_u32(r, p->pools)));
            continue;
        }
        if (what == 9)
            made_empty_cache(g->device, NULL);
        if (what == 8)
            made_request_free(g->device, live.at[which], NULL);
        else
            release(g, live.at[which], role, 0);
        live.at[which] = live.at[--live.count];
    }
}

/* ---- the document ---------------------------------------------------------- */

static void run(struct program *g, const struct made_plan *p, unsigned number,
                unsigned extra)
{
    *g = (struct program){.plan = p,
                          .device = made_device_new(&p->style, number),
                          .number = number,
                          .random = p->seed * 31 + number + 1,
                          .marks = json_array()};
    for (unsigned i = 0; i <= STEPS_MAX; i++)
        snprintf(g->notes[i], NOTE_MAX, "epoch %u", i / 2);
    if (p->kind == SOUP)
        stir(g);
    else
        set_up(g, extra);
    if (p->kind == TRAINING || p->kind == INFERENCE)
        train(g);
    if (p->kind == LAYERS)
        run_layers(g);
    if (p->kind != STATE)
        run_out_at_last(g);
}

static void end(struct program *g)
{
    made_device_free(g->device);
    json_decref(g->marks);
}

/* How many units the peak lacks to a multiple of twenty. */
static unsigned lacking(const struct made_plan *p, unsigned number)
{
    struct program g;
    uint64_t units;

    run(&g, p, number, 0);
    units = made_peak(g.device) / p->unit;
    end(&g);
    return (unsigned)((20 - units % 20) % 20);
}

static json_t *settings_of(const struct made_plan *p)
{
    static const char *const texts[] = {
        "", "expandable_segments:True", "max_split_size_mb:64",
        "garbage_collection_threshold:0.75,max_split_size_mb:200",
        "roundup_power2_divisions:[256:1,512:2,>:4]"};
    unsigned which = (unsigned)(p->seed % (sizeof texts / sizeof texts[0]));
    json_t *o = json_pack(
        "{s:s, s:i, s:f, s:b, s:i, s:b, s:b, s:{s:i, s:i, s:i}}",
        "PYTORCH_CUDA_ALLOC_CONF", texts[which], "max_split_size",
        which == 2 ? 64 << 20 : -1, "garbage_collection_threshold",
        which == 3 ? 0.75 : 0.0, "expandable_segments",
        (int)p->style.expandable, "pinned_num_register_threads", 1,
        "release_lock_on_cudamalloc", 0, "pinned_use_cuda_host_register", 0,
        "roundup_power2_divisions", "1", which == 4 ? 1 : 0, "256",
        which == 4 ? 2 : 0, "512", which == 4 ? 4 : 0);

    if (p->style.release >= MADE_2_10)
        json_object_set_new(o, "graph_capture_record_stream_reuse",
                            json_boolean(p->seed % 2 == 0));
    return o;
}

/* Each device has its own number of layers. */
static void add_devices(const struct made_plan *plan, json_t *segments,
                        json_t *traces, json_t *marks)
{
    for (unsigned i = 0; i < plan->devices; i++) {
        struct made_plan p = *plan;
        struct program g;
        json_t *part;
        size_t first;

        p.layers = 1 + (p.layers - 1 + 3 * i) % LAYERS_MAX;
        run(&g, &p, i, lacking(&p, i));
        first = p.kind == STATE ? made_event_count(g.device)
                                : made_event_count(g.device) * p.cut / 100;
        part = made_segments(g.device);
        json_array_extend(segments, part);
        json_decref(part);
        json_array_append_new(traces, made_trace(g.device, first));
        json_array_extend(marks, g.marks);
        end(&g);
    }
}

json_t *made_document(uint64_t seed)
{
    const struct made_plan p = made_plan_of(seed);
    json_t *segments = json_array();
    json_t *traces = json_array();
    json_t *marks = json_array();
    json_t *o;

    add_devices(&p, segments, traces, marks);
    o = json_pack("{s:o, s:o}", "segments", segments, "device_traces", traces);
    if (p.style.release >= MADE_2_2)
        json_object_set_new(o, "allocator_settings", settings_of(&p));
    if (p.style.release >= MADE_2_5)
        json_object_set(o, "external_annotations", marks);
    json_decref(marks);
    return o;
}

const char *made_words(uint64_t seed)
{
    const struct made_plan p = made_plan_of(seed);

    return made_plan_words(&p);
}
