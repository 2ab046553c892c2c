/* frame_groups.h - groups lines by function, module or library. */
#pragma once

#include "report/groups.h"
#include "report/report_words.h"

enum report_by { BY_LINE, BY_FUNCTION, BY_MODULE, BY_LIBRARY, BY_COUNT };

/* "line", "function", "module", "library". */
const char *report_by_name(enum report_by by);

/* The label of a line's group: "model.py:7 forward", "model.py forward",
 * "transformers.models.llama.modeling_llama" or "train/model.py",
 * "transformers", "the program itself".  As the texts of report_words.h. */
#define report_by_label(s, frame, by, whole)                                   \
    report_by_label_in((s), (frame), (by), (whole), (char[REPORT_FRAME]){0})
const char *report_by_label_in(const struct snapshot *s, uint32_t frame,
                               enum report_by by, bool whole,
                               char buf[REPORT_FRAME]);

/* The label of a group: that of its line or, without call paths, "older than
 * the recording" or "no call path". */
#define report_group_label(s, group, by, whole)                                \
    report_group_label_in((s), (group), (by), (whole), (char[REPORT_FRAME]){0})
const char *report_group_label_in(const struct snapshot *s,
                                  const struct report_group *g,
                                  enum report_by by, bool whole,
                                  char buf[REPORT_FRAME]);

/* A run's lines, those of the same group merged. */
struct run_summary;
struct report_groups report_by_groups(struct arena *arena,
                                      const struct run_summary *r,
                                      enum report_by by);
