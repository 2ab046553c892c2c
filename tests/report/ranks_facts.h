/* ranks_facts.h - what is known of several ranks, as text. */
#ifndef LARDER_TESTS_REPORT_RANKS_FACTS_H
#define LARDER_TESTS_REPORT_RANKS_FACTS_H

#include "report/ranks.h"

/* There has to be a rank.  The caller frees it. */
char *ranks_facts(const struct report_ranks *ranks);

/* As report_ranks_write_json() writes them; the caller frees it. */
char *ranks_json(const struct report_ranks *ranks);

#endif
