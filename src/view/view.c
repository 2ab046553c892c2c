/* view.c - the page: a template with placeholders. */
#include "view/view.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "json/json_memory.h"
#include "report/frame_groups.h"
#include "report/frame_kind.h"
#include "snapshot/device_list.h"
#include "view/columns.h"
#include "view/page.h"

struct page {
    struct arena arena;
    const struct report_cure *cure;
    json_t *meta; /* the title, and what is not in the blob */
    struct blob blob;
    FILE *out;
};

/* ---- frames and stacks, named as the report does ------------------------- */

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

        json_array_append_new(
            list, text != NULL ? text : utf8_json(snapshot_string(s, i)));
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
    const struct arena_piece *last = b->arena->last;
    uint32_t *numbers = arena_take(b->arena, s->frame_count, sizeof *numbers);
    char name[16];

    for (uint32_t i = 0; i < s->frame_count; i++)
        numbers[i] = number_of(l, report_by_label(s, i, by, false));
    snprintf(name, sizeof name, "by_%s", report_by_name(by));
    blob_column(b, run, name, "u32", BLOB_PLAIN, s->frame_count, label_number,
                numbers);
    arena_free_since(b->arena, last);
}

/* Add to `run`: `strings`, `frame`, `stack_begin` and `stack_frame`; `kind`, for
 * each frame (enum frame_kind); `own`, for each stack
 * the number plus 1 of the frame that a reader would call "the line", 0 for
 * none; `labels`, a list of texts; and, for each way of grouping lines
 * (report_by_name()), `by_NAME`: for each frame an index of that list. */
static void frame_words_add(struct blob *b, json_t *run,
                            const struct snapshot *s)
{
    const struct arena_piece *last = b->arena->last;
    struct labels *l = arena_take_with(b->arena, sizeof *l, end_labels);

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
    arena_free_since(b->arena, last);
}

/* ---- gathering ------------------------------------------------------------- */

static void add_run(struct page *p, const struct view_run *run,
                    const struct device_list *list)
{
    json_t *devices = json_array();
    json_t *made = json_pack("{s:o, s:o}", "name", utf8_json(run->name),
                             "devices", devices);

    json_array_append_new(json_object_get(p->meta, "runs"), made);
    /* Otherwise these may be freed already. */
    arena_need(&p->arena, !json_memory_failed());
    frame_words_add(&p->blob, made, run->snapshot);
    for (size_t i = 0; i < list->count; i++) {
        const struct run_summary *r =
            run_summary_of(&p->arena, run->snapshot, list->numbers[i]);

        columns_of_device(&p->blob, devices, r, p->cure);
        arena_free_since(&p->arena, NULL);
    }
}

static bool view_gather(struct page *p, const struct view_run *runs,
                        size_t count)
{
    struct device_list list;

    if (setjmp(p->arena.failed) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!device_list_make(runs[i].snapshot, NULL, &list, p->arena.error))
            return false;
        add_run(p, &runs[i], &list);
    }
    arena_need(&p->arena, !json_memory_failed());
    return true;
}

/* ---- writing --------------------------------------------------------------- */

static bool write_escaped(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        const char *safe = *text == '<'   ? "&lt;"
                           : *text == '&' ? "&amp;"
                                          : NULL;

        if (safe != NULL ? fputs(safe, out) == EOF : putc(*text, out) == EOF)
            return false;
    }
    return true;
}

/* A script element must not contain its end tag: `<` is written as a JSON
 * escape, which is valid because it can occur only in strings here. */
static int write_json_piece(const char *buffer, size_t size, void *data)
{
    FILE *out = data;
    size_t i;

    for (i = 0; i < size; i++) {
        if (buffer[i] == '<' ? fputs("\\u003c", out) == EOF
                             : putc(buffer[i], out) == EOF)
            return -1;
    }
    return 0;
}

/* Write what replaces a placeholder, the text between two '@' in the
 * template. */
static bool write_place(struct page *p, const char *place, size_t length)
{
    const struct {
        const char *place;
        const void *text;
    } texts[] = {{"STYLE", view_page_style},
                 {"SCRIPT", view_page_script},
                 {"POLICY", view_page_policy}};
    size_t i;

    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (strlen(texts[i].place) == length &&
            memcmp(place, texts[i].place, length) == 0)
            return fputs(texts[i].text, p->out) != EOF;
    }
    if (length == 5 && memcmp(place, "TITLE", 5) == 0)
        return write_escaped(
            p->out, json_string_value(json_object_get(p->meta, "title")));
    if (length == 4 && memcmp(place, "META", 4) == 0)
        return json_dump_callback(p->meta, write_json_piece, p->out,
                                  JSON_COMPACT) == 0;
    return blob_write_base64(&p->blob, p->out);
}

static bool write_page(struct page *p)
{
    const char *at = (const char *)view_page_html;

    for (;;) {
        const char *begin = strchr(at, '@');
        const char *end = begin != NULL ? strchr(begin + 1, '@') : NULL;

        if (end == NULL)
            return fputs(at, p->out) != EOF;
        if (fwrite(at, 1, (size_t)(begin - at), p->out) !=
                (size_t)(begin - at) ||
            !write_place(p, begin + 1, (size_t)(end - begin - 1)))
            return false;
        at = end + 1;
    }
}

bool view_write(FILE *out, const char *title, const struct view_run *runs,
                size_t run_count, const struct report_cure *cure,
                struct tool_error *error)
{
    struct page p = {
        .arena = {.error = error,
                  .words = "not enough host memory for the page"},
        .cure = cure,
        .out = out,
        .blob = {.arena = &p.arena},
    };
    bool ok;

    json_memory_watch();
    p.meta = json_pack("{s:o, s:[]}", "title", utf8_json(title), "runs");
    ok = view_gather(&p, runs, run_count);
    if (ok && (!write_page(&p) || fflush(out) != 0))
        ok = tool_fail(error, "writing the page: %s", strerror(errno));
    json_decref(p.meta);
    blob_free(&p.blob);
    return arena_end(&p.arena, ok);
}
