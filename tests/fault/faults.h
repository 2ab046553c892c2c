/* faults.h - injects one failure, or two of different kinds at a time; the
 * second can hit the code that undoes the first. */
#pragma once

#include <stdbool.h>

#include "fault/scenario.h"

/* nth 0: none. */
struct faults {
    struct fault one;
    struct fault two;
};

/* Which of them actually happened. */
struct struck {
    bool one;
    bool two;
};

bool fault_is_planned(const struct fault *f);

void faults_plan(const struct faults *f, larder_device *dev);
void faults_off(const struct faults *f, larder_device *dev);

/* Call once, before the faults are removed: it uses up the rest of a plan for
 * host memory.  A plan without end cannot be read, and is assumed to have
 * struck. */
struct struck faults_struck(const struct faults *f, larder_device *dev);

/* Whether the faults can explain this result. */
bool faults_explain(const struct faults *f, struct struck struck,
                    larder_result r);

void faults_describe(const struct faults *f, const char *conf);

/* Runs the scenario under these faults, and verifies it. */
typedef struct struck faults_run(const struct faults *f, const void *scenario);

/* The nth call of the kind `one` fails once, together with calls of the kind
 * `two` from each place on, or one of them: those can be of what undoes the
 * first.  The strides are from one place to the next.  Returns how often both
 * happened. */
unsigned long faults_sweep(larder_call one, unsigned long stride_one,
                           larder_call two, unsigned long stride_two,
                           faults_run *run, const void *scenario);
