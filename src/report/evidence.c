/* evidence.c - what of a run is known, and what only guessed. */
#include "report/evidence.h"

#include "report/explain.h"
#include "report/path_signs.h"

enum { BY_TRAINING = BY_BACKWARD | BY_OPTIMIZER | BY_ZERO_GRAD };

/* ---- activations --------------------------------------------------------- */

static bool is_evident(const struct lifetimes *l, const uint8_t *by,
                       const struct lifetime *a)
{
    enum report_category told;

    if (report_category_told(l->snapshot, a->user_metadata, &told) ||
        (by[a->stack] & BY_FORWARD) != 0)
        return true;
    return a->end < l->event_count &&
           (by[l->events[a->end].stack] & BY_BACKWARD) != 0;
}

bool evidence_of_activations(struct hoard *h, const struct moment *m,
                             const uint8_t *categories)
{
    const struct lifetimes *l = m->lifetimes;
    const struct hoard_piece *last = h->last;
    const uint8_t *by = path_signs(h, l->snapshot, false);
    const struct lifetime *a;
    uint64_t evident = 0;
    uint64_t all = 0;

    for (size_t i = 0; (a = moment_use(m, &i)) != NULL; i++) {
        if (categories[m->live[i]] != REPORT_ACTIVATIONS)
            continue;
        all += a->rounded;
        evident += is_evident(l, by, a) ? a->rounded : 0;
    }
    hoard_free_since(h, last);
    return evident >= all - evident;
}

/* ---- steps --------------------------------------------------------------- */

/* Of the events from one to before another: whether training's passes are among
 * them, and allocations of something else. */
static bool is_step(const struct lifetimes *l, const uint8_t *by, uint32_t from,
                    uint32_t to)
{
    bool trains = false;
    bool more = false;

    for (uint32_t i = from; i < to && !(trains && more); i++) {
        const struct snapshot_event *e = &l->events[i];

        if ((by[e->stack] & BY_TRAINING) != 0)
            trains = true;
        else
            more = more || (e->action == SNAPSHOT_ALLOC && by[e->stack] != 0);
    }
    return trains && more;
}

static bool has_paths(const struct lifetimes *l, const uint8_t *by,
                      uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        if (by[l->events[i].stack] != 0)
            return true;
    }
    return false;
}

enum evidence evidence_of_steps(struct hoard *h, const struct lifetimes *l,
                                const struct iterations *it)
{
    const struct hoard_piece *before = h->last;
    const uint8_t *by = path_signs(h, l->snapshot, false);
    size_t last = it->count > 0 ? it->count - 1 : 0;
    enum evidence found = EVIDENCE_STEPS;

    if (last == 0 || !has_paths(l, by, it->begin[0], it->begin[last]))
        found = EVIDENCE_NO_PATHS;
    for (size_t i = 0; i < last && found == EVIDENCE_STEPS; i++) {
        if (!is_step(l, by, it->begin[i], it->begin[i + 1]))
            found = EVIDENCE_UNSURE;
    }
    hoard_free_since(h, before);
    return found;
}
