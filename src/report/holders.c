/* holders.c - the largest holders at a device's peak. */
#include "report/holders.h"
#include "report/frame_groups.h"

#include "report/summary_of_run.h"

bool report_holders(const struct snapshot *s, size_t device, size_t max,
                    struct report_holder *out, size_t *count,
                    struct tool_error *error)
{
    struct lifetimes l;
    struct run_summary r;

    if (!lifetimes_make(s, device, &l, error))
        return false;
    if (!run_summary_make(&l, &r, error)) {
        lifetimes_free(&l);
        return false;
    }
    *count = r.line_count < max ? r.line_count : max;
    for (size_t i = 0; i < *count; i++) {
        out[i].bytes = r.lines[i].bytes;
        out[i].count = r.lines[i].count;
        report_group_label_in(s, &r.lines[i], BY_LINE, false, out[i].frame);
    }
    run_summary_free(&r);
    lifetimes_free(&l);
    return true;
}
