/* explain.h - the explanations of a device's history in report and view. */
#pragma once

#include <jansson.h>

#include "snapshot/lifetimes.h"
#include "trace/arena.h"

/* What an allocation is for, derived from its lifetime and, if there are
 * frames, from the code that allocated it.  REPORT_UNKNOWN if neither tells. */
enum report_category {
    REPORT_UNKNOWN,
    REPORT_WEIGHTS,
    REPORT_GRADIENTS,
    REPORT_OPTIMIZER,
    REPORT_ACTIVATIONS,
    REPORT_TEMPORARIES,
    REPORT_OTHER, /* long-lived, and of no other known category */
    REPORT_CATEGORIES
};

/* "weights", "gradients", "optimizer state", … */
const char *report_category_name(enum report_category category);

/* Whether the program or PyTorch named the category itself, in the text of an
 * allocation. */
bool report_category_told(const struct snapshot *s, uint32_t user_metadata,
                          enum report_category *out);

/* Determine the category of each of l->allocs, in an array of alloc_count.
 * *trains: the backward pass or an optimizer allocated something, or may have
 * if that is unknown. */
uint8_t *report_categorize(struct arena *arena, const struct lifetimes *l,
                           bool *trains);

/* Each explanation visits everything that was live, so only this many
 * out-of-memory events of a device are explained. */
enum { REPORT_OOMS_EXPLAINED = 20 };

/* An out-of-memory event, and what would have helped, in a few lines of text;
 * NULL: it is not explained. */
struct report_failure {
    uint32_t event;
    const char *text;
};

struct run_summary;

/* The out-of-memory events of a run, in an array of *count: the first are
 * explained and, if `and_last`, the last. */
const struct report_failure *report_failures(struct arena *arena,
                                             const struct run_summary *r,
                                             bool and_last, size_t *count);

/* A fact about the run that a person should know. */
struct report_finding {
    const char *title; /* one line without a line end */
    const char *text;  /* several lines */
};

/* As {title, text} each. */
json_t *report_findings_json(const struct report_finding *found, size_t count);

/* In an array of *count. */
const struct report_finding *report_findings(struct arena *arena,
                                             const struct run_summary *r,
                                             size_t *count);
