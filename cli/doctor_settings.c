/* doctor_settings.c - settings in the environment: whether they can be read,
 * and those that are known to do harm. */
#include "doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <larder/larder.h>

#define PART "settings"

/* In the order in which PyTorch takes the first that is set. */
static const char *const pytorch_variables[] = {
    "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF"};

enum {
    PYTORCH_VARIABLES = sizeof pytorch_variables / sizeof pytorch_variables[0]
};

static const char *set_variable(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && *value != '\0' ? value : NULL;
}

/* Whether the release of PyTorch that is there lies in [first, last], both
 * 2.MINOR; where none is there it may come to be. */
static bool may_be(const struct doctor *d, int first, int last)
{
    int minor;

    return sscanf(d->pytorch, "2.%d", &minor) != 1
               ? d->pytorch[0] == '\0'
               : minor >= first && minor <= last;
}

/* pytorch#192722: a free block of a bucket was taken without a look at its
 * size, and with rounding off a bucket has several. */
static void say_pinned(struct doctor *d, const char *name, const char *value)
{
    struct doctor_finding *f;

    if (strstr(value, "pinned_max_round_threshold_mb") == NULL &&
        strstr(value, "pinned_max_cached_size_mb") == NULL)
        return;
    if (!may_be(d, 13, 14))
        return;
    f = doctor_say(d, DOCTOR_PROBLEM, PART, "pinned memory",
                   "%s has pinned_max_round_threshold_mb or "
                   "pinned_max_cached_size_mb: PyTorch 2.13 and 2.14 can then "
                   "return a pinned block smaller than requested, which "
                   "writes overrun",
                   name);
    doctor_advise(f, "remove both keys, or use a release with "
                     "pytorch#192722");
}

/* pytorch#183387. */
static void say_unified(struct doctor *d, const char *name, const char *value)
{
    struct doctor_finding *f;

    if (strcmp(name, "PYTORCH_ALLOC_CONF") != 0 ||
        strstr(value, "expandable_segments") == NULL ||
        strncmp(d->pytorch, "2.9.1", 5) != 0)
        return;
    f = doctor_say(d, DOCTOR_PROBLEM, PART, "expandable segments",
                   "PyTorch %s ignores expandable_segments in %s", d->pytorch,
                   name);
    doctor_advise(f, "set it in PYTORCH_CUDA_ALLOC_CONF");
}

/* A mistake in LARDER_CONF stops Larder; what it does not know of PyTorch's may
 * be newer than it is. */
static void say_conf(struct doctor *d, enum doctor_grade wrong,
                     const char *name, const char *value)
{
    struct doctor_finding *f;

    if (larder_conf_check(value) == LARDER_OK) {
        doctor_say(d, DOCTOR_FINE, PART, name, "%.400s", value);
        return;
    }
    f = doctor_say(d, wrong, PART, name, "%s", larder_last_error());
    doctor_advise(f, "larder-conf(5) lists the keys and their values");
}

/* Of several of PyTorch's variables one counts. */
static void say_pytorch(struct doctor *d)
{
    const char *first = NULL;

    for (int i = 0; i < PYTORCH_VARIABLES; i++) {
        const char *name = pytorch_variables[i];
        const char *value = set_variable(name);
        struct doctor_finding *f;

        if (value == NULL)
            continue;
        if (first != NULL) {
            f = doctor_say(d, DOCTOR_PROBLEM, PART, name,
                           "ignored: %s is set, too", first);
            doctor_advise(f, "set one of the two");
            continue;
        }
        first = name;
        say_conf(d, DOCTOR_NOTE, name, value);
        say_pinned(d, name, value);
        say_unified(d, name, value);
    }
}

/* A debugging aid that is easily forgotten. */
static void say_uncached(struct doctor *d)
{
    struct doctor_finding *f;

    if (set_variable("PYTORCH_NO_CUDA_MEMORY_CACHING") == NULL)
        return;
    f = doctor_say(d, DOCTOR_NOTE, PART, "PYTORCH_NO_CUDA_MEMORY_CACHING",
                   "set: PyTorch calls the driver for every tensor");
    doctor_advise(f, "unset it unless you are debugging an invalid access");
}

void doctor_settings(struct doctor *d)
{
    size_t before = d->count;
    const char *own = set_variable("LARDER_CONF");

    if (own != NULL)
        say_conf(d, DOCTOR_PROBLEM, "LARDER_CONF", own);
    say_pytorch(d);
    say_uncached(d);
    if (d->count == before)
        doctor_say(d, DOCTOR_FINE, PART, "environment",
                   "neither LARDER_CONF nor PYTORCH_CUDA_ALLOC_CONF is set");
}
