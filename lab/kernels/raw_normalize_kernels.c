/* raw_normalize_kernels.c - mean and deviation of channels or groups of them,
 * normalising by these, and the way back. */
#include <math.h>

#include "kernels/nn_kernels.h"
#include "tensor/parallel.h"

/* x as images × channels × elements.  Statistics are over a channel of all
 * images, or over a group of channels of one image. */
struct layout {
    int64_t images, channels, area;
    int64_t groups;
    int64_t sets;   /* number of statistics */
    int64_t in_set; /* elements in each */
};

static struct layout layout_of(const lab_tensor *x, int64_t groups)
{
    struct layout l = {x->sizes[0], x->sizes[1], 1, groups, 0, 0};

    for (int d = 2; d < x->ndim; d++)
        l.area *= x->sizes[d];
    l.sets = groups == 0 ? l.channels : l.images * groups;
    l.in_set = l.images * l.channels * l.area / (l.sets > 0 ? l.sets : 1);
    return l;
}

/* The offset of element k of a set. */
static int64_t place_of(const struct layout *l, int64_t set, int64_t k)
{
    if (l->groups == 0)
        return (k / l->area * l->channels + set) * l->area + k % l->area;
    return set * l->in_set + k;
}

static int64_t channel_of(const struct layout *l, int64_t at)
{
    return at / l->area % l->channels;
}

static int64_t set_of(const struct layout *l, int64_t at)
{
    return l->groups == 0 ? channel_of(l, at) : at / l->in_set;
}

/* ---- forward ------------------------------------------------------------ */

struct moments {
    struct layout l;
    const float *x;
    float *mean, *rstd;
    double eps;
};

static void set_moments(void *context, int64_t set)
{
    const struct moments *m = context;
    double mean = 0, squares = 0, count = (double)m->l.in_set;

    for (int64_t k = 0; k < m->l.in_set; k++)
        mean += (double)m->x[place_of(&m->l, set, k)];
    mean /= count;
    for (int64_t k = 0; k < m->l.in_set; k++) {
        double x = (double)m->x[place_of(&m->l, set, k)] - mean;

        squares += x * x;
    }
    m->mean[set] = (float)mean;
    m->rstd[set] = (float)(1 / sqrt(squares / count + m->eps));
}

void lab__moments(lab_tensor *mean, lab_tensor *rstd, const lab_tensor *x,
                  int64_t groups, double eps)
{
    struct moments m = {layout_of(x, groups), lab__floats(x), lab__floats(mean),
                        lab__floats(rstd), eps};

    if (LAB__READABLE(mean, x))
        lab__parallel_each(x->storage->session, m.l.sets, 1, set_moments, &m);
}

void lab__normalize(lab_tensor *out, const lab_tensor *x, int64_t groups,
                    const lab_tensor *mean, const lab_tensor *rstd,
                    const lab_tensor *w, const lab_tensor *b)
{
    struct layout l = layout_of(x, groups);
    int64_t count = lab_numel(x);

    if (!LAB__READABLE(out, x))
        return;
    for (int64_t i = 0; i < count; i++) {
        int64_t set = set_of(&l, i), channel = channel_of(&l, i);
        float y = (lab__floats(x)[i] - lab__floats(mean)[set]) *
                  lab__floats(rstd)[set];

        if (w != NULL)
            y *= lab__floats(w)[channel];
        if (b != NULL)
            y += lab__floats(b)[channel];
        lab__floats(out)[i] = y;
    }
}

/* ---- backward ----------------------------------------------------------- */

struct back {
    struct layout l;
    const float *grad, *x, *mean, *rstd, *w; /* w may be NULL */
    float *to;
    bool live;
};

static double weighed(const struct back *b, int64_t at)
{
    double grad = (double)b->grad[at];

    return b->w == NULL ? grad : grad * (double)b->w[channel_of(&b->l, at)];
}

static void set_back(void *context, int64_t set)
{
    const struct back *b = context;
    double mean = (double)b->mean[set], rstd = (double)b->rstd[set];
    double sum = 0, along = 0, count = (double)b->l.in_set;

    for (int64_t k = 0; b->live && k < b->l.in_set; k++) {
        int64_t at = place_of(&b->l, set, k);

        sum += weighed(b, at);
        along += weighed(b, at) * ((double)b->x[at] - mean) * rstd;
    }
    for (int64_t k = 0; k < b->l.in_set; k++) {
        int64_t at = place_of(&b->l, set, k);
        double away = ((double)b->x[at] - mean) * rstd;

        b->to[at] = (float)(rstd * (weighed(b, at) - sum / count -
                                    away * along / count));
    }
}

static void affine_back(const struct back *b, lab_tensor *grad_w,
                        lab_tensor *grad_b, int64_t channel)
{
    double along = 0, sum = 0;

    for (int64_t k = 0; k < b->l.images * b->l.area; k++) {
        int64_t at = (k / b->l.area * b->l.channels + channel) * b->l.area +
                     k % b->l.area;
        int64_t set = set_of(&b->l, at);

        sum += (double)b->grad[at];
        along += (double)b->grad[at] *
                 ((double)b->x[at] - (double)b->mean[set]) *
                 (double)b->rstd[set];
    }
    if (grad_w != NULL)
        lab__floats(grad_w)[channel] = (float)along;
    if (grad_b != NULL)
        lab__floats(grad_b)[channel] = (float)sum;
}

void lab__normalize_backward(const struct lab__normalize_grads *to,
                             const lab_tensor *grad, const lab_tensor *x,
                             int64_t groups, const lab_tensor *mean,
                             const lab_tensor *rstd, const lab_tensor *w,
                             bool live)
{
    struct back b = {.l = layout_of(x, groups),
                     .grad = lab__floats(grad),
                     .x = lab__floats(x),
                     .mean = lab__floats(mean),
                     .rstd = lab__floats(rstd),
                     .w = lab__floats(w),
                     .to = lab__floats(to->x),
                     .live = live};

    if (!LAB__READABLE(grad, x))
        return;
    if (to->x != NULL)
        lab__parallel_each(x->storage->session, b.l.sets, 1, set_back, &b);
    for (int64_t c = 0; (to->w != NULL || to->b != NULL) && c < b.l.channels;
         c++)
        affine_back(&b, to->w, to->b, c);
}
