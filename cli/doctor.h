/* doctor.h - what `larder doctor` checks, and its findings.
 *
 * Each part checks one thing and adds findings; no part fails because what it
 * checks is missing.  Queries never create a context on a GPU. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum doctor_grade {
    DOCTOR_FINE,
    DOCTOR_NOTE,   /* worth knowing; nothing is broken */
    DOCTOR_PROBLEM /* something does not work, or is unsafe */
};

enum { DOCTOR_SAID_MAX = 512, DOCTOR_FINDINGS_MAX = 96 };

struct doctor_finding {
    enum doctor_grade grade;
    const char *part; /* "driver": static */
    const char *name; /* "container memory": static */
    char said[DOCTOR_SAID_MAX];
    char advice[DOCTOR_SAID_MAX]; /* "": nothing to do */
};

struct doctor {
    struct doctor_finding findings[DOCTOR_FINDINGS_MAX];
    size_t count;
    const char *part; /* that findings are added to */
    char pytorch[32]; /* version; "": not found */
};

/* Add a finding, and advice to the last.  Text that does not fit is cut. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
void doctor_say(struct doctor *d, enum doctor_grade grade, const char *name,
           const char *format, ...);

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void doctor_advise(struct doctor *d, const char *format, ...);

/* The first line of a file without its end.  False: it cannot be read. */
bool doctor_read_line(const char *path, char *out, size_t room);

void doctor_versions(struct doctor *d); /* first: finds d->pytorch */
void doctor_driver(struct doctor *d);
void doctor_limits(struct doctor *d);
void doctor_settings(struct doctor *d);
