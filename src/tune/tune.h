/* tune.h - what a job needs under other settings than its own: which settings
 * fit, and which is best.
 *
 * Every setting is replayed for every input.  Several inputs are the ranks of
 * one job, and the worst of them counts.  First a grid of settings with one key
 * each is measured, then a search varies the best of them slightly, as long as
 * that improves it. */
#pragma once

#include "replay/replay.h"
#include "tune/tune_cell.h"

struct tune_candidate {
    bool is_base;                  /* each input's own current settings */
    struct replay_setting setting; /* otherwise */
    struct tune_cell *cells;       /* by input */
    /* The worst value of each figure over all inputs, with calls and time added
     * up; fits: all do; a smallest size of 0: one input has none. */
    struct tune_cell worst;
};

enum { TUNE_CANDIDATES_MAX = 64 };

struct tune_options {
    /* What each input has to fit on; 0: the card on which it ran out of memory,
     * or nothing. */
    uint64_t capacity;
    uint64_t context_bytes; /* of it, taken by the driver */
    unsigned threads;
    const char *cache; /* folder of cells; NULL: none */
    replay_progress_fn *progress;
    void *progress_ctx;
};

struct tune {
    const struct tune_inputs *inputs; /* not owned */
    const struct tune_options *options;
    struct tune_candidate candidates[TUNE_CANDIDATES_MAX]; /* [0]: the base */
    size_t count;
    /* Some input ran out of memory where a replay of the same settings on an
     * empty device does not: it failed because of memory in use when the
     * recording began, and no setting can be judged. */
    bool by_beginning;
    uint64_t ops; /* replayed */
    uint64_t elapsed_ns;
};

/* Measure what the inputs need now.  False: no host memory, or unusable
 * settings.  Call tune_free() in any case. */
bool tune_base(struct tune *t, const struct tune_inputs *inputs,
               const struct tune_options *options, struct tool_error *error);

/* Measure the grid, and search from the best of it. */
bool tune_search(struct tune *t, struct tool_error *error);

void tune_free(struct tune *t);

/* What an input has to fit on; 0: nothing was requested. */
uint64_t tune_capacity(const struct tune *t, const struct tune_input *i);

/* Whether any input has to fit on something. */
bool tune_has_capacity(const struct tune *t);

/* Whether every input fits now; true if nothing was requested. */
bool tune_fits_now(const struct tune *t);

/* Whether every recording goes to its end; otherwise one stops at a request that
 * failed, and "fits" means past that request. */
bool tune_ended(const struct tune *t);

/* What can be said of a candidate.  No verdict: nothing was requested, it failed
 * for what no replay knows, or what the next step begins with decides. */
enum tune_verdict { TUNE_FITS, TUNE_DOES_NOT_FIT, TUNE_NO_VERDICT };
enum tune_verdict tune_verdict(const struct tune *t,
                               const struct tune_candidate *c);

/* "fits", "does not fit", "no verdict" */
const char *tune_verdict_name(enum tune_verdict verdict);

/* The smallest scope of the inputs: fewest steps, most bytes. */
struct tune_scope tune_scope(const struct tune *t);

/* The bytes missing for the worst input under a candidate; 0: none, or nothing
 * was requested; TUNE_ENDLESS: no size would do. */
#define TUNE_ENDLESS UINT64_MAX
uint64_t tune_short_bytes(const struct tune *t, const struct tune_candidate *c);

/* The best candidate that improves on the current settings: if these do not
 * fit, the cheapest that does; otherwise one that needs at least a hundredth
 * less.  A setting of PyTorch's is preferred to Larder's policy.  NULL:
 * none. */
const struct tune_candidate *tune_best(const struct tune *t);

/* Candidates from best to worst, in the order of tune_best(), without the base:
 * count - 1 of them. */
void tune_ranking(const struct tune *t,
                  const struct tune_candidate *order[TUNE_CANDIDATES_MAX]);

/* The settings of a candidate for an input, in PyTorch's grammar. */
const char *tune_conf(const struct tune_candidate *c,
                      const struct tune_input *i, char out[REPLAY_CONF_MAX]);
larder_policy tune_policy(const struct tune_candidate *c,
                          const struct tune_input *i);

/* Why a setting helps: a sentence without its full stop. */
const char *tune_reason(const struct replay_setting *s);

/* What a setting needs to have its effect: sentences, with two blanks between
 * them; empty: nothing. */
enum { TUNE_CONDITIONS_MAX = 160 };
const char *tune_conditions(const struct replay_setting *s,
                            char out[TUNE_CONDITIONS_MAX]);

/* One JSON object on one line without a line end, malloc'd.  NULL: no host
 * memory. */
char *tune_json(const struct tune *t);
char *tune_fit_json(const struct tune *t);
