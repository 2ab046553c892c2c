/* account_rig.h - an allocator's account, for inspection line by line.  Header
 * only, for cmocka programs. */
#pragma once

#include "support/tag_rig.h"

#include <larder/account.h>

enum { ACCOUNT_LINES_MAX = 16 };

struct account_lines {
    larder_account_line lines[ACCOUNT_LINES_MAX];
    char names[ACCOUNT_LINES_MAX][64];
    int count;
};

static inline void keep_line(void *ctx, const larder_account_line *line)
{
    struct account_lines *kept = ctx;

    assert_in_range(kept->count, 0, ACCOUNT_LINES_MAX - 1);
    assert_int_equal(line->size, sizeof *line);
    snprintf(kept->names[kept->count], sizeof kept->names[0], "%s", line->name);
    kept->lines[kept->count++] = *line;
}

static inline struct account_lines account_of(larder_allocator *a)
{
    struct account_lines kept = {.count = 0};

    assert_ok(larder_account(a, keep_line, &kept));
    return kept;
}
