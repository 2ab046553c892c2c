/* ledger_show.h - inspects one ledger from outside.  Private to the ledger. */
#ifndef LARDER_LEDGER_LEDGER_SHOW_H
#define LARDER_LEDGER_LEDGER_SHOW_H

#include <larder/ledger.h>

/* As larder_ledger_each(), for one ledger with a valid id. */
larder_result larder__ledger_show(const char *id, larder_ledger_fn *fn,
                                  void *ctx);

#endif
