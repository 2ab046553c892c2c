/* ledger_show.h - one ledger looked at from outside.  Private to the ledger. */
#ifndef LARDER_LEDGER_LEDGER_SHOW_H
#define LARDER_LEDGER_LEDGER_SHOW_H

#include <larder/ledger.h>

/* As larder_ledger_each() does with all of them; the id is a good one. */
larder_result larder__ledger_show(const char *id, larder_ledger_fn *fn,
                                  void *ctx);

#endif
