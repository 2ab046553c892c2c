/* made_ranks.c - the ranks of made-up programs. */
#include "made_ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "snapshot/notes_as_stacks.h"
#include "support/made_program.h"
#include "support/snapshot_bytes.h"

struct snapshot *made_program_snapshot(uint64_t seed)
{
    json_t *document = made_document(seed);
    char *text = json_dumps(document, JSON_COMPACT);
    struct snapshot *s = NULL;
    struct tool_error error;

    assert_non_null(text);
    if (!snapshot_read_bytes(text, strlen(text), NULL, &s, &error) ||
        !snapshot_notes_as_stacks(s, &error))
        fail_msg("%s", error.text);
    free(text);
    json_decref(document);
    return s;
}

void made_ranks_add(struct report_ranks *ranks, size_t number,
                    const struct snapshot *s)
{
    struct tool_error error;
    char name[32];

    snprintf(name, sizeof name, "rank%zu.pickle", number);
    if (!report_ranks_add(ranks, name, s, &error))
        fail_msg("%s", error.text);
}

void made_ranks(uint64_t seed, size_t count, struct report_ranks *out)
{
    *out = (struct report_ranks){0};
    for (size_t i = 0; i < count; i++) {
        struct snapshot *s = made_program_snapshot(seed + i);

        made_ranks_add(out, i, s);
        snapshot_free(s);
    }
}
