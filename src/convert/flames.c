/* flames.c - memory by call stack, as collapsed stacks and in speedscope's
 * format. */
#include <inttypes.h>
#include <string.h>

#include "convert/viewer_parts.h"
#include "snapshot/plain_text.h"

/* Bytes by stack. */
struct weights {
    const struct snapshot *s;
    size_t device;
    uint64_t *peak; /* bytes allocated at the peak */
    uint64_t *run;  /* bytes requested over the run */
};

static struct weights weigh(struct arena *arena, const struct lifetimes *l)
{
    size_t count = l->snapshot->stack_count;
    struct weights w = {
        .s = l->snapshot,
        .device = l->device,
        .peak = arena_take(arena, count, sizeof *w.peak),
        .run = arena_take(arena, count, sizeof *w.run),
    };
    uint32_t peak;

    (void)lifetimes_peak(arena, l, CURVE_ALLOCATED, &peak);
    for (size_t i = 0; i < l->alloc_count; i++) {
        const struct lifetime *a = &l->allocs[i];

        if (lifetime_in_use(a, peak))
            w.peak[a->stack] += a->rounded;
        if (a->start != LIFETIME_BEFORE)
            w.run[a->stack] += a->requested;
    }
    return w;
}

static uint64_t sum_of(const struct weights *w, const uint64_t *bytes)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < w->s->stack_count; i++)
        sum += bytes[i];
    return sum;
}

static bool write_devices(const struct snapshot *s, size_t device, FILE *out,
                          viewer_device *write, struct tool_error *error)
{
    return viewer_devices(s, device, out, write, error) &&
           (!ferror(out) || tool_fail(error, "write error"));
}

/* ---- collapsed stacks --------------------------------------------------- */

/* Replace characters that would end a frame or a line. */
static void collapsed_text(FILE *out, const char *text)
{
    while (*text != '\0') {
        unsigned code;
        size_t bytes = json_text_surrogate(out, text, strnlen(text, 3));
        size_t control = plain_text_control(text, &code);

        if (bytes == 0)
            putc(control > 0 ? ' ' : *text == ';' ? ',' : *text, out);
        text += bytes > 0 ? bytes : control > 0 ? control : 1;
    }
}

static void collapsed_frame(const struct weights *w, uint32_t frame, FILE *out)
{
    const struct snapshot_frame *f = &w->s->frames[frame];
    const char *file = snapshot_string(w->s, f->filename);

    putc(';', out);
    collapsed_text(out, snapshot_string(w->s, f->name));
    if (file[0] == '\0' || strcmp(file, "??") == 0)
        return;
    fputs(" (", out);
    collapsed_text(out, file);
    if (f->line != 0)
        fprintf(out, ":%" PRIu32, f->line);
    putc(')', out);
}

static void collapsed_device(struct arena *arena, const struct lifetimes *l,
                             FILE *out, bool *begun)
{
    const struct weights w = weigh(arena, l);

    (void)begun;
    for (uint32_t stack = 0; stack < w.s->stack_count; stack++) {
        size_t count;
        const uint32_t *frames = snapshot_stack(w.s, stack, &count);

        if (w.peak[stack] == 0)
            continue;
        fprintf(out, "device %zu", w.device);
        if (count == 0)
            fputs(";no call path", out);
        while (count > 0)
            collapsed_frame(&w, frames[--count], out);
        fprintf(out, " %" PRIu64 "\n", w.peak[stack]);
    }
}

bool flames_write_collapsed(const struct snapshot *s, size_t device, FILE *out,
                            struct tool_error *error)
{
    return write_devices(s, device, out, collapsed_device, error);
}

/* ---- speedscope --------------------------------------------------------- */

/* The last frame is for allocations without a call path. */
static void speedscope_frames(const struct snapshot *s, FILE *out)
{
    fputs("\"shared\": {\"frames\": [", out);
    for (size_t i = 0; i < s->frame_count; i++) {
        const struct snapshot_frame *f = &s->frames[i];

        fputs("{\"name\": ", out);
        json_text_write(out, s, f->name);
        fputs(", \"file\": ", out);
        json_text_write(out, s, f->filename);
        fprintf(out, ", \"line\": %" PRIu32 "}, ", f->line);
    }
    fputs("{\"name\": \"no call path\"}]}", out);
}

static void speedscope_samples(const struct weights *w, const uint64_t *bytes,
                               FILE *out)
{
    const char *between = "";

    for (uint32_t stack = 0; stack < w->s->stack_count; stack++) {
        size_t count;
        const uint32_t *frames = snapshot_stack(w->s, stack, &count);

        if (bytes[stack] == 0)
            continue;
        fprintf(out, "%s[", between);
        if (count == 0)
            fprintf(out, "%zu", w->s->frame_count);
        for (size_t i = count; i-- > 0;)
            fprintf(out, "%s%" PRIu32, i + 1 < count ? ", " : "", frames[i]);
        putc(']', out);
        between = ", ";
    }
}

static void speedscope_weights(const struct weights *w, const uint64_t *bytes,
                               FILE *out)
{
    const char *between = "";

    for (uint32_t stack = 0; stack < w->s->stack_count; stack++) {
        if (bytes[stack] == 0)
            continue;
        fprintf(out, "%s%" PRIu64, between, bytes[stack]);
        between = ", ";
    }
}

static void speedscope_profile(const struct weights *w, const char *what,
                               const uint64_t *bytes, FILE *out, bool *begun)
{
    uint64_t sum = sum_of(w, bytes);

    if (sum == 0)
        return;
    fprintf(out,
            "%s{\"type\": \"sampled\", \"name\": \"device %zu, %s\", "
            "\"unit\": \"bytes\", \"startValue\": 0, \"endValue\": %" PRIu64
            ", \"samples\": [",
            *begun ? ", " : "", w->device, what, sum);
    speedscope_samples(w, bytes, out);
    fputs("], \"weights\": [", out);
    speedscope_weights(w, bytes, out);
    fputs("]}", out);
    *begun = true;
}

static void speedscope_device(struct arena *arena, const struct lifetimes *l,
                              FILE *out, bool *begun)
{
    const struct weights w = weigh(arena, l);

    speedscope_profile(&w, "held at the peak", w.peak, out, begun);
    speedscope_profile(&w, "requested over the run", w.run, out, begun);
}

bool flames_write_speedscope(const struct snapshot *s, size_t device, FILE *out,
                             struct tool_error *error)
{
    bool ok;

    fputs("{\"$schema\": \"https://www.speedscope.app/file-format-schema.json"
          "\", \"exporter\": \"larder\", ",
          out);
    speedscope_frames(s, out);
    fputs(", \"profiles\": [", out);
    ok = write_devices(s, device, out, speedscope_device, error);
    fputs("]}\n", out);
    return ok;
}
