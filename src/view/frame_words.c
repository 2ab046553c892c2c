/* frame_words.c - a snapshot's frames and stacks for the page. */
#include "view/frame_words.h"

#include <stdio.h>

#include "report/frame_groups.h"
#include "report/frame_kind.h"

/* File, line and function of each frame. */
BLOB_VALUE(frame_number, struct snapshot,
           i % 3 == 0   ? d->frames[i / 3].filename
           : i % 3 == 1 ? d->frames[i / 3].line
                        : d->frames[i / 3].name)
BLOB_VALUE(stack_begin, struct snapshot, d->stack_begins[i])
BLOB_VALUE(stack_frame, struct snapshot, d->stack_frames[i])
BLOB_VALUE(kind_of, struct snapshot, frame_kind_of(d, (uint32_t)i))
/* UINT32_MAX (none) becomes 0. */
BLOB_VALUE(own_frame, struct snapshot,
           (uint32_t)(report_own_frame(d, (uint32_t)i) + 1))
BLOB_VALUE(label_number, uint32_t, d[i])

static json_t *string_list(const struct snapshot *s)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < s->string_count; i++) {
        json_t *text =
            json_stringn(snapshot_string(s, i), snapshot_string_length(s, i));

        /* Text that is not UTF-8 cannot be shown. */
        json_array_append_new(list, text != NULL ? text : json_string("?"));
    }
    return list;
}

/* Distinct texts, each with a number. */
struct labels {
    json_t *list;
    json_t *numbers; /* by text */
};

static void end_labels(void *labels)
{
    struct labels *l = labels;

    json_decref(l->list);
    json_decref(l->numbers);
}

static uint32_t number_of(struct labels *l, const char *text)
{
    const json_t *known = json_object_get(l->numbers, text);
    size_t next = json_array_size(l->list);

    if (known != NULL)
        return (uint32_t)json_integer_value(known);
    json_array_append_new(l->list, json_string(text));
    json_object_set_new(l->numbers, text, json_integer((json_int_t)next));
    return (uint32_t)next;
}

static void add_labels(struct blob *b, json_t *run, const struct snapshot *s,
                       enum report_by by, struct labels *l)
{
    const struct hoard_piece *last = b->hoard->last;
    uint32_t *numbers = hoard_take(b->hoard, s->frame_count, sizeof *numbers);
    char name[16];

    for (uint32_t i = 0; i < s->frame_count; i++)
        numbers[i] = number_of(l, report_by_label(s, i, by, false));
    snprintf(name, sizeof name, "by_%s", report_by_name(by));
    blob_column(b, run, name, "u32", BLOB_PLAIN, s->frame_count, label_number,
                numbers);
    hoard_free_since(b->hoard, last);
}

void frame_words_add(struct blob *b, json_t *run, const struct snapshot *s)
{
    const struct hoard_piece *last = b->hoard->last;
    struct labels *l = hoard_take_with(b->hoard, sizeof *l, end_labels);

    *l = (struct labels){json_array(), json_object()};
    json_object_set_new(run, "strings", string_list(s));
    blob_column(b, run, "frame", "u32", BLOB_PLAIN, s->frame_count * 3,
                frame_number, s);
    blob_column(b, run, "stack_begin", "u32", BLOB_DELTA, s->stack_count + 1,
                stack_begin, s);
    blob_column(b, run, "stack_frame", "u32", BLOB_DELTA,
                (size_t)s->stack_begins[s->stack_count], stack_frame, s);
    blob_column(b, run, "kind", "u8", BLOB_PLAIN, s->frame_count, kind_of, s);
    blob_column(b, run, "own", "u32", BLOB_PLAIN, s->stack_count, own_frame, s);
    for (int by = 0; by < BY_COUNT; by++)
        add_labels(b, run, s, (enum report_by)by, l);
    json_object_set(run, "labels", l->list);
    hoard_free_since(b->hoard, last);
}
