/* conf_pinned.c - keys for pinned host memory. */
#include "base/bits.h"
#include "core/settings/conf_keys.h"

enum { CONF_MAX_THREADS = 128 };

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
    larder_result result = larder__parse_mb(conf, r);

    if (result == LARDER_OK && conf->pinned_reserve_bytes == 0)
        return larder__fail(LARDER_ERR_CONF,
                            "%s: 0 is not accepted: has to be greater than 0",
                            r->key);
    return result;
}

/* How memory is registered, and which thread polls events, has no counterpart
 * here: values are checked, to detect mistakes, and then ignored. */
const struct conf_key larder__conf_pinned_keys[] = {
    {"pinned_use_cuda_host_register", .parse = larder__parse_unused},
    {"pinned_use_hip_host_register", .parse = larder__parse_unused},
    {"pinned_use_background_threads", .parse = larder__parse_unused},
    {"pinned_free_catch_all", .parse = larder__parse_unused},
    {"pinned_num_register_threads", .parse = parse_unused_threads},
    {"pinned_reserve_segment_size_mb", .parse = parse_reserve,
     .at = CONF_AT(pinned_reserve_bytes)},
    {"pinned_max_round_threshold_mb", .parse = larder__parse_mb,
     .at = CONF_AT(pinned_round_max_bytes)},
    {"pinned_max_cached_size_mb", .parse = larder__parse_mb,
     .at = CONF_AT(pinned_cached_max_bytes)},
    {"pinned_limit", .parse = larder__parse_size,
     .at = CONF_AT(pinned_limit_bytes), .least = 1,
     .accepted = "a size above 0"},
    {.name = NULL},
};
