#include "core/pytorch_rules.h"

#include <string.h>

/* Fields in the order of PYTORCH_RULE_MAP. */
/* clang-format off */
const struct pytorch_rules larder__pytorch_releases[] = {
    {"2.4", PYTORCH_ADDRESSES, 0, 0, 0, PYTORCH_LENDS_NEVER, 0, 0, 0, 0},
    {"2.5", PYTORCH_ADDRESSES, 0, 1, 0, PYTORCH_LENDS_NEVER, 0, 0, 0, 0},
    {"2.6", PYTORCH_ADDRESSES, 0, 1, 0, PYTORCH_LENDS_NEVER, 0, 0, 0, 0},
    {"2.7", PYTORCH_ADDRESSES, 0, 1, 0, PYTORCH_LENDS_NEVER, 0, 0, 0, 0},
    {"2.8", PYTORCH_ADDRESSES, 0, 1, 0, PYTORCH_LENDS_LAST, 0, 0, 0, 0},
    {"2.9", PYTORCH_ADDRESSES, 0, 1, 0, PYTORCH_LENDS_LAST, 0, 0, 0, 0},
    {"2.10", PYTORCH_ADDRESSES, 1, 1, 1, PYTORCH_LENDS_LAST, 0, 0, 1, 1},
    {"2.11", PYTORCH_ADDRESSES, 1, 1, 1, PYTORCH_LENDS_FIRST, 1, 0, 1, 1},
    {"2.12", PYTORCH_NEW_BLOCKS, 1, 1, 1, PYTORCH_LENDS_FIRST, 1, 0, 1, 1},
    {"2.13", PYTORCH_NEW_SEGMENTS, 1, 1, 1, PYTORCH_LENDS_FIRST, 1, 1, 1, 1},
    {"2.14", PYTORCH_NEW_SEGMENTS, 1, 1, 1, PYTORCH_LENDS_FIRST, 1, 1, 1, 1},
    {"2.15", PYTORCH_NEW_SEGMENTS, 1, 1, 1, PYTORCH_LENDS_FIRST, 1, 1, 1, 1},
    {.version = NULL},
};
/* clang-format on */

const struct pytorch_rules *larder__pytorch_rules(const char *version)
{
    const struct pytorch_rules *r = larder__pytorch_releases;

    while (r->version != NULL && strcmp(r->version, version) != 0)
        r++;
    return r->version == NULL ? NULL : r;
}
