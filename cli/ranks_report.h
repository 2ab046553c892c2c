/* ranks_report.h - the ranks of one job as text. */
#pragma once

#include "report/ranks.h"
#include "report/report.h"

/* Add the ranks of a snapshot, a trace, or of what --ranks --json printed. */
bool ranks_report_read(struct report_ranks *ranks, const char *path,
                       struct tool_error *error);

/* Print the verdict of the worst rank, whose file is read again if it is here,
 * the differences between ranks, what they share, and the table: `rows` of it,
 * the worst first. */
bool ranks_report_print(const struct report_ranks *ranks,
                        const struct report_options *opt, size_t rows,
                        struct tool_error *error);
