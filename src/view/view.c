/* view.c - the page: a template with placeholders. */
#include "view/view.h"

#include <errno.h>
#include <string.h>

#include "json/json_memory.h"
#include "snapshot/device_list.h"
#include "view/columns.h"
#include "view/frame_words.h"
#include "view/page.h"

struct page {
    struct hoard hoard;
    const struct report_cure *cure;
    json_t *meta; /* the title, and what is not in the blob */
    struct blob blob;
    FILE *out;
};

/* ---- gathering ------------------------------------------------------------- */

static void add_run(struct page *p, const struct view_run *run,
                    const struct device_list *list)
{
    json_t *devices = json_array();
    json_t *made = json_pack("{s:o, s:o}", "name", utf8_json(run->name),
                             "devices", devices);

    json_array_append_new(json_object_get(p->meta, "runs"), made);
    frame_words_add(&p->blob, made, run->snapshot);
    for (size_t i = 0; i < list->count; i++) {
        const struct run_summary *r =
            run_summary_of(&p->hoard, run->snapshot, list->numbers[i]);

        columns_of_device(&p->blob, devices, r, p->cure);
        hoard_free_since(&p->hoard, NULL);
    }
}

static bool view_gather(struct page *p, const struct view_run *runs,
                        size_t count)
{
    struct device_list list;

    if (setjmp(p->hoard.failed) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!device_list_make(runs[i].snapshot, NULL, &list, p->hoard.error))
            return false;
        add_run(p, &runs[i], &list);
    }
    hoard_need(&p->hoard, !json_memory_failed());
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
        .hoard = {.error = error,
                  .words = "not enough host memory for the page"},
        .cure = cure,
        .out = out,
        .blob = {.hoard = &p.hoard},
    };
    bool ok;

    json_memory_watch();
    p.meta = json_pack("{s:o, s:[]}", "title", utf8_json(title), "runs");
    ok = view_gather(&p, runs, run_count);
    if (ok && (!write_page(&p) || fflush(out) != 0))
        ok = tool_fail(error, "writing the page: %s", strerror(errno));
    json_decref(p.meta);
    blob_free(&p.blob);
    return hoard_end(&p.hoard, ok);
}
