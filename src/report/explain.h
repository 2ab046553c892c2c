/* explain.h - the explanations of a device's history in report and view. */
#ifndef LARDER_REPORT_EXPLAIN_H
#define LARDER_REPORT_EXPLAIN_H

#include "snapshot/lifetimes.h"

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
 * if that is unknown.  False: no host memory. */
bool report_categorize(const struct lifetimes *l, uint8_t *categories,
                       bool *trains, struct tool_error *error);

/* Each explanation visits everything that was live, so only this many
 * out-of-memory events of a device are explained. */
enum { REPORT_OOMS_EXPLAINED = 20 };

/* Explain an out-of-memory event and what would have helped, in a few lines of
 * text.  The categories are those of report_categorize().  The caller frees
 * *text. */
bool report_explain_oom(const struct lifetimes *l, const uint8_t *categories,
                        uint32_t event, char **text, struct tool_error *error);

/* A fact about the run that a person should know. */
struct report_finding {
    char *title; /* one line without a line end */
    char *text;  /* several lines */
};

struct run_summary;

/* Free *out with report_findings_free(). */
bool report_findings(const struct run_summary *r, struct report_finding **out,
                     size_t *count, struct tool_error *error);
void report_findings_free(struct report_finding *findings, size_t count);

#endif
