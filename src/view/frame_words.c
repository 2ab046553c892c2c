/* frame_words.c - data about frames, with which the page names them as the
 * report does. */
#include "view/frame_words.h"

#include <stdio.h>
#include <stdlib.h>

#include "report/frame_groups.h"
#include "report/frame_kind.h"

static uint64_t value_kind(const void *data, size_t i)
{
    return frame_kind_of(data, (uint32_t)i);
}

/* UINT32_MAX (none) becomes 0. */
static uint64_t value_own(const void *data, size_t i)
{
    return (uint32_t)(report_own_frame(data, (uint32_t)i) + 1);
}

static uint64_t value_number(const void *data, size_t i)
{
    return ((const uint32_t *)data)[i];
}

/* Distinct texts, each with a number. */
struct labels {
    json_t *list;
    json_t *numbers; /* by text */
};

static bool frame_words_number_of(struct labels *l, const char *text,
                                  uint32_t *out)
{
    const json_t *known = json_object_get(l->numbers, text);
    size_t next = json_array_size(l->list);

    if (known != NULL) {
        *out = (uint32_t)json_integer_value(known);
        return true;
    }
    *out = (uint32_t)next;
    return json_array_append_new(l->list, json_string(text)) == 0 &&
           json_object_set_new(l->numbers, text,
                               json_integer((json_int_t)next)) == 0;
}

static bool add_labels(struct blob *b, json_t *run, const struct snapshot *s,
                       enum report_by by, struct labels *l)
{
    uint32_t *numbers = calloc(s->frame_count + 1, sizeof *numbers);
    char name[16];
    bool ok = numbers != NULL;

    for (size_t i = 0; ok && i < s->frame_count; i++)
        ok = frame_words_number_of(
            l, report_by_label(s, (uint32_t)i, by, false), &numbers[i]);
    snprintf(name, sizeof name, "by_%s", report_by_name(by));
    if (ok)
        blob_column(b, run, name, "u32", BLOB_PLAIN, s->frame_count,
                    value_number, numbers);
    free(numbers);
    return ok;
}

bool frame_words_add(struct blob *b, json_t *run, const struct snapshot *s)
{
    struct labels l = {json_array(), json_object()};
    bool ok = l.list != NULL && l.numbers != NULL;

    blob_column(b, run, "kind", "u8", BLOB_PLAIN, s->frame_count, value_kind,
                s);
    blob_column(b, run, "own", "u32", BLOB_PLAIN, s->stack_count, value_own, s);
    for (int by = 0; ok && by < BY_COUNT; by++)
        ok = add_labels(b, run, s, (enum report_by)by, &l);
    json_decref(l.numbers);
    if (ok)
        return json_object_set_new(run, "labels", l.list) == 0;
    json_decref(l.list);
    return false;
}
