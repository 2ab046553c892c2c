/* ranks_facts.h - what is known of several ranks, as text. */
#pragma once

#include "report/ranks.h"

/* There has to be a rank.  The caller frees it. */
char *ranks_facts(const struct report_ranks *ranks);

/* As report_ranks_write_json() writes them; the caller frees it. */
char *ranks_json(const struct report_ranks *ranks);
