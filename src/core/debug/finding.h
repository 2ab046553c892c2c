/* finding.h - an error in the program, as a message, until it is reported.
 * Private to core.
 *
 * Many findings are made where no result can report them, for example by an
 * allocation that needs quarantined memory.  The first one not yet reported is
 * kept for the next larder_free(), larder_check() or larder_destroy(). */
#pragma once

#include "base/text.h"
#include "core/debug/debug.h"

/* Note a finding about the block, with a message in this format.  Where the
 * block was allocated is added if the history knows it. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
void larder__finding_note(struct allocator *a, const struct block *b,
                          larder_result r, const char *format, ...);

/* Set the last error and return the finding's result; LARDER_OK: there is
 * none. */
larder_result larder__finding_report(struct allocator *a);
