/* explain.h - what report and view say in words about a device's history. */
#ifndef LARDER_REPORT_EXPLAIN_H
#define LARDER_REPORT_EXPLAIN_H

#include "snapshot/lifetimes.h"

/* What an allocation is for, told by how long it lived and, where frames are
 * there, by who made it.  REPORT_UNKNOWN where neither says. */
enum report_category {
    REPORT_UNKNOWN,
    REPORT_WEIGHTS,
    REPORT_GRADIENTS,
    REPORT_OPTIMIZER,
    REPORT_ACTIVATIONS,
    REPORT_TEMPORARIES,
    REPORT_OTHER, /* lives long, and is none of these as far as is known */
    REPORT_CATEGORIES
};

/* "weights", "gradients", "optimizer state", … */
const char *report_category_name(enum report_category category);

/* Whether the program or PyTorch said the category itself, in the text of an
 * allocation. */
bool report_category_told(const struct snapshot *s, uint32_t user_metadata,
                          enum report_category *out);

/* The category of each of l->allocs, into an array of alloc_count; into *trains
 * whether the backward pass or an optimizer asked for any, or may have, as
 * nobody knows who did.  False: no host memory. */
bool report_categorize(const struct lifetimes *l, uint8_t *categories,
                       bool *trains, struct tool_error *error);

/* Each takes a look at all that lived: of a device's out-of-memory events so
 * many are explained. */
enum { REPORT_OOMS_EXPLAINED = 20 };

/* Why an out-of-memory event happened and what would have helped, in some
 * lines of text.  The categories are those of report_categorize().  *text is
 * the caller's to free(). */
bool report_explain_oom(const struct lifetimes *l, const uint8_t *categories,
                        uint32_t event, char **text, struct tool_error *error);

/* Something about the run that a person should know. */
struct report_finding {
    char *title; /* a line without its end */
    char *text;  /* lines */
};

struct run_summary;

/* *out is to be given to report_findings_free(). */
bool report_findings(const struct run_summary *r, struct report_finding **out,
                     size_t *count, struct tool_error *error);
void report_findings_free(struct report_finding *findings, size_t count);

#endif
