/* format.c - tensors as text, in PyTorch's layout: lines of 80 columns, every
 * element as wide as the widest; of tensors with more than 1000 elements only
 * the 3 at each end of every dimension. */
#include "tensor/tensor.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tensor/writer.h"

enum { LINE = 80, INDENT = 7, EDGE = 3, LONG = 1000, ELEMENT_MAX = 64 };

/* ---- elements ----------------------------------------------------------- */

enum style { WHOLE, FIXED, SCIENTIFIC };

struct print {
    const lab_tensor *t;
    bool is_long;
    enum style style;
    int width;
    struct lab__writer out;
    size_t line; /* where the last line begins */
    int used;    /* columns used; 2 more, as PyTorch counts */
    /* Of elements that are finite and not 0, to choose the style: */
    double min, max;
    bool has_fraction;
};

static void element_text(const struct print *p, const void *at,
                         char text[ELEMENT_MAX])
{
    double x;

    if (p->t->kind == LAB_INT64) {
        snprintf(text, ELEMENT_MAX, "%" PRId64, *(const int64_t *)at);
        return;
    }
    if (p->t->kind == LAB_BOOL) {
        strcpy(text, *(const unsigned char *)at != 0 ? "True" : "False");
        return;
    }
    x = (double)*(const float *)at;
    if (isnan(x))
        strcpy(text, "nan");
    else if (isinf(x))
        strcpy(text, x > 0 ? "inf" : "-inf");
    else if (p->style == SCIENTIFIC)
        snprintf(text, ELEMENT_MAX, "%.4e", x);
    else if (p->style == FIXED)
        snprintf(text, ELEMENT_MAX, "%.4f", x);
    else
        snprintf(text, ELEMENT_MAX, "%.0f.", x);
}

/* ---- the elements that are shown ---------------------------------------- */

static bool is_cut(const struct print *p, int dim)
{
    return p->is_long && p->t->sizes[dim] > 2 * EDGE;
}

/* The index shown after i, which skips the elided middle. */
static int64_t next_shown(const struct print *p, int dim, int64_t i)
{
    return i + 1 == EDGE && is_cut(p, dim) ? p->t->sizes[dim] - EDGE : i + 1;
}

static bool is_after_cut(const struct print *p, int dim, int64_t i)
{
    return is_cut(p, dim) && i == p->t->sizes[dim] - EDGE;
}

static const char *step_to(const struct print *p, const char *at, int dim,
                           int64_t i)
{
    return at + i * p->t->strides[dim] * (int64_t)lab__dtype_bytes(p->t->kind);
}

static void visit(struct print *p, const char *at, int dim,
                  void (*fn)(struct print *p, const void *at))
{
    if (dim == p->t->ndim) {
        fn(p, at);
        return;
    }
    for (int64_t i = 0; i < p->t->sizes[dim]; i = next_shown(p, dim, i))
        visit(p, step_to(p, at, dim, i), dim + 1, fn);
}

/* ---- choosing a style --------------------------------------------------- */

static void note_size(struct print *p, const void *at)
{
    double x = (double)*(const float *)at, size = fabs(x);

    if (!isfinite(x) || x == 0)
        return;
    p->min = p->min == 0 || size < p->min ? size : p->min;
    p->max = size > p->max ? size : p->max;
    p->has_fraction = p->has_fraction || x != ceil(x);
}

/* For floats, only the elements that determine the style determine the
 * width. */
static void note_width(struct print *p, const void *at)
{
    char text[ELEMENT_MAX];
    int n;

    if (p->t->kind == LAB_FLOAT32) {
        double x = (double)*(const float *)at;

        if (!isfinite(x) || x == 0)
            return;
    }
    element_text(p, at, text);
    n = (int)strlen(text);
    p->width = n > p->width ? n : p->width;
}

static void style_choose(struct print *p)
{
    const char *data = lab__data(p->t);

    p->width = 1;
    if (p->t->kind == LAB_FLOAT32) {
        visit(p, data, 0, note_size);
        if (p->max == 0)
            p->style = WHOLE;
        else if (p->max / p->min > 1000 || p->max > 1e8)
            p->style = SCIENTIFIC;
        else if (p->has_fraction)
            p->style = p->min < 1e-4 ? SCIENTIFIC : FIXED;
    }
    visit(p, data, 0, note_width);
}

/* ---- layout ------------------------------------------------------------- */

static void put_element(struct print *p, const void *at)
{
    char text[ELEMENT_MAX];

    element_text(p, at, text);
    lab__write(&p->out, "%*s", p->width, text);
}

static void put_break(struct print *p, int lines, int depth)
{
    lab__write(&p->out, ",");
    for (int i = 0; i < lines; i++)
        lab__write(&p->out, "\n");
    p->line = p->out.length;
    lab__write(&p->out, "%*s", INDENT + depth, "");
}

static void put_between(struct print *p, bool is_full, int depth)
{
    if (is_full)
        put_break(p, 1, depth);
    else
        lab__write(&p->out, ", ");
}

/* The last dimension: as many elements to a line as fit; the elided ones count
 * as one. */
static void put_row(struct print *p, const char *at, int dim)
{
    int fit = (LINE - INDENT - dim) / (p->width + 2);
    int items = 0;

    fit = fit > 0 ? fit : 1;
    lab__write(&p->out, "[");
    for (int64_t i = 0; i < p->t->sizes[dim]; i = next_shown(p, dim, i)) {
        if (is_after_cut(p, dim, i)) {
            put_between(p, items++ % fit == 0, dim + 1);
            lab__write(&p->out, " ...");
        }
        if (items > 0)
            put_between(p, items % fit == 0, dim + 1);
        put_element(p, step_to(p, at, dim, i));
        items++;
    }
    lab__write(&p->out, "]");
}

/* Recursive, once for each dimension. */
static void put_dim(struct print *p, const char *at, int dim)
{
    int left = p->t->ndim - dim;

    if (left <= 1) {
        if (left == 1)
            put_row(p, at, dim);
        else
            put_element(p, at);
        return;
    }
    lab__write(&p->out, "[");
    for (int64_t i = 0; i < p->t->sizes[dim]; i = next_shown(p, dim, i)) {
        if (i > 0)
            put_break(p, left - 1, dim + 1);
        if (is_after_cut(p, dim, i)) {
            lab__write(&p->out, "...");
            put_break(p, left - 1, dim + 1);
        }
        put_dim(p, step_to(p, at, dim, i), dim + 1);
    }
    lab__write(&p->out, "]");
}

/* ---- the suffix --------------------------------------------------------- */

static void put_suffix(struct print *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put_suffix(struct print *p, const char *format, ...)
{
    char text[LAB__SHAPE_TEXT + 32];
    va_list args;
    bool is_full;
    int n;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    n = (int)strlen(text);
    is_full = p->used + n + 2 > LINE;
    p->used = is_full ? INDENT + n : p->used + n + 2;
    put_between(p, is_full, 0);
    lab__write(&p->out, "%s", text);
}

/* "(2, 3)", "(2,)", "()" */
static void put_sizes(struct print *p)
{
    char text[LAB__SHAPE_TEXT];
    size_t n;

    lab__shape_text(p->t->ndim, p->t->sizes, text);
    n = strlen(text);
    text[n - 1] = '\0';
    put_suffix(p, "size=(%s%s", text + 1, p->t->ndim == 1 ? ",)" : ")");
}

static void put_suffixes(struct print *p, bool shows_sizes, bool shows_dtype)
{
    const char *grad_fn = lab_grad_fn_name(p->t);

    p->used = (int)(p->out.length - p->line) + 2;
    if (p->t->storage->place == LAB_DEVICE)
        put_suffix(p, "device='%s'", lab__place_name(LAB_DEVICE));
    if (shows_sizes)
        put_sizes(p);
    if (shows_dtype)
        put_suffix(p, "dtype=torch.%s", lab__dtype_name(p->t->dtype));
    if (grad_fn != NULL)
        put_suffix(p, "grad_fn=<%s>", grad_fn);
    else if (lab_requires_grad(p->t))
        put_suffix(p, "requires_grad=True");
    lab__write(&p->out, ")");
}

size_t lab_format(lab_tensor *t, char *buf, size_t cap)
{
    struct print p = {.t = t};
    int64_t count = lab_numel(t);
    bool is_default = t->dtype == LAB_FLOAT32;

    lab__writer_init(&p.out, buf, cap);
    p.is_long = count > LONG;
    lab__write(&p.out, "tensor(");
    if (count == 0) {
        lab__write(&p.out, "[]");
        put_suffixes(&p, t->ndim != 1, !is_default);
    } else if (!lab__readable(t)) {
        lab__write(&p.out, "...");
        put_suffixes(&p, true, !is_default);
    } else {
        style_choose(&p);
        put_dim(&p, lab__data(t), 0);
        put_suffixes(&p, false, false);
    }
    return p.out.length;
}
