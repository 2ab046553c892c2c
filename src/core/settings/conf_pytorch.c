/* conf_pytorch.c - PyTorch's keys for device memory. */
#include <float.h>
#include <string.h>

#include "base/bits.h"
#include "core/settings/conf_keys.h"

enum { CONF_MIN_LARGE_MB = 10 }; /* smaller requests must fit in a segment */

static larder_result parse_backend(struct conf *conf, struct reader *r)
{
    larder_result result = larder__reader_word(r);

    (void)conf;
    if (result != LARDER_OK)
        return result;
    if (strcmp(r->word, "native") == 0)
        return LARDER_OK;
    if (strcmp(r->word, "cudaMallocAsync") == 0)
        return larder__fail(LARDER_ERR_CONF,
                            "backend: cudaMallocAsync is the driver's own "
                            "allocator, which Larder does not model: expected "
                            "native");
    return larder__fail(LARDER_ERR_CONF,
                        "Unknown allocator backend, options are native and "
                        "cudaMallocAsync: backend is '%s'",
                        r->word);
}

static larder_result read_number(const struct conf *conf, struct reader *r,
                                 const char *accepted, uint64_t *out)
{
    return larder__read_size_t(r, conf->rules->numbers_are_int, accepted, out);
}

/* The lower bound depends on the release and on another setting, which may come
 * later (conf.c). */
static larder_result parse_bound_mb(struct conf *conf, struct reader *r)
{
    uint64_t mb;
    larder_result result = read_number(conf, r, r->row->accepted, &mb);

    if (result == LARDER_OK)
        *(uint64_t *)(void *)((char *)conf + r->row->at) = larder__mb_bytes(mb);
    return result;
}

static larder_result parse_large_segment(struct conf *conf, struct reader *r)
{
    uint64_t mb;
    larder_result result = read_number(conf, r, "a number of MiB > 10", &mb);

    if (result != LARDER_OK)
        return result;
    if (mb <= CONF_MIN_LARGE_MB)
        return larder__fail(LARDER_ERR_CONF,
                            "CachingAllocator option large_segment_size_mb "
                            "must be > %d MB: it is %s",
                            CONF_MIN_LARGE_MB, r->word);
    conf->large_segment_bytes = larder__mb_bytes(mb);
    return LARDER_OK;
}

static larder_result parse_divisions_value(const struct conf *conf,
                                           struct reader *r, uint32_t *out)
{
    uint64_t n;
    larder_result result =
        read_number(conf, r, "a power of 2, or 0 for none", &n);

    if (result != LARDER_OK)
        return result;
    if (n > UINT32_MAX || (n != 0 && !bits_is_pow2(n)))
        return larder__fail(LARDER_ERR_CONF,
                            "For roundups, the divisons has to be power of 2 "
                            "or 0 to disable roundup: %s is '%s'",
                            r->key, r->word);
    *out = (uint32_t)n;
    return LARDER_OK;
}

/* Read one "MB:N" of the list, or ">:N" for all classes from the last one on.
 * The first pair also applies to all smaller classes. */
static larder_result parse_divisions_pair(struct conf *conf, struct reader *r,
                                          int *last)
{
    uint64_t mb = 0;
    uint32_t n;
    larder_result result;
    bool rest = larder__reader_peek(r) == '>';

    if (rest)
        result = larder__reader_word(r);
    else
        result =
            larder__read_size_t(r, false, "a power of 2 (in MiB), or >", &mb);
    if (result != LARDER_OK)
        return result;
    if (rest ? strcmp(r->word, ">") != 0 : !bits_is_pow2(mb))
        return larder__fail(LARDER_ERR_CONF,
                            "For roundups, the intervals have to be power of "
                            "2: %s has '%s'",
                            r->key, r->word);
    if ((result = larder__reader_expect(r, ':')) != LARDER_OK ||
        (result = parse_divisions_value(conf, r, &n)) != LARDER_OK)
        return result;
    if (rest) {
        int from =
            (*last < 0 ? 0 : *last) + conf->rules->roundup_rest_is_exclusive;

        for (int i = from; i < CONF_SIZE_CLASSES; i++)
            conf->divisions[i] = n;
        return LARDER_OK;
    }
    int class = (int)bits_log2(mb);

    if (class >= CONF_SIZE_CLASSES)
        class = CONF_SIZE_CLASSES - 1;
    for (int i = 0; *last < 0 && i < class; i++)
        conf->divisions[i] = n;
    conf->divisions[class] = n;
    *last = class;
    return LARDER_OK;
}

/* Read "[", pairs with commas between and perhaps after them, and "]". */
static larder_result parse_divisions_list(struct conf *conf, struct reader *r)
{
    int last = -1;
    larder_result result = larder__reader_expect(r, '[');

    while (result == LARDER_OK && larder__reader_peek(r) != ']') {
        result = parse_divisions_pair(conf, r, &last);
        if (result != LARDER_OK || larder__reader_peek(r) != ',')
            break;
        r->at++;
    }
    return result == LARDER_OK ? larder__reader_expect(r, ']') : result;
}

static larder_result parse_divisions(struct conf *conf, struct reader *r)
{
    uint32_t n;
    larder_result result;

    if (larder__reader_peek(r) == '[')
        return parse_divisions_list(conf, r);
    result = parse_divisions_value(conf, r, &n);
    if (result == LARDER_OK && n == 0) /* only in a list it means none */
        return larder__reader_fail(r, "a power of 2");
    for (int i = 0; result == LARDER_OK && i < CONF_SIZE_CLASSES; i++)
        conf->divisions[i] = n;
    return result;
}

static larder_result parse_gc_threshold(struct conf *conf, struct reader *r)
{
    double value;
    larder_result result =
        larder__read_real(r, false, "a number between 0.0 and 1.0", &value);

    if (result != LARDER_OK)
        return result;
    if (!(value > 0 && value < 1))
        return larder__fail(LARDER_ERR_CONF,
                            "garbage_collect_threshold too %s, set it "
                            "0.0~1.0: garbage_collection_threshold is %s",
                            value <= 0 ? "small" : "big", r->word);
    conf->gc_threshold = value;
    return LARDER_OK;
}

static larder_result parse_fraction(struct conf *conf, struct reader *r)
{
    double value;
    larder_result result =
        larder__read_real(r, false, "a number in [0.0, 1.0]", &value);

    if (result != LARDER_OK)
        return result;
    if (!(value >= 0 && value <= 1))
        return larder__fail(LARDER_ERR_CONF,
                            "per_process_memory_fraction is invalid, set it "
                            "in [0.0, 1.0]: it is %s",
                            r->word);
    conf->fraction = value;
    conf->fraction_given = true;
    return LARDER_OK;
}

/* Read "0.5" of the device, or "40G". */
static larder_result read_reserve(struct reader *r, double *value, bool *is_gib)
{
    static const char accepted[] =
        "a number above 0, or one of GiB such as 40G";
    size_t length;
    larder_result result = larder__reader_word(r);

    if (result != LARDER_OK)
        return result;
    length = strlen(r->word);
    *is_gib = length > 0 && (r->word[length - 1] | 0x20) == 'g';
    if (*is_gib)
        r->word[length - 1] = '\0';
    if (!larder__word_real(r, value) || !(*value > 0 && *value <= DBL_MAX))
        return larder__reader_fail(r, accepted);
    return LARDER_OK;
}

static larder_result parse_reserve_addresses(struct conf *conf,
                                             struct reader *r)
{
    return read_reserve(r, &conf->reserve, &conf->reserve_is_gib);
}

/* Only a call of PyTorch's gives a stream its class: values are checked. */
static larder_result parse_reserve_classes(struct conf *conf, struct reader *r)
{
    larder_result result = larder__reader_expect(r, '[');
    double value;
    bool is_gib;

    (void)conf;
    while (result == LARDER_OK && larder__reader_peek(r) != ']') {
        result = larder__reader_word(r);
        if (result == LARDER_OK && r->word[0] == '\0')
            result = larder__reader_fail(r, "the name of a class");
        if (result == LARDER_OK)
            result = larder__reader_expect(r, ':');
        if (result == LARDER_OK)
            result = read_reserve(r, &value, &is_gib);
        if (result != LARDER_OK || larder__reader_peek(r) != ',')
            break;
        r->at++;
    }
    return result == LARDER_OK ? larder__reader_expect(r, ']') : result;
}

/* What PyTorch does with it is not known well enough to imitate. */
static larder_result parse_capture_reuse(struct conf *conf, struct reader *r)
{
    bool on;
    larder_result result = larder__read_bool(r, &on);

    (void)conf;
    if (result == LARDER_OK && on)
        return larder__fail(LARDER_ERR_CONF,
                            "%s: True is not supported: expected False",
                            r->key);
    return result;
}

static larder_result parse_release(struct conf *conf, struct reader *r)
{
    const struct pytorch_rules *rules;
    larder_result result = larder__reader_word(r);

    if (result != LARDER_OK)
        return result;
    rules = larder__pytorch_rules(r->word);
    if (rules == NULL)
        return larder__reader_fail(r, PYTORCH_EXPECTED);
    conf->rules = rules;
    return LARDER_OK;
}

const struct conf_key larder__conf_pytorch_keys[] = {
    {"pytorch", .parse = parse_release},
    {"backend", .parse = parse_backend},
    {"max_split_size_mb", .parse = parse_bound_mb,
     .at = CONF_AT(max_split_bytes), .accepted = "a number of MiB > 20"},
    {"max_non_split_rounding_mb", .parse = parse_bound_mb,
     .at = CONF_AT(max_non_split_rounding_bytes), .given = CONF_AT(slack_given),
     .accepted = "a number of MiB >= 20"},
    {"large_segment_size_mb", .parse = parse_large_segment},
    {"roundup_power2_divisions", .parse = parse_divisions},
    {"garbage_collection_threshold", .parse = parse_gc_threshold},
    {"per_process_memory_fraction", .parse = parse_fraction},
    {"expandable_segments", .parse = larder__parse_bool,
     .at = CONF_AT(expandable_segments)},
    {"expandable_segments_reserve", .parse = parse_reserve_addresses},
    {"expandable_segments_reserve_by_class", .parse = parse_reserve_classes},
    {"throw_on_cudamalloc_oom", .parse = larder__parse_bool,
     .at = CONF_AT(throw_on_oom)},
    {"graph_capture_record_stream_reuse", .parse = parse_capture_reuse},
    /* Locking has no effect here: values are checked, to detect mistakes. */
    {"release_lock_on_cudamalloc", .parse = larder__parse_unused},
    {"release_lock_on_hipmalloc", .parse = larder__parse_unused},
    {.name = NULL},
};
