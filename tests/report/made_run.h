/* made_run.h - the summary of a made-up run (made_snapshot.h), of device 0. */
#pragma once

#include "report/summary_of_run.h"

struct made_run {
    struct arena arena;
    struct tool_error error; /* of the arena; a failure ends the program */
    struct snapshot *s;
    struct lifetimes l;
    struct run_summary r;
};

/* Fails the test if it cannot be made. */
void made_run(const char *lines, const char *settings, struct made_run *out);

/* Of a snapshot that was changed after it was made; takes the snapshot. */
void made_run_of(struct snapshot *s, struct made_run *out);

void made_run_free(struct made_run *m);
