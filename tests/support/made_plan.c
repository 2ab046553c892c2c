/* made_plan.c - draws the plan of a made-up program. */
#include "support/made_plan.h"

#include <stdio.h>

#include "support/random.h"

static bool one_in(uint64_t *seed, unsigned n)
{
    return random_u32(seed, n) == 0;
}

static void plan_recording(struct made_plan *p, uint64_t *r)
{
    static const unsigned odd[] = {0, 0, 0, 100, 500, 511};
    static const unsigned cuts[] = {0, 0, 0, 10, 50, 97};

    p->style.release = (enum made_release)random_u32(r, MADE_RELEASES);
    p->style.expandable = one_in(r, 4);
    p->style.category = one_in(r, 4);
    p->style.awaiting = one_in(r, 2);
    p->style.counted = one_in(r, 8);
    p->style.tick_us = one_in(r, 6) ? 0 : 1 + random_u32(r, 3) * 4321;
    p->unwinding = (enum made_unwinding)random_u32(r, MADE_UNWINDINGS);
    p->marks = (enum made_marks)random_u32(r, MARKS);
    p->notes = (enum made_notes)random_u32(r, NOTES);
    p->missing = one_in(r, 4) ? 5 + random_u32(r, 20) : 0;
    p->cut = cuts[random_u32(r, sizeof cuts / sizeof cuts[0])];
    p->odd_bytes = odd[random_u32(r, sizeof odd / sizeof odd[0])];
}

struct made_plan made_plan_of(uint64_t seed)
{
    static const uint64_t units[] = {512, 64 << 10, 1 << 20, 3 << 20};
    static const enum made_kind kinds[] = {
        TRAINING, TRAINING, TRAINING, INFERENCE, LAYERS, SOUP, SOUP, STATE};
    uint64_t state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
    uint64_t *r = &state;
    struct made_plan p = {.seed = seed};

    for (int i = 0; i < 4; i++)
        random_next(r);
    plan_recording(&p, r);
    p.kind = kinds[random_u32(r, sizeof kinds / sizeof kinds[0])];
    p.failure =
        one_in(r, 2) ? NO_FAILURE : (enum made_failure)random_u32(r, FAILURES);
    p.failures = 1 + (one_in(r, 3) ? random_u32(r, 3) : 0);
    p.devices = 1 + (one_in(r, 4) ? random_u32(r, 3) : 0);
    p.layers = 1 + random_u32(r, LAYERS_MAX);
    p.steps = random_u32(r, STEPS_MAX);
    p.streams = 1 + random_u32(r, 3);
    p.pools = 1 + (one_in(r, 3) ? random_u32(r, 3) : 0);
    p.library = random_u32(r, 12);
    p.unit = units[random_u32(r, sizeof units / sizeof units[0])];
    p.soup = 5 + random_u32(r, 60);
    p.leaks = one_in(r, 3);
    p.grows = one_in(r, 4);
    p.frees_late = one_in(r, 4);
    p.defers = one_in(r, 4);
    p.empties_cache = one_in(r, 4);
    p.goes_on = one_in(r, 2);
    p.zeroes_grads = !one_in(r, 3);
    return p;
}

const char *made_plan_words(const struct made_plan *p)
{
    static const char *const kinds[KINDS] = {
        [TRAINING] = "training", [INFERENCE] = "inference", [LAYERS] = "layers",
        [SOUP] = "no plan",      [STATE] = "state only",
    };
    static const char *const releases[MADE_RELEASES] = {
        "2.0", "2.1", "2.2", "2.4", "2.5", "2.6", "2.10", "2.11", "2.15"};
    static const char *const stacks[MADE_UNWINDINGS] = {
        "no stacks", "Python", "Python and C++", "C++", "notebook"};
    static const char *const failures[FAILURES] = {
        "",          ", too much", ", other stream", ", other pool",
        ", pending", ", limit",    ", untold"};
    static char words[160];

    snprintf(words, sizeof words, "%s, %s, %s%s%s%s%s%s%s", kinds[p->kind],
             releases[p->style.release], stacks[p->unwinding],
             failures[p->failure], p->style.expandable ? ", expandable" : "",
             p->devices > 1 ? ", devices" : "",
             p->streams > 1 ? ", streams" : "", p->pools > 1 ? ", pools" : "",
             p->cut > 0 ? ", cut" : "");
    return words;
}
