/* cmd_doctor.c - `larder doctor`. */
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "doctor.h"
#include "json/json_memory.h"
#include "json_line.h"

static const struct cli_option doctor_table[] = {
    {"json", NULL, "print one object, for programs", .take = cli_take_flag},
    {.name = NULL},
};

static const char *const grade_names[] = {
    [DOCTOR_FINE] = "ok", [DOCTOR_NOTE] = "note", [DOCTOR_PROBLEM] = "problem"};

static size_t count_of(const struct doctor *d, enum doctor_grade grade)
{
    size_t n = 0;

    for (size_t i = 0; i < d->count; i++)
        n += d->findings[i].grade == grade;
    return n;
}

/* ---- findings --------------------------------------------------------------- */

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

/* ---- text ------------------------------------------------------------------- */

static void print_text(const struct doctor *d)
{
    size_t problems = count_of(d, DOCTOR_PROBLEM);

    for (size_t i = 0; i < d->count; i++) {
        const struct doctor_finding *f = &d->findings[i];

        if (i == 0 || strcmp(f->part, d->findings[i - 1].part) != 0)
            printf("%s%s\n", i > 0 ? "\n" : "", f->part);
        printf("  %-8s %s: %s\n", grade_names[f->grade], f->name, f->said);
        if (f->advice[0] != '\0')
            printf("           -> %s\n", f->advice);
    }
    if (problems == 0)
        puts("\nNo problem was found.");
    else
        printf("\n%zu problem%s.\n", problems, problems == 1 ? "" : "s");
}

/* ---- JSON --------------------------------------------------------------------- */

/* The system's texts may be in any encoding. */
static json_t *object_of(const struct doctor_finding *f)
{
    json_t *advice = f->advice[0] != '\0' ? utf8_json(f->advice) : json_null();

    return json_pack("{s:s, s:s, s:s, s:o, s:o}", "part", f->part, "name",
                     f->name, "grade", grade_names[f->grade], "said",
                     utf8_json(f->said), "advice", advice);
}

static bool cmd_doctor_print_json(const struct doctor *d)
{
    json_t *findings = json_array();
    int bad = 0;

    for (size_t i = 0; i < d->count; i++)
        bad |= json_array_append_new(findings, object_of(&d->findings[i]));
    return json_line(stdout, json_pack("{s:i, s:i, s:o}", "problems",
                                       (int)count_of(d, DOCTOR_PROBLEM),
                                       "notes", (int)count_of(d, DOCTOR_NOTE),
                                       "findings", findings)) &&
           bad == 0;
}

/* ---- the command ---------------------------------------------------------------- */

static int run_doctor(const struct cli_args *a)
{
    const bool *as_json = a->command->settings;
    struct doctor *d = calloc(1, sizeof *d);
    int status;

    if (d == NULL)
        return cli_no_memory("doctor");
    doctor_versions(d);
    doctor_driver(d);
    doctor_limits(d);
    doctor_settings(d);
    status = count_of(d, DOCTOR_PROBLEM) > 0 ? CLI_EXIT_NO : CLI_EXIT_OK;
    if (!*as_json)
        print_text(d);
    else if (!cmd_doctor_print_json(d))
        status = cli_no_memory("doctor");
    free(d);
    return status;
}

const struct cli_command cli_command_doctor = {
    .name = "doctor",
    .summary = "Check the machine and the environment for problems.",
    .operands = "",
    .text =
        "It checks versions, drivers and GPUs, limits of the process and its "
        "container, and\n"
        "settings in the environment, and gives advice.  The exit status is 0 "
        "if there is no\n"
        "problem, 1 otherwise.\n",
    .options = doctor_table,
    .settings = &(bool){false},
    .run = run_doctor,
};
