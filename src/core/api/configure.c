/* configure.c - the settings of an allocator, when it is created and later. */
#include "base/fail.h"
#include "core/api/lifecycle.h"
#include "core/entry/handle.h"
#include "core/history/recording.h"
#include "core/peers/peers.h"
#include "core/state/paged.h"
#include "core/trim/trim.h"

static void apply_limits(struct allocator *a)
{
    a->allowed_bytes = a->conf.limit_bytes;
    if (a->fraction_is_set) {
        uint64_t part = (uint64_t)(a->fraction * (double)a->props.total_bytes);

        if (part < a->allowed_bytes)
            a->allowed_bytes = part;
    }
}

/* Whether the device can map the pages of expandable segments. */
static bool has_pages(const struct allocator *a)
{
    return larder__device_has_vmm(a->device) &&
           a->props.granularity_bytes != 0 &&
           SMALL_SEGMENT_BYTES % a->props.granularity_bytes == 0;
}

/* The history that the settings just parsed ask for; NULL: none. */
static larder_result make_history(const struct allocator *a,
                                  struct history **out)
{
    larder_history_options asked;
    larder_history_options whole;
    larder_result r;

    *out = NULL;
    if (!a->conf.history_given || a->conf.history_events == 0)
        return LARDER_OK;
    larder_history_options_init(&asked);
    asked.max_events = a->conf.history_events;
    asked.stacks = (larder_stacks)a->conf.history_stacks;
    r = larder__history_options(&asked, &whole);
    if (r != LARDER_OK)
        return r;
    *out = larder__history_make(&whole);
    return *out != NULL ? LARDER_OK
                        : larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
}

static void use_history(struct allocator *a, struct history *made)
{
    if (a->conf.history_given)
        larder__history_use(a, made);
}

larder_result larder__configure_history(struct allocator *a)
{
    struct history *made;
    larder_result r = make_history(a, &made);

    if (r == LARDER_OK)
        use_history(a, made);
    return r;
}

/* Whether sizes are rounded only to units and no count depends on a setting. */
static bool may_be_fast(const struct conf *conf)
{
    for (int i = 0; i < CONF_SIZE_CLASSES; i++) {
        if (conf->divisions[i] > 1)
            return false;
    }
    return conf->max_split_bytes == CONF_UNLIMITED &&
           conf->preallocate_bytes == 0;
}

static bool is_creating(const struct allocator *a)
{
    return a->small_max_bytes == 0;
}

static void tell_max_split(struct allocator *a)
{
    if (is_creating(a) || !a->policy->is_exact)
        a->told_max_split_bytes = a->conf.max_split_bytes == CONF_UNLIMITED
                                      ? -1
                                      : (int64_t)a->conf.max_split_bytes;
}

/* Update what is derived from the settings, except the history. */
static void apply_conf(struct allocator *a)
{
    apply_limits(a);
    tell_max_split(a);
    a->is_paged = a->policy->is_paged && a->has_pages;
    a->is_fast = a->is_paged && may_be_fast(&a->conf);
    larder__paged_reset(a);
}

static void set_fraction(struct allocator *a, double fraction)
{
    a->fraction = fraction;
    a->fraction_is_set = fraction < 1 || !a->conf.rules->whole_is_no_limit;
}

/* ERR_CONF if an allocator that exists cannot change to these settings. */
static larder_result check_fixed(const struct allocator *a,
                                 const struct conf *next)
{
    const char *key;

    if (next->rules != a->conf.rules)
        return larder__fail(LARDER_ERR_CONF,
                            "pytorch: the release of an allocator cannot "
                            "change: it is %s",
                            a->conf.rules->version);
    /* Allocators of pinned memory ignore the others. */
    key = a->policy->adjust == NULL ? larder__conf_fixed(&a->conf, next) : NULL;
    return key == NULL
               ? LARDER_OK
               : larder__fail(LARDER_ERR_CONF,
                              "%s: fixed when the allocator was created "
                              "and cannot change",
                              key);
}

/* Whether per_process_memory_fraction in the settings just parsed is a limit.
 * PyTorch reads it when it starts, and never again. */
static bool fraction_counts(const struct allocator *a)
{
    return is_creating(a) || !a->policy->is_exact ||
           !a->conf.rules->fraction_at_start;
}

larder_result larder__configure(struct allocator *a, const char *text)
{
    struct conf next = a->conf;
    larder_result r = larder__conf_parse(&next, text);

    if (r != LARDER_OK)
        return r;
    if (!is_creating(a) && (r = check_fixed(a, &next)) != LARDER_OK)
        return r;
    a->conf = next;
    if (a->policy->adjust != NULL)
        a->policy->adjust(&a->conf);
    a->has_pages = has_pages(a);
    if (!a->has_pages) /* PyTorch warns and continues */
        a->conf.expandable_segments = false;
    if (a->conf.fraction_given && fraction_counts(a))
        set_fraction(a, a->conf.fraction);
    apply_conf(a);
    return LARDER_OK;
}

/* The same, with the thread and the history that the settings ask for: all or
 * nothing. */
static larder_result configure_whole(struct allocator *a, const char *text)
{
    const struct conf conf = a->conf;
    const double fraction = a->fraction;
    const bool fraction_is_set = a->fraction_is_set;
    struct history *made = NULL;
    larder_result r = larder__configure(a, text);

    if (r != LARDER_OK)
        return r;
    r = larder__trimmer_set(a);
    if (r == LARDER_OK)
        r = make_history(a, &made);
    if (r == LARDER_OK)
        r = larder__peers_configure(a);
    if (r == LARDER_OK) {
        use_history(a, made);
        return r;
    }
    larder__history_drop(made);
    a->conf = conf;
    a->fraction = fraction;
    a->fraction_is_set = fraction_is_set;
    apply_conf(a);
    if (a->trim.thread != NULL)
        (void)larder__trimmer_set(a); /* tells the thread that exists already */
    return r;
}

larder_result larder_configure(larder_allocator *handle, const char *conf)
{
    struct allocator *a;
    larder_result r;

    if (conf == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    r = larder__handle_lock(handle, &a);
    if (r != LARDER_OK)
        return r;
    return larder__handle_end(a, configure_whole(a, conf));
}

larder_result larder_set_memory_fraction(larder_allocator *handle,
                                         double fraction)
{
    struct allocator *a;
    larder_result r;

    if (!(fraction >= 0 && fraction <= 1))
        return larder__fail(LARDER_ERR_INVALID,
                            "Invalid fraction value: %g. Allowed range: 0~1",
                            fraction);
    r = larder__handle_lock(handle, &a);
    if (r != LARDER_OK)
        return r;
    set_fraction(a, fraction);
    apply_limits(a);
    larder__paged_reset(a);
    return larder__handle_end(a, LARDER_OK);
}

larder_result larder_memory_fraction(larder_allocator *handle, double *out)
{
    struct allocator *a;
    larder_result r;

    if (out == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    r = larder__handle_lock(handle, &a);
    if (r != LARDER_OK)
        return r;
    *out = a->fraction_is_set ? a->fraction : 1;
    return larder__handle_end(a, LARDER_OK);
}
