/* faults.h - injects one failure, or two of different kinds at a time; the
 * second can hit the code that undoes the first. */
#ifndef TESTS_FAULT_FAULTS_H
#define TESTS_FAULT_FAULTS_H

#include <stdbool.h>

#include "fault/scenario.h"

/* nth 0: none. */
struct faults {
    struct fault one;
    struct fault two;
};

/* Which of them something met. */
struct struck {
    bool one;
    bool two;
};

bool fault_is_planned(const struct fault *f);

void faults_plan(const struct faults *f, larder_device *dev);
void faults_off(const struct faults *f, larder_device *dev);

/* Asked once, before they are off: it uses up what is left of a plan for host
 * memory.  One that goes on for ever does not tell, and is taken to have
 * struck. */
struct struck faults_struck(const struct faults *f, larder_device *dev);

/* Whether they are a reason for this answer. */
bool faults_explain(const struct faults *f, struct struck struck,
                    larder_result r);

void faults_describe(const struct faults *f, const char *conf);

#endif
