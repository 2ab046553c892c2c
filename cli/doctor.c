/* doctor.c - what `larder doctor` checks, and its findings. */
#include "doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void doctor_say(struct doctor *d, enum doctor_grade grade, const char *name,
                const char *format, ...)
{
    /* When all entries are used the last one is overwritten. */
    struct doctor_finding *f =
        &d->findings[d->count < DOCTOR_FINDINGS_MAX ? d->count++
                                                    : DOCTOR_FINDINGS_MAX - 1];
    va_list args;

    f->grade = grade;
    f->part = d->part;
    f->name = name;
    f->advice[0] = '\0';
    va_start(args, format);
    vsnprintf(f->said, sizeof f->said, format, args);
    va_end(args);
}

void doctor_advise(struct doctor *d, const char *format, ...)
{
    struct doctor_finding *f = &d->findings[d->count - 1];
    va_list args;

    va_start(args, format);
    vsnprintf(f->advice, sizeof f->advice, format, args);
    va_end(args);
}

bool doctor_read_line(const char *path, char *out, size_t room)
{
    FILE *in = fopen(path, "re");
    bool ok = in != NULL && fgets(out, (int)room, in) != NULL;

    if (ok)
        out[strcspn(out, "\n")] = '\0';
    if (in != NULL)
        fclose(in);
    return ok;
}
