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
    out->arena = (struct arena){.error = &out->error};
    out->s = s;
    if (!lifetimes_make(s, 0, &out->l, &out->error))
        fail_msg("%s", out->error.text);
    run_summary_make(&out->arena, &out->l, &out->r);
}

void made_run(const char *lines, const char *settings, struct made_run *out)
{
    made_run_of(made_snapshot(lines, settings), out);
}

void made_run_free(struct made_run *m)
{
    arena_end(&m->arena, true);
    lifetimes_free(&m->l);
    snapshot_free(m->s);
}
