/* faults.c - injects one failure, or two of different kinds at a time; the
 * second can hit the code that undoes the first. */
#include "fault/faults.h"

bool fault_is_planned(const struct fault *f)
{
    return f->nth != 0;
}

void faults_plan(const struct faults *f, larder_device *dev)
{
    if (fault_is_planned(&f->one))
        fault_plan(&f->one, dev, f->one.nth);
    if (fault_is_planned(&f->two))
        fault_plan(&f->two, dev, f->two.nth);
}

void faults_off(const struct faults *f, larder_device *dev)
{
    if (fault_is_planned(&f->one))
        fault_off(&f->one, dev);
    if (fault_is_planned(&f->two))
        fault_off(&f->two, dev);
}

/* The plan has fewer refusals left. */
static bool host_has_struck(const struct fault *f)
{
    unsigned long left = 0;

    for (unsigned long i = 1; i < f->nth + f->times; i++) {
        void *ptr = larder__host_alloc(1, 1);

        left += ptr == NULL;
        larder__host_free(ptr);
    }
    return f->times == 0 || left < f->times;
}

static bool has_struck(const struct fault *f, larder_device *dev)
{
    larder_device_counters counters = {.size = sizeof counters};

    if (!fault_is_planned(f))
        return false;
    if (f->is_host)
        return host_has_struck(f);
    assert_ok(larder_device_get_counters(dev, &counters));
    return counters.failed[f->call] > 0;
}

struct struck faults_struck(const struct faults *f, larder_device *dev)
{
    struct struck struck;

    struck.one = has_struck(&f->one, dev);
    struck.two = has_struck(&f->two, dev);
    return struck;
}

bool faults_explain(const struct faults *f, struct struck struck,
                    larder_result r)
{
    if (r == LARDER_OK)
        return true;
    return (struck.one || struck.two) &&
           (r == LARDER_ERR_OUT_OF_MEMORY || r == f->one.with ||
            (struck.two && r == f->two.with));
}

void faults_describe(const struct faults *f, const char *conf)
{
    if (fault_is_planned(&f->one))
        fault_describe(&f->one, conf);
    if (fault_is_planned(&f->two))
        fault_describe(&f->two, conf);
}

unsigned long faults_sweep(larder_call one, unsigned long stride_one,
                           larder_call two, unsigned long stride_two,
                           faults_run *run, const void *scenario)
{
    struct faults f = {
        .one = {.call = one, .with = LARDER_ERR_DEVICE, .times = 1},
        .two = {.call = two, .with = LARDER_ERR_DEVICE},
    };
    unsigned long pairs = 0;

    for (f.one.nth = 1;; f.one.nth += stride_one) {
        struct struck struck = {.one = true, .two = true};

        f.two.nth = 0;
        if (!run(&f, scenario).one)
            return pairs;
        for (f.two.nth = 1; struck.two; f.two.nth += stride_two) {
            f.two.times = !f.two.times;
            struck = run(&f, scenario);
            pairs += struck.one && struck.two;
        }
    }
}
