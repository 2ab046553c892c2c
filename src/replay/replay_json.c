#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "replay/replay.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* How many bytes the UTF-8 character at p takes; 0 if it is not one.  jansson
 * judges: it takes exactly the valid ones. */
static size_t utf8_length(const char *p)
{
    size_t left = strnlen(p, 4);

    for (size_t n = 1; n <= left; n++) {
        json_t *one = json_stringn(p, n);
        bool valid = one != NULL;

        json_decref(one);
        if (valid)
            return n;
    }
    return 0;
}

/* A string, with each byte that is not part of UTF-8 replaced. */
static json_t *text_json(const char *text)
{
    json_t *whole = json_string(text);
    char *clean;
    size_t n = 0;

    if (whole != NULL)
        return whole;
    clean = malloc((sizeof replacement - 1) * strlen(text) + 1);
    if (clean == NULL)
        return NULL;
    while (*text != '\0') {
        size_t length = utf8_length(text);
        bool valid = length != 0;

        memcpy(clean + n, valid ? text : replacement,
               valid ? length : sizeof replacement - 1);
        n += valid ? length : sizeof replacement - 1;
        text += valid ? length : 1;
    }
    clean[n] = '\0';
    whole = json_string(clean);
    free(clean);
    return whole;
}

static json_t *count_json(uint64_t n)
{
    return json_integer((json_int_t)n);
}

static json_t *count_or_null(uint64_t n)
{
    return n != 0 ? count_json(n) : json_null();
}

/* Negative: not known. */
static json_t *real_or_null(double x)
{
    return x >= 0 ? json_real(x) : json_null();
}

static int add_counts(json_t *o, const struct replay_result *r)
{
    int bad = 0;

#define ADD(name) bad |= json_object_set_new(o, #name, count_json(r->name))
    ADD(oom_count);
    ADD(peak_requested_bytes);
    ADD(peak_allocated_bytes);
    ADD(peak_reserved_bytes);
    bad |= json_object_set_new(o, "peak_fragmentation",
                               real_or_null(r->peak_fragmentation));
    ADD(driver_allocs);
    ADD(driver_frees);
    ADD(pages_created);
    ADD(pages_mapped);
    ADD(pages_unmapped);
    ADD(stream_syncs);
    ADD(driver_calls);
    ADD(driver_time_ns);
#undef ADD
    return bad;
}

static int add_all(json_t *o, const struct replay_result *r, const char *path,
                   const struct replay_options *options)
{
    const char *conf = options->conf != NULL ? options->conf : "";
    const char *policy = larder_policy_name(options->policy);
    int bad = json_object_set_new(o, "trace", text_json(path));

    bad |= json_object_set_new(o, "policy", json_string(policy));
    bad |= json_object_set_new(o, "conf", text_json(conf));
    bad |= json_object_set_new(o, "ops", count_json(r->ops));
    bad |= json_object_set_new(o, "oom_op", count_or_null(r->oom_op));
    bad |= add_counts(o, r);
    bad |= json_object_set_new(o, "ns_per_op", real_or_null(r->ns_per_op));
    if (options->min_capacity)
        bad |= json_object_set_new(o, "min_capacity_bytes",
                                   count_or_null(r->min_capacity_bytes));
    return bad;
}

char *replay_result_json(const struct replay_result *r, const char *path,
                         const struct replay_options *options)
{
    json_t *o = json_object();
    char *line = NULL;

    if (o != NULL && add_all(o, r, path, options) == 0)
        line = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(6));
    json_decref(o);
    return line;
}
