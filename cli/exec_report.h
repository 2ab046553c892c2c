/* exec_report.h - the simulated driver's report on a program's devices: a line
 * of JSON for each device that a process used. */
#ifndef LARDER_CLI_EXEC_REPORT_H
#define LARDER_CLI_EXEC_REPORT_H

#include <stdbool.h>
#include <stdio.h>

/* Print it to `out`, unchanged or as text.  False: it cannot be read. */
bool exec_report(const char *path, bool as_json, FILE *out);

#endif
