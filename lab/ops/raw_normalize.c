/* raw_normalize.c - normalisation of channels and groups of channels, not
 * recorded. */
#include <math.h>

#include "ops/op.h"

static larder_result affine_check(const lab_tensor *x, const lab_tensor *t,
                                  const char *what)
{
    LAB__TRY(lab__nn_check_part("norm", x, t));
    if (t == NULL || (t->ndim == 1 && t->sizes[0] == x->sizes[1]))
        return LARDER_OK;
    return lab__invalid(
        "norm: the %s must have an element for each of %lld channels", what,
        (long long)x->sizes[1]);
}

static larder_result input_check(const lab_tensor *x, int64_t groups)
{
    LAB__TRY(lab__check_float("norm", x));
    if (x->ndim < 2)
        return lab__invalid("norm: the input must have images and channels, it "
                            "has %d dimensions",
                            x->ndim);
    if (groups < 0 || (groups > 0 && x->sizes[1] % groups != 0))
        return lab__invalid(
            "norm: %lld channels cannot be divided into %lld groups",
            (long long)x->sizes[1], (long long)groups);
    if (lab_numel(x) == 0)
        return lab__invalid("norm: the tensor has no elements");
    return LARDER_OK;
}

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

/* The offset of element k of a channel. */
static int64_t in_channel(const struct layout *l, int64_t channel, int64_t k)
{
    return (k / l->area * l->channels + channel) * l->area + k % l->area;
}

/* The offset of element k of a set. */
static int64_t place_of(const struct layout *l, int64_t set, int64_t k)
{
    if (l->groups == 0)
        return in_channel(l, set, k);
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

/* Statistics are float32 even if the input is narrower. */
static larder_result moments_make(const lab_tensor *x, const lab_tensor *dense,
                                  int64_t groups, double eps, lab_tensor **out,
                                  lab_tensor **rstd)
{
    int64_t sizes[2] = {groups == 0 ? x->sizes[1] : x->sizes[0], groups};
    int ndim = groups == 0 ? 1 : 2;
    lab_dtype dtype = x->dtype == LAB_FLOAT64 ? LAB_FLOAT64 : LAB_FLOAT32;
    lab *l = x->storage->session;
    lab_place place = x->storage->place;
    LAB__OWNED lab_tensor *mean = NULL;
    struct moments m;

    LAB__TRY(lab__tensor_new(l, dtype, place, ndim, sizes, &mean));
    LAB__TRY(lab__tensor_new(l, dtype, place, ndim, sizes, rstd));
    m = (struct moments){layout_of(x, groups), lab__floats(dense),
                         lab__floats(mean), lab__floats(*rstd), eps};
    if (lab__readable(x))
        lab__parallel_each(l, m.l.sets, 1, set_moments, &m);
    return lab__give(&mean, out);
}

static void normalize(lab_tensor *out, const lab_tensor *x, int64_t groups,
                      const lab_tensor *mean, const lab_tensor *rstd,
                      const lab_tensor *w, const lab_tensor *b)
{
    const float *from = lab__floats(x), *middle = lab__floats(mean);
    const float *scale = lab__floats(rstd);
    const float *weight = lab__floats(w), *bias = lab__floats(b);
    struct layout l = layout_of(x, groups);
    int64_t count = lab_numel(x);
    float *to = lab__floats(out);

    if (!LAB__READABLE(out, x))
        return;
    for (int64_t i = 0; i < count; i++) {
        int64_t set = set_of(&l, i), channel = channel_of(&l, i);
        float y = (from[i] - middle[set]) * scale[set];

        if (weight != NULL)
            y *= weight[channel];
        if (bias != NULL)
            y += bias[channel];
        to[i] = y;
    }
}

larder_result lab_raw_normalize(lab_tensor *x, int64_t groups, lab_tensor *w,
                                lab_tensor *b, double eps, lab_tensor **mean,
                                lab_tensor **rstd, lab_tensor **out)
{
    LAB__OWNED_DENSE struct lab__dense d = {{NULL}};
    LAB__OWNED lab_tensor *made = NULL;

    LAB__TRY(input_check(x, groups));
    LAB__TRY(affine_check(x, w, "weight"));
    LAB__TRY(affine_check(x, b, "bias"));
    LAB__TRY(lab__dense_all(3, (lab_tensor *[]){x, w, b}, &d));
    LAB__TRY(lab__tensor_like(x, &made));
    if (*mean == NULL)
        LAB__TRY(moments_make(x, d.t[0], groups, eps, mean, rstd));
    normalize(made, d.t[0], groups, *mean, *rstd, d.t[1], d.t[2]);
    return lab__done(&made, out);
}

/* ---- backward ----------------------------------------------------------- */

struct back {
    struct layout l;
    const float *grad, *x, *mean, *rstd, *w; /* w may be NULL */
    float *to_x, *to_w, *to_b;               /* NULL: not needed */
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

        b->to_x[at] = (float)(rstd * (weighed(b, at) - sum / count -
                                      away * along / count));
    }
}

static void affine_back(const struct back *b, int64_t channel)
{
    double along = 0, sum = 0;

    for (int64_t k = 0; k < b->l.images * b->l.area; k++) {
        int64_t at = in_channel(&b->l, channel, k);
        int64_t set = set_of(&b->l, at);

        sum += (double)b->grad[at];
        along += (double)b->grad[at] *
                 ((double)b->x[at] - (double)b->mean[set]) *
                 (double)b->rstd[set];
    }
    if (b->to_w != NULL)
        b->to_w[channel] = (float)along;
    if (b->to_b != NULL)
        b->to_b[channel] = (float)sum;
}

static void gradients(struct back *b, const lab_tensor *x)
{
    if (b->to_x != NULL)
        lab__parallel_each(x->storage->session, b->l.sets, 1, set_back, b);
    for (int64_t c = 0;
         (b->to_w != NULL || b->to_b != NULL) && c < b->l.channels; c++)
        affine_back(b, c);
}

larder_result lab_raw_normalize_backward(lab_tensor *grad, lab_tensor *x,
                                         int64_t groups, lab_tensor *w,
                                         lab_tensor *mean, lab_tensor *rstd,
                                         bool live, lab_tensor **grad_x,
                                         lab_tensor **grad_w,
                                         lab_tensor **grad_b)
{
    const lab_tensor *affine = w != NULL ? w : x;
    LAB__OWNED lab_tensor *to_x = NULL, *to_w = NULL, *to_b = NULL;
    LAB__OWNED_DENSE struct lab__dense d = {{NULL}};

    LAB__TRY(input_check(x, groups));
    LAB__TRY(lab__dense_all(3, (lab_tensor *[]){grad, x, w}, &d));
    if (grad_x != NULL)
        LAB__TRY(lab__tensor_like(x, &to_x));
    if (grad_w != NULL)
        LAB__TRY(lab__tensor_of(affine, 1, &x->sizes[1], &to_w));
    if (grad_b != NULL)
        LAB__TRY(lab__tensor_of(affine, 1, &x->sizes[1], &to_b));
    if (LAB__READABLE(grad, x))
        gradients(&(struct back){.l = layout_of(x, groups),
                                 .grad = lab__floats(d.t[0]),
                                 .x = lab__floats(d.t[1]),
                                 .mean = lab__floats(mean),
                                 .rstd = lab__floats(rstd),
                                 .w = lab__floats(d.t[2]),
                                 .to_x = lab__floats(to_x),
                                 .to_w = lab__floats(to_w),
                                 .to_b = lab__floats(to_b),
                                 .live = live},
                  x);
    if (grad_x != NULL)
        lab__done(&to_x, grad_x);
    if (grad_w != NULL)
        lab__done(&to_w, grad_w);
    if (grad_b != NULL)
        lab__done(&to_b, grad_b);
    return LARDER_OK;
}
