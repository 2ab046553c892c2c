/* finding.h - what is wrong with a program, in words, until it is told.
 * Private to core.
 *
 * Many findings are made where no result could tell of them: by an allocation
 * that needs what is quarantined.  The first that nobody was told yet is kept
 * for the next larder_free(), larder_check() or larder_destroy(). */
#ifndef LARDER_CORE_DEBUG_FINDING_H
#define LARDER_CORE_DEBUG_FINDING_H

#include "base/text.h"
#include "core/debug/debug.h"

/* A finding in the words of this format, about the block; where that came from
 * is added if the history knows. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
void larder__finding_note(struct allocator *a, const struct block *b,
                          larder_result r, const char *format, ...);

/* The result to return, the last error set; LARDER_OK: there is none. */
larder_result larder__finding_tell(struct allocator *a);

#endif
