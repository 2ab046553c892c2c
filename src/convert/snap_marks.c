/* snap_marks.c - annotations of a snapshot as marks of a trace. */
#include "convert/snap_marks.h"
#include "snapshot/plain_text.h"

#include <stdlib.h>
#include <string.h>

enum { LABEL_MAX = 1024 };

static bool snap_marks_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* A label contains neither the beginning of a comment nor a line end, and does
 * not begin or end with a blank. */
bool snap_marks_text(struct trace *out, const char *text)
{
    char label[LABEL_MAX];
    size_t length = 0;

    while (snap_marks_is_blank(*text))
        text++;
    while (*text != '\0' && length < sizeof label) {
        unsigned code;
        size_t control = plain_text_control(text, &code);

        label[length++] = *text == '#' ? ':' : control > 0 ? ' ' : *text;
        text += control > 0 ? control : 1;
    }
    while (length > 0 && snap_marks_is_blank(label[length - 1]))
        length--;
    return length == 0 || trace_append_mark(out, label, length);
}

struct timed_mark {
    int64_t time_us;
    uint32_t annotation;
};

static int compare_times(const void *a, const void *b)
{
    const struct timed_mark *x = a;
    const struct timed_mark *y = b;

    if (x->time_us != y->time_us)
        return x->time_us < y->time_us ? -1 : 1;
    return (x->annotation > y->annotation) - (x->annotation < y->annotation);
}

bool snap_marks_begin(struct snap_marks *m, const struct snapshot *s,
                      size_t device)
{
    memset(m, 0, sizeof *m);
    m->snapshot = s;
    m->order = calloc(s->annotation_count + 1, sizeof *m->order);
    if (m->order == NULL)
        return false;
    for (size_t i = 0; i < s->annotation_count; i++) {
        if (s->annotations[i].device == device)
            m->order[m->count++] =
                (struct timed_mark){s->annotations[i].time_us, (uint32_t)i};
    }
    if (m->count > 0)
        qsort(m->order, m->count, sizeof *m->order, compare_times);
    return true;
}

void snap_marks_end(struct snap_marks *m)
{
    free(m->order);
}

static bool add_annotation(const struct snap_marks *m,
                           const struct snapshot_annotation *a,
                           struct trace *out)
{
    char text[LABEL_MAX];

    snprintf(text, sizeof text, "%s %s", snapshot_string(m->snapshot, a->name),
             snapshot_string(m->snapshot, a->stage));
    return snap_marks_text(out, text);
}

bool snap_marks_before(struct snap_marks *m, const struct snapshot_event *e,
                       struct trace *out)
{
    const struct snapshot *s = m->snapshot;

    while (m->next < m->count && (e->has & SNAPSHOT_HAS_TIME) != 0) {
        const struct snapshot_annotation *a =
            &s->annotations[m->order[m->next].annotation];

        if (a->time_us > e->time_us)
            break;
        if (!add_annotation(m, a, out))
            return false;
        m->next++;
    }
    if (e->action != SNAPSHOT_ALLOC || e->user_metadata == 0 ||
        e->user_metadata == m->metadata)
        return true;
    m->metadata = e->user_metadata;
    return snap_marks_text(out, snapshot_string(s, e->user_metadata));
}

bool snap_marks_rest(struct snap_marks *m, struct trace *out)
{
    for (; m->next < m->count; m->next++) {
        if (!add_annotation(
                m, &m->snapshot->annotations[m->order[m->next].annotation],
                out))
            return false;
    }
    return true;
}
