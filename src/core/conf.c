#include "core/conf.h"

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/fail.h"

enum {
    CONF_WORD_MAX = 64,     /* longest key or value */
    CONF_LARGE_MB = 20,     /* PyTorch's segment for requests below 10 MiB */
    CONF_MIN_LARGE_MB = 10, /* those requests must fit in it */
    CONF_MAX_THREADS = 128,
    CONF_DIGITS_MAX = 15 /* of a fraction: all that a double holds */
};

/* ---- reading ------------------------------------------------------------ */

/* Where the parser stands, and the key whose value it reads. */
struct reader {
    const char *at;
    const char *key;
    char word[CONF_WORD_MAX + 1];
};

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Blanks are dropped wherever they stand, even within a word. */
static char reader_peek(struct reader *r)
{
    while (is_blank(*r->at))
        r->at++;
    return *r->at;
}

static bool is_mark(char c)
{
    return c == '\0' || c == ',' || c == ':' || c == '[' || c == ']';
}

static larder_result conf_fail(const struct reader *r, const char *accepted)
{
    return larder__fail(LARDER_ERR_CONF,
                        "%s: '%s' is not accepted: expected %s", r->key,
                        r->word, accepted);
}

/* Read a key or a value into r->word; empty at a mark. */
static larder_result reader_word(struct reader *r)
{
    size_t n = 0;

    for (char c = reader_peek(r); !is_mark(c); c = reader_peek(r)) {
        if (n == CONF_WORD_MAX)
            return larder__fail(LARDER_ERR_CONF,
                                "a word longer than %d characters: '%.20s...'",
                                CONF_WORD_MAX, r->word);
        r->word[n++] = c;
        r->word[n] = '\0';
        r->at++;
    }
    r->word[n] = '\0';
    return LARDER_OK;
}

static larder_result reader_expect(struct reader *r, char mark)
{
    if (reader_peek(r) != mark) {
        if (*r->at == '\0')
            return larder__fail(LARDER_ERR_CONF,
                                "%s: expected '%c', found the end", r->key,
                                mark);
        return larder__fail(LARDER_ERR_CONF, "%s: expected '%c' before '%.20s'",
                            r->key, mark, r->at);
    }
    r->at++;
    return LARDER_OK;
}

static larder_result read_number(struct reader *r, const char *accepted,
                                 uint64_t *out)
{
    char *end;
    larder_result result = reader_word(r);

    if (result != LARDER_OK)
        return result;
    if (r->word[0] < '0' || r->word[0] > '9')
        return conf_fail(r, accepted);
    *out = strtoull(r->word, &end, 10);
    /* MiB counts become bytes: more would not fit. */
    if (*end != '\0' || *out > UINT64_MAX >> 21)
        return conf_fail(r, accepted);
    return LARDER_OK;
}

/* Read "0.85".  strtod() would want a comma in some locales. */
static bool parse_decimal(const char *text, double *out)
{
    bool negative = *text == '-';
    const char *p = text + negative;
    uint64_t digits = 0;
    uint64_t scale = 1;
    bool point = false;
    int count = 0;

    for (; (*p >= '0' && *p <= '9') || (*p == '.' && !point); p++) {
        if (*p == '.') {
            point = true;
        } else if (++count <= CONF_DIGITS_MAX) {
            digits = digits * 10 + (uint64_t)(*p - '0');
            scale *= point ? 10 : 1;
        } else if (!point) {
            return false;
        }
    }
    *out = (double)digits / (double)scale * (negative ? -1 : 1);
    return *p == '\0' && count > 0;
}

static larder_result read_real(struct reader *r, const char *accepted,
                               double *out)
{
    larder_result result = reader_word(r);

    if (result != LARDER_OK)
        return result;
    return parse_decimal(r->word, out) ? LARDER_OK : conf_fail(r, accepted);
}

static larder_result read_bool(struct reader *r, bool *out)
{
    larder_result result = reader_word(r);

    if (result != LARDER_OK)
        return result;
    if (strcmp(r->word, "True") != 0 && strcmp(r->word, "False") != 0)
        return larder__fail(LARDER_ERR_CONF,
                            "Expected a single True/False argument for %s, "
                            "but got '%s'",
                            r->key, r->word);
    *out = r->word[0] == 'T';
    return LARDER_OK;
}

static larder_result read_size(struct reader *r, uint64_t *out)
{
    larder_result result = reader_word(r);

    if (result != LARDER_OK)
        return result;
    if (larder_parse_size(r->word, out) != LARDER_OK)
        return conf_fail(r, "a size such as 512MiB or 2g");
    return LARDER_OK;
}

/* ---- keys --------------------------------------------------------------- */

typedef larder_result conf_parser(struct conf *conf, struct reader *r);

static larder_result parse_backend(struct conf *conf, struct reader *r)
{
    larder_result result = reader_word(r);

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

static larder_result parse_max_split(struct conf *conf, struct reader *r)
{
    uint64_t mb;
    larder_result result = read_number(r, "a number of MiB > 20", &mb);

    if (result != LARDER_OK)
        return result;
    if (mb <= CONF_LARGE_MB)
        return larder__fail(LARDER_ERR_CONF,
                            "CachingAllocator option max_split_size_mb too "
                            "small, must be > %d: it is %s",
                            CONF_LARGE_MB, r->word);
    conf->max_split_bytes = mb * LARDER_MIB;
    return LARDER_OK;
}

static larder_result parse_max_non_split(struct conf *conf, struct reader *r)
{
    uint64_t mb;
    larder_result result = read_number(r, "a number of MiB >= 20", &mb);

    if (result != LARDER_OK)
        return result;
    if (mb < CONF_LARGE_MB)
        return larder__fail(LARDER_ERR_CONF,
                            "CachingAllocator option max_non_split_rounding_mb "
                            "too small, must be >= %d: it is %s",
                            CONF_LARGE_MB, r->word);
    conf->max_non_split_rounding_bytes = mb * LARDER_MIB;
    return LARDER_OK;
}

static larder_result parse_large_segment(struct conf *conf, struct reader *r)
{
    uint64_t mb;
    larder_result result = read_number(r, "an even number of MiB > 10", &mb);

    if (result != LARDER_OK)
        return result;
    if (mb <= CONF_MIN_LARGE_MB)
        return larder__fail(LARDER_ERR_CONF,
                            "CachingAllocator option large_segment_size_mb "
                            "must be > %d MB: it is %s",
                            CONF_MIN_LARGE_MB, r->word);
    if (mb % 2 != 0) /* pages come in multiples of 2 MiB */
        return conf_fail(r, "an even number of MiB > 10");
    conf->large_segment_bytes = mb * LARDER_MIB;
    return LARDER_OK;
}

static larder_result parse_divisions_value(struct reader *r, uint32_t *out)
{
    uint64_t n;
    larder_result result = read_number(r, "a power of 2, or 0 for none", &n);

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

/* One "MB:N" of the list, or ">:N" for all from the last one on.  The first
 * also stands for every smaller class. */
static larder_result parse_divisions_pair(struct conf *conf, struct reader *r,
                                          int *last)
{
    uint64_t mb = 0;
    uint32_t n;
    larder_result result;
    bool rest = reader_peek(r) == '>';

    if (rest)
        result = reader_word(r);
    else
        result = read_number(r, "a power of 2 (in MiB), or >", &mb);
    if (result != LARDER_OK)
        return result;
    if (rest ? strcmp(r->word, ">") != 0 : !bits_is_pow2(mb))
        return larder__fail(LARDER_ERR_CONF,
                            "For roundups, the intervals have to be power of "
                            "2: %s has '%s'",
                            r->key, r->word);
    if ((result = reader_expect(r, ':')) != LARDER_OK ||
        (result = parse_divisions_value(r, &n)) != LARDER_OK)
        return result;
    if (rest) {
        for (int i = *last < 0 ? 0 : *last; i < CONF_SIZE_CLASSES; i++)
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

static larder_result parse_divisions(struct conf *conf, struct reader *r)
{
    int last = -1;
    uint32_t n;
    larder_result result;

    if (reader_peek(r) != '[') {
        result = parse_divisions_value(r, &n);
        for (int i = 0; result == LARDER_OK && i < CONF_SIZE_CLASSES; i++)
            conf->divisions[i] = n;
        return result;
    }
    do {
        r->at++; /* the bracket, or the comma between two pairs */
        result = parse_divisions_pair(conf, r, &last);
        if (result != LARDER_OK)
            return result;
    } while (reader_peek(r) == ',');
    return reader_expect(r, ']');
}

static larder_result parse_gc_threshold(struct conf *conf, struct reader *r)
{
    double value;
    larder_result result = read_real(r, "a number between 0.0 and 1.0", &value);

    if (result != LARDER_OK)
        return result;
    if (value <= 0 || value >= 1)
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
    larder_result result = read_real(r, "a number in [0.0, 1.0]", &value);

    if (result != LARDER_OK)
        return result;
    if (value < 0 || value > 1)
        return larder__fail(LARDER_ERR_CONF,
                            "per_process_memory_fraction is invalid, set it "
                            "in [0.0, 1.0]: it is %s",
                            r->word);
    conf->fraction = value;
    conf->fraction_given = true;
    return LARDER_OK;
}

static larder_result parse_expandable(struct conf *conf, struct reader *r)
{
    return read_bool(r, &conf->expandable_segments);
}

static larder_result parse_throw_on_oom(struct conf *conf, struct reader *r)
{
    return read_bool(r, &conf->throw_on_oom);
}

/* What PyTorch does with it is not known well enough to do the same. */
static larder_result parse_capture_reuse(struct conf *conf, struct reader *r)
{
    bool on;
    larder_result result = read_bool(r, &on);

    (void)conf;
    if (result == LARDER_OK && on)
        return larder__fail(LARDER_ERR_CONF,
                            "%s: True is not supported: expected False",
                            r->key);
    return result;
}

/* Settings of PyTorch's pinned memory and locking, which have no effect on
 * device memory: checked, so that a mistake is found, then left. */
static larder_result parse_unused_bool(struct conf *conf, struct reader *r)
{
    bool ignored;

    (void)conf;
    return read_bool(r, &ignored);
}

static larder_result parse_unused_mb(struct conf *conf, struct reader *r)
{
    uint64_t mb;
    larder_result result = read_number(r, "a number of MiB > 0", &mb);

    (void)conf;
    if (result == LARDER_OK && mb == 0)
        return larder__fail(LARDER_ERR_CONF,
                            "%s: 0 is not accepted: has to be greater than 0",
                            r->key);
    return result;
}

static larder_result parse_unused_threads(struct conf *conf, struct reader *r)
{
    uint64_t n;
    larder_result result = read_number(r, "a power of 2 up to 128", &n);

    (void)conf;
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

static larder_result parse_preallocate(struct conf *conf, struct reader *r)
{
    return read_size(r, &conf->preallocate_bytes);
}

static larder_result parse_limit(struct conf *conf, struct reader *r)
{
    larder_result result = read_size(r, &conf->limit_bytes);

    if (result == LARDER_OK && conf->limit_bytes == 0)
        return conf_fail(r, "a size above 0");
    return result;
}

/* One of three names: *out is which. */
static larder_result read_choice(struct reader *r, const char *const names[3],
                                 const char *accepted, int *out)
{
    larder_result result = reader_word(r);

    for (int i = 0; result == LARDER_OK && i < 3; i++) {
        if (strcmp(r->word, names[i]) == 0) {
            *out = i;
            return LARDER_OK;
        }
    }
    return result != LARDER_OK ? result : conf_fail(r, accepted);
}

static larder_result parse_defrag(struct conf *conf, struct reader *r)
{
    static const char *const names[] = {"off", "limit", "eager"};

    return read_choice(r, names, "off, limit or eager", &conf->defrag);
}

static larder_result parse_history(struct conf *conf, struct reader *r)
{
    static const char accepted[] = "a number of events up to 2^32, 0 for none";
    larder_result result = read_number(r, accepted, &conf->history_events);

    conf->history_given = true;
    if (result != LARDER_OK || conf->history_events <= UINT64_C(1) << 32)
        return result;
    return conf_fail(r, accepted);
}

static larder_result parse_history_stacks(struct conf *conf, struct reader *r)
{
    static const char *const names[] = {"off", "fp", "unwind"};

    conf->history_given = true;
    return read_choice(r, names, "off, fp or unwind", &conf->history_stacks);
}

/* Up to the next comma, as it is. */
static larder_result parse_dump_path(struct conf *conf, struct reader *r)
{
    size_t n;

    (void)reader_peek(r);
    n = strcspn(r->at, ",");
    r->word[0] = '\0';
    if (n == 0 || n >= sizeof conf->dump_path)
        return conf_fail(r, "a path of 1 to 255 bytes");
    memcpy(conf->dump_path, r->at, n);
    conf->dump_path[n] = '\0';
    r->at += n;
    return LARDER_OK;
}

static const struct conf_key {
    const char *name;
    conf_parser *parse;
} conf_keys[] = {
    {"backend", parse_backend},
    {"max_split_size_mb", parse_max_split},
    {"max_non_split_rounding_mb", parse_max_non_split},
    {"large_segment_size_mb", parse_large_segment},
    {"roundup_power2_divisions", parse_divisions},
    {"garbage_collection_threshold", parse_gc_threshold},
    {"per_process_memory_fraction", parse_fraction},
    {"expandable_segments", parse_expandable},
    {"throw_on_cudamalloc_oom", parse_throw_on_oom},
    {"graph_capture_record_stream_reuse", parse_capture_reuse},
    {"release_lock_on_cudamalloc", parse_unused_bool},
    {"release_lock_on_hipmalloc", parse_unused_bool},
    {"pinned_use_cuda_host_register", parse_unused_bool},
    {"pinned_use_hip_host_register", parse_unused_bool},
    {"pinned_use_background_threads", parse_unused_bool},
    {"pinned_free_catch_all", parse_unused_bool},
    {"pinned_num_register_threads", parse_unused_threads},
    {"pinned_reserve_segment_size_mb", parse_unused_mb},
    {"pinned_max_round_threshold_mb", parse_unused_mb},
    {"pinned_max_cached_size_mb", parse_unused_mb},
    {"preallocate", parse_preallocate},
    {"limit", parse_limit},
    {"defrag", parse_defrag},
    {"history", parse_history},
    {"history_stacks", parse_history_stacks},
    {"dump_on_oom", parse_dump_path},
};

enum { CONF_KEYS = sizeof conf_keys / sizeof conf_keys[0] };

static larder_result conf_unknown(const char *key)
{
    char accepted[1024] = "";

    for (int i = 0; i < CONF_KEYS; i++) {
        if (i > 0)
            strcat(accepted, ", ");
        strcat(accepted, conf_keys[i].name);
    }
    return larder__fail(LARDER_ERR_CONF,
                        "Unrecognized CachingAllocator option: %s; accepted: "
                        "%s",
                        key, accepted);
}

/* One "key:value". */
static larder_result parse_setting(struct conf *conf, struct reader *r)
{
    larder_result result = reader_word(r);

    if (result != LARDER_OK)
        return result;
    for (int i = 0; i < CONF_KEYS; i++) {
        if (strcmp(r->word, conf_keys[i].name) != 0)
            continue;
        r->key = conf_keys[i].name;
        if ((result = reader_expect(r, ':')) != LARDER_OK)
            return result;
        return conf_keys[i].parse(conf, r);
    }
    return conf_unknown(r->word[0] != '\0' ? r->word : "''");
}

void larder__conf_init(struct conf *conf)
{
    *conf = (struct conf){
        .max_split_bytes = CONF_UNLIMITED,
        .max_non_split_rounding_bytes = CONF_LARGE_MB * LARDER_MIB,
        .large_segment_bytes = CONF_LARGE_MB * LARDER_MIB,
        .limit_bytes = CONF_UNLIMITED,
        .defrag = CONF_DEFRAG_LIMIT,
    };
}

static void conf_reset_each_parse(struct conf *conf)
{
    conf->max_split_bytes = CONF_UNLIMITED;
    conf->gc_threshold = 0;
    conf->fraction_given = false;
    conf->history_given = false;
    memset(conf->divisions, 0, sizeof conf->divisions);
}

/* Rules between two settings, whatever their order. */
static larder_result conf_check_whole(const struct conf *conf)
{
    if (conf->max_split_bytes < conf->large_segment_bytes)
        return larder__fail(
            LARDER_ERR_CONF,
            "max_split_size_mb must be >= "
            "large_segment_size_mb, which is %llu",
            (unsigned long long)(conf->large_segment_bytes / LARDER_MIB));
    return LARDER_OK;
}

larder_result larder__conf_parse(struct conf *conf, const char *text)
{
    struct conf next = *conf;
    struct reader r = {.at = text, .key = ""};
    larder_result result;

    conf_reset_each_parse(&next);
    while (reader_peek(&r) != '\0') {
        if ((result = parse_setting(&next, &r)) != LARDER_OK)
            return result;
        if (reader_peek(&r) != '\0' &&
            (result = reader_expect(&r, ',')) != LARDER_OK)
            return result;
    }
    if ((result = conf_check_whole(&next)) != LARDER_OK)
        return result;
    *conf = next;
    return LARDER_OK;
}
