/* doctor_settings.c - settings in the environment: whether they are valid, and
 * those known to be harmful. */
#include "doctor.h"

#include <stdio.h>
#include <string.h>

#include <larder/larder.h>

#include "environment.h"

/* In PyTorch's order: the first that is set counts. */
static const char *const pytorch_variables[] = {
    "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF"};

enum {
    PYTORCH_VARIABLES = sizeof pytorch_variables / sizeof pytorch_variables[0]
};

/* Whether the installed release of PyTorch is in [first, last], both 2.MINOR;
 * true if none is installed, because it may be later. */
static bool may_be(const struct doctor *d, int first, int last)
{
    int minor;

    return sscanf(d->pytorch, "2.%d", &minor) != 1
               ? d->pytorch[0] == '\0'
               : minor >= first && minor <= last;
}

/* pytorch#192722: a free block of a bucket was used without checking its size,
 * and without rounding a bucket has several sizes. */
static void check_pinned(struct doctor *d, const char *name, const char *value)
{
    if (strstr(value, "pinned_max_round_threshold_mb") == NULL &&
        strstr(value, "pinned_max_cached_size_mb") == NULL)
        return;
    if (!may_be(d, 13, 14))
        return;
    doctor_say(d, DOCTOR_PROBLEM, "pinned memory",
               "%s has pinned_max_round_threshold_mb or "
               "pinned_max_cached_size_mb: PyTorch 2.13 and 2.14 can then "
               "return a pinned block smaller than requested, which "
               "writes overrun",
               name);
    doctor_advise(d, "remove both keys, or use a release with "
                     "pytorch#192722");
}

/* pytorch#183387. */
static void check_unified(struct doctor *d, const char *name, const char *value)
{
    if (strcmp(name, "PYTORCH_ALLOC_CONF") != 0 ||
        strstr(value, "expandable_segments") == NULL ||
        strncmp(d->pytorch, "2.9.1", 5) != 0)
        return;
    doctor_say(d, DOCTOR_PROBLEM, "expandable segments",
               "PyTorch %s ignores expandable_segments in %s", d->pytorch,
               name);
    doctor_advise(d, "set it in PYTORCH_CUDA_ALLOC_CONF");
}

/* An error in LARDER_CONF stops Larder.  Unknown keys in PyTorch's variables
 * may be newer than Larder. */
static void check_conf(struct doctor *d, enum doctor_grade wrong,
                       const char *name, const char *value)
{
    if (larder_conf_check(value) == LARDER_OK) {
        doctor_say(d, DOCTOR_FINE, name, "%.400s", value);
        return;
    }
    doctor_say(d, wrong, name, "%s", larder_last_error());
    doctor_advise(d, "larder-conf(5) lists the keys and their values");
}

/* Only one of PyTorch's variables takes effect. */
static void check_pytorch(struct doctor *d)
{
    const char *first = NULL;

    for (int i = 0; i < PYTORCH_VARIABLES; i++) {
        const char *name = pytorch_variables[i];
        const char *value = environment_said(name);

        if (value == NULL)
            continue;
        if (first != NULL) {
            doctor_say(d, DOCTOR_PROBLEM, name, "ignored: %s is set, too",
                       first);
            doctor_advise(d, "set one of the two");
            continue;
        }
        first = name;
        check_conf(d, DOCTOR_NOTE, name, value);
        check_pinned(d, name, value);
        check_unified(d, name, value);
    }
}

/* A debugging aid that is easily left on. */
static void check_uncached(struct doctor *d)
{
    if (environment_said("PYTORCH_NO_CUDA_MEMORY_CACHING") == NULL)
        return;
    doctor_say(d, DOCTOR_NOTE, "PYTORCH_NO_CUDA_MEMORY_CACHING",
               "set: PyTorch calls the driver for every tensor");
    doctor_advise(d, "unset it unless you are debugging an invalid access");
}

void doctor_settings(struct doctor *d)
{
    size_t before = d->count;
    const char *own = environment_said("LARDER_CONF");

    d->part = "settings";
    if (own != NULL)
        check_conf(d, DOCTOR_PROBLEM, "LARDER_CONF", own);
    check_pytorch(d);
    check_uncached(d);
    if (d->count == before)
        doctor_say(d, DOCTOR_FINE, "environment",
                   "neither LARDER_CONF nor PYTORCH_CUDA_ALLOC_CONF is set");
}
