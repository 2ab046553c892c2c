/* doctor.h - what `larder doctor` looks at, and what it found.
 *
 * Each part looks at one thing and adds findings; none of them fails for want
 * of what it looks at.  Whatever is asked of the system is asked without
 * taking a context on a GPU. */
#ifndef LARDER_CLI_DOCTOR_H
#define LARDER_CLI_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

enum doctor_grade {
    DOCTOR_FINE,
    DOCTOR_NOTE,   /* worth knowing; nothing is broken */
    DOCTOR_PROBLEM /* something will not work, or is not safe */
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
    char pytorch[32]; /* its version; "": none was found */
};

/* The finding to add advice to; what does not fit any more is dropped. */
#if defined(__GNUC__)
__attribute__((format(printf, 5, 6)))
#endif
struct doctor_finding *
doctor_say(struct doctor *d, enum doctor_grade grade, const char *part,
           const char *name, const char *format, ...);

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void doctor_advise(struct doctor_finding *f, const char *format, ...);

/* The first line of a file, without its end; false if it cannot be read. */
bool doctor_read_line(const char *path, char *out, size_t room);

void doctor_versions(struct doctor *d); /* before settings: PyTorch's version */
void doctor_driver(struct doctor *d);
void doctor_limits(struct doctor *d);
void doctor_settings(struct doctor *d);

#endif
