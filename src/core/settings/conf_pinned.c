/* conf_pinned.c - keys for pinned host memory. */
#include "base/bits.h"
#include "core/settings/conf_keys.h"

enum { CONF_MAX_THREADS = 128 };

/* How memory is registered, and which thread polls events, has no counterpart
 * here: values are checked, to detect mistakes, and then ignored. */
static larder_result conf_pinned_parse_unused_bool(struct conf *conf,
                                                   struct reader *r)
{
    bool ignored;

    (void)conf;
    return larder__read_bool(r, &ignored);
}

static larder_result parse_unused_threads(struct conf *conf, struct reader *r)
{
    uint64_t n;
    larder_result result = larder__read_size_t(r, conf->rules->numbers_are_int,
                                               "a power of 2 up to 128", &n);

    if (result != LARDER_OK)
        return result;
    if (!bits_is_pow2(n))
        return larder__fail(LARDER_ERR_CONF,
                            "Number of register threads has to be power of 2: "
                            "%s is %s",
                            r->key, r->word);
    if (n > CONF_MAX_THREADS)
        return larder__fail(LARDER_ERR_CONF,
                            "Number of register threads should be less than "
                            "or equal to %d: %s is %s",
                            CONF_MAX_THREADS, r->key, r->word);
    return LARDER_OK;
}

static larder_result parse_reserve(struct conf *conf, struct reader *r)
{
    larder_result result = larder__read_mb(r, &conf->pinned_reserve_bytes);

    if (result == LARDER_OK && conf->pinned_reserve_bytes == 0)
        return larder__fail(LARDER_ERR_CONF,
                            "%s: 0 is not accepted: has to be greater than 0",
                            r->key);
    return result;
}

static larder_result parse_round_max(struct conf *conf, struct reader *r)
{
    return larder__read_mb(r, &conf->pinned_round_max_bytes);
}

static larder_result parse_cached_max(struct conf *conf, struct reader *r)
{
    return larder__read_mb(r, &conf->pinned_cached_max_bytes);
}

static larder_result conf_pinned_parse_limit(struct conf *conf,
                                             struct reader *r)
{
    larder_result result = larder__read_size(r, &conf->pinned_limit_bytes);

    if (result == LARDER_OK && conf->pinned_limit_bytes == 0)
        return larder__reader_fail(r, "a size above 0");
    return result;
}

const struct conf_key larder__conf_pinned_keys[] = {
    {"pinned_use_cuda_host_register", conf_pinned_parse_unused_bool},
    {"pinned_use_hip_host_register", conf_pinned_parse_unused_bool},
    {"pinned_use_background_threads", conf_pinned_parse_unused_bool},
    {"pinned_free_catch_all", conf_pinned_parse_unused_bool},
    {"pinned_num_register_threads", parse_unused_threads},
    {"pinned_reserve_segment_size_mb", parse_reserve},
    {"pinned_max_round_threshold_mb", parse_round_max},
    {"pinned_max_cached_size_mb", parse_cached_max},
    {"pinned_limit", conf_pinned_parse_limit},
    {NULL, NULL},
};
