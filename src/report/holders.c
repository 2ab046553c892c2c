/* holders.c - the largest holders at a device's peak. */
#include "report/holders.h"

#include "report/frame_groups.h"

size_t report_holders_of(const struct run_summary *r, size_t max,
                         struct report_holder *out)
{
    size_t count = r->line_count < max ? r->line_count : max;

    for (size_t i = 0; i < count; i++) {
        out[i].bytes = r->lines[i].bytes;
        out[i].count = r->lines[i].count;
        report_group_label_in(r->lifetimes->snapshot, &r->lines[i], BY_LINE,
                              false, out[i].frame);
    }
    return count;
}

bool report_holders(const struct snapshot *s, size_t device, size_t max,
                    struct report_holder *out, size_t *count,
                    struct tool_error *error)
{
    struct hoard h = {.error = error, .words = REPORT_NO_MEMORY};

    if (setjmp(h.failed) != 0)
        return hoard_end(&h, false);
    *count = report_holders_of(run_summary_of(&h, s, device), max, out);
    return hoard_end(&h, true);
}
