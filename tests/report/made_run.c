/* made_run.c - the summary of a made-up run (made_snapshot.h), of device 0. */
#include "made_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "made_snapshot.h"

void made_run_of(struct snapshot *s, struct made_run *out)
{
    struct tool_error error;

    out->s = s;
    if (!lifetimes_make(s, 0, &out->l, &error) ||
        !run_summary_make(&out->l, &out->r, &error))
        fail_msg("%s", error.text);
}

void made_run(const char *lines, const char *settings, struct made_run *out)
{
    made_run_of(made_snapshot(lines, settings), out);
}

void made_run_free(struct made_run *m)
{
    run_summary_free(&m->r);
    lifetimes_free(&m->l);
    snapshot_free(m->s);
}
