/* experiment.h - the building blocks of an experiment: sessions, steps, checks.
 *
 * An experiment is a function that executes statements in a session and says
 * after each what is expected.  It is a chain of calls that return whether they
 * succeeded,
 *
 *   return exp_open(e, NULL) &&
 *          exp_zeros(e, A, LAB_DEVICE, 3, sizes) &&
 *          exp_step(e, "a = zeros(256, 1024, 1024, device=cuda)") &&
 *          exp_expect(e, EXP_RESERVED, GIB);
 *
 * so that it ends at the first failure: e->error has the reason, and
 * exp_close() drops all remaining tensors.  A figure that differs from its
 * expectation does not end it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <larder/device.h>
#include <larder/lab.h>

#include "experiments.h"

/* ---- what they are ---- */

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

enum { EXP_VARIABLES = 16, EXP_SPEC_MAX = 256, EXP_ERROR_MAX = 4096 };

enum exp_figure { EXP_SMI, EXP_RESERVED, EXP_ALLOCATED, EXP_HOST, EXP_FIGURES };

/* A statement and the memory after it.  With `is_heading`, text between
 * statements. */
struct exp_step {
    char *statement;
    char *panel; /* NULL unless panels are shown */
    lab_memory memory;
    uint64_t expected[EXP_FIGURES];
    bool expects[EXP_FIGURES];
    bool is_heading;
};

enum exp_unit {
    EXP_BYTES,
    EXP_CALLS,
    EXP_NS,
    EXP_TENSORS,
    EXP_SEGMENTS,
    EXP_ITERATIONS,
    EXP_YES /* expected and seen are 1 or 0 */
};

struct exp_check {
    char *what;
    enum exp_unit unit;
    uint64_t expected, seen;
    bool ok;
    bool is_step; /* made by exp_expect(): shown with its step too */
};

struct exp;

struct experiment {
    int number; /* several may share one */
    const char *name;
    const char *title;
    const char *text;    /* paragraphs, "\n\n" between them */
    const char *verdict; /* if everything is as expected; NULL: run() says it */
    bool (*run)(struct exp *e);
};

/* The device an experiment needs, if not the requested one.  Fields that are
 * NULL or 0 are as requested. */
struct exp_device {
    const char *size;    /* "4608MiB" */
    const char *context; /* "1001MiB" */
    const char *backing; /* "none", "memory" */
    const char *shared;
    const char *conf; /* added to the requested settings */
    larder_policy policy;
};

struct exp {
    const struct experiment *what;
    const struct lab_run_options *opt;
    larder_policy policy;
    const char *conf; /* never NULL */
    bool judged;      /* differences count as failures */
    bool only_shown;  /* from here on there are no expectations */
    bool refused;     /* result of the last exp_refused() */
    lab *session;
    lab_memory before; /* at the last step */
    lab_tensor *t[EXP_VARIABLES];
    char spec[EXP_SPEC_MAX]; /* of the first session */
    struct exp_step *steps;
    size_t step_count, step_room;
    struct exp_check *checks;
    size_t check_count, check_room;
    char *verdict;
    char error[EXP_ERROR_MAX]; /* "": no failure */
};

/* ---- one run (experiment.c) ---- */

void exp_init(struct exp *e, const struct experiment *what,
              const struct lab_run_options *opt);
void exp_free(struct exp *e);
/* Whether every check that counts is as expected, and nothing failed. */
bool exp_ok(const struct exp *e);
/* The number of checks that are not as expected. */
size_t exp_wrong(const struct exp *e);
/* True for LARDER_OK; otherwise stores the last error of the lab, or of
 * larder. */
bool exp_try(struct exp *e, larder_result r);
bool exp_try_larder(struct exp *e, larder_result r);
/* Stores this message; returns false. */
bool exp_fail(struct exp *e, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- sessions (experiment_session.c) ---- */

/* Open a session, after closing the previous one with all its tensors.  NULL:
 * the requested device. */
bool exp_open(struct exp *e, const struct exp_device *want);
bool exp_close(struct exp *e);
/* The requested spec with the changes in `want`.  False: it is too long. */
bool exp_spec(const struct exp *e, const struct exp_device *want,
              char out[EXP_SPEC_MAX]);

/* ---- steps and checks (experiment_record.c) ---- */

bool exp_heading(struct exp *e, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool exp_step(struct exp *e, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Expectations for the last step. */
bool exp_expect(struct exp *e, enum exp_figure figure, uint64_t bytes);
/* A step with its only expectation. */
bool exp_after(struct exp *e, const char *statement, enum exp_figure figure,
               uint64_t bytes);
bool exp_number(struct exp *e, const char *what, enum exp_unit unit,
                uint64_t expected, uint64_t seen);
bool exp_yes(struct exp *e, const char *what, bool seen);
/* The sentence at the end if everything is as expected, in place of what->verdict:
 * for one with figures. */
bool exp_verdict(struct exp *e, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
uint64_t exp_figure_of(const lab_memory *m, enum exp_figure figure);
/* Their names, and those of units. */
extern const char *const exp_figures[EXP_FIGURES];
extern const char *const exp_units[EXP_YES + 1];

/* ---- statements (experiment_statement.c) ---- */

/* Variables are rebound as in Python: the new value is created first. */
bool exp_zeros(struct exp *e, int v, lab_place place, int ndim,
               const int64_t *sizes);
bool exp_randn(struct exp *e, int v, int ndim, const int64_t *sizes);
bool exp_bytes(struct exp *e, int v, uint64_t bytes); /* empty, float32 */
bool exp_to(struct exp *e, int v, lab_place place);
bool exp_drop(struct exp *e, int v); /* del */
bool exp_empty_cache(struct exp *e);
/* A request of this many bytes must fail with an explanation and change
 * nothing: one check for each. */
bool exp_refused(struct exp *e, const char *what, uint64_t bytes);
/* The result, for the step's text: under another policy the request may
 * succeed. */
const char *exp_outcome(const struct exp *e);
bool exp_memory(struct exp *e, lab_memory *out);

/* ---- showing (experiment_report.c) ---- */

void exp_report_begin(const struct exp *e);
void exp_report_end(const struct exp *e);
/* False without host memory. */
bool exp_report_json(const struct exp *e);

/* ---- all of them, each in the file of its subject (experiment_list.c) ---- */

extern const struct experiment experiment_move_and_reuse;
extern const struct experiment experiment_context_and_growth;
extern const struct experiment experiment_training_loop;
extern const struct experiment experiment_varying_batches;
extern const struct experiment experiment_keeping_losses;
extern const struct experiment experiment_best_fit;
extern const struct experiment experiment_one_empty_cache;
extern const struct experiment experiment_preallocation;
extern const struct experiment experiment_backward;
extern const struct experiment experiment_retain_grad;
extern const struct experiment experiment_two_processes;
extern const struct experiment experiment_units;
extern const struct experiment experiment_checkpointing;

/* Run one and report it; returns the status of experiments_run(). */
int experiment_run(const struct experiment *what,
                   const struct lab_run_options *opt);
