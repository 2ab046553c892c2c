/* reference_conf.c - the model's settings: parsing them, and the sizes they
 * give. */
#include "model/reference_state.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKEN_MAX = 64 };

/* One of , : [ ] or a word; false at the end. */
static bool token_next(const char **text, char token[TOKEN_MAX])
{
    size_t n = 0;

    while (**text == ' ')
        (*text)++;
    if (**text == '\0')
        return false;
    if (strchr(",:[]", **text) != NULL) {
        token[n++] = *(*text)++;
    } else {
        while (**text != '\0' && strchr(",:[] ", **text) == NULL) {
            assert(n + 1 < TOKEN_MAX);
            token[n++] = *(*text)++;
        }
    }
    token[n] = '\0';
    return true;
}

static void expect(const char **text, const char *what)
{
    char token[TOKEN_MAX];

    if (!token_next(text, token) || strcmp(token, what) != 0) {
        fprintf(stderr, "reference: conf: no '%s' before '%s'\n", what, *text);
        exit(2);
    }
}

static unsigned log2_floor(uint64_t x)
{
    unsigned n = 0;

    while (x > 1) {
        x /= 2;
        n++;
    }
    return n;
}

static void fill(struct ref_conf *c, size_t from, size_t to, uint64_t value)
{
    for (size_t i = from; i < to; i++)
        c->divisions[i] = value;
}

/* One `MB:divisions` or `>:divisions`.  As in PyTorch, `>` overwrites the last
 * interval named, and those between two named ones stay off. */
static void divisions_entry(struct ref_conf *c, const char *interval,
                            uint64_t value, bool is_first, size_t *last)
{
    size_t index;

    if (strcmp(interval, ">") == 0) {
        fill(c, *last, REF_SIZE_CLASSES, value);
        return;
    }
    index = log2_floor(strtoull(interval, NULL, 10));
    if (index >= REF_SIZE_CLASSES)
        index = REF_SIZE_CLASSES - 1;
    if (is_first)
        fill(c, 0, index, value);
    c->divisions[index] = value;
    *last = index;
}

static void parse_divisions(struct ref_conf *c, const char **text)
{
    char token[TOKEN_MAX];
    char value[TOKEN_MAX];
    size_t last = 0;
    bool is_first = true;

    token_next(text, token);
    if (strcmp(token, "[") != 0) {
        fill(c, 0, REF_SIZE_CLASSES, strtoull(token, NULL, 10));
        return;
    }
    while (token_next(text, token) && strcmp(token, "]") != 0) {
        if (strcmp(token, ",") == 0)
            continue;
        expect(text, ":");
        token_next(text, value);
        divisions_entry(c, token, strtoull(value, NULL, 10), is_first, &last);
        is_first = false;
    }
}

static void parse_value(struct ref_conf *c, const char *key, const char *value)
{
    uint64_t mib = strtoull(value, NULL, 10) * REF_MIB;

    if (strcmp(key, "max_split_size_mb") == 0) {
        c->max_split = mib;
    } else if (strcmp(key, "max_non_split_rounding_mb") == 0) {
        c->max_rounding = mib;
    } else if (strcmp(key, "large_segment_size_mb") == 0) {
        c->large_segment = mib;
    } else if (strcmp(key, "garbage_collection_threshold") == 0) {
        c->gc_threshold = strtod(value, NULL);
    } else if (strcmp(key, "expandable_segments") == 0) {
        c->expandable = strcmp(value, "True") == 0;
    } else if (strcmp(key, "per_process_memory_fraction") == 0) {
        c->fraction = strtod(value, NULL);
    } else {
        fprintf(stderr, "reference: conf: unknown key '%s'\n", key);
        exit(2);
    }
}

void ref_conf_init(struct ref_conf *c)
{
    memset(c, 0, sizeof *c);
    c->max_rounding = 20 * REF_MIB;
    c->large_segment = 20 * REF_MIB;
    c->fraction = -1;
}

void ref_conf_apply(struct ref_conf *c, const char *text)
{
    char key[TOKEN_MAX];
    char value[TOKEN_MAX];

    c->max_split = UINT64_MAX;
    c->gc_threshold = 0;
    fill(c, 0, REF_SIZE_CLASSES, 0);
    while (token_next(&text, key)) {
        if (strcmp(key, ",") == 0)
            continue;
        expect(&text, ":");
        if (strcmp(key, "roundup_power2_divisions") == 0) {
            parse_divisions(c, &text);
        } else {
            token_next(&text, value);
            parse_value(c, key, value);
        }
    }
}

static uint64_t round_to(uint64_t x, uint64_t step)
{
    return (x + step - 1) / step * step;
}

static uint64_t divisions_of(const struct ref_conf *c, uint64_t bytes)
{
    unsigned log2 = log2_floor(bytes);

    if (log2 < 20)
        return c->divisions[0];
    if (log2 - 20 >= REF_SIZE_CLASSES)
        return c->divisions[REF_SIZE_CLASSES - 1];
    return c->divisions[log2 - 20];
}

uint64_t ref_conf_round(const struct ref_conf *c, uint64_t bytes)
{
    uint64_t divisions = divisions_of(c, bytes);
    uint64_t power;

    if (bytes < 512)
        return 512;
    if (divisions <= 1 || bytes <= 512 * divisions)
        return round_to(bytes, 512);
    power = UINT64_C(1) << log2_floor(bytes);
    if (power / divisions == 0)
        return bytes == power ? bytes : 2 * power;
    return round_to(bytes, power / divisions);
}

uint64_t ref_conf_segment_bytes(const struct ref_conf *c, uint64_t rounded)
{
    if (rounded <= REF_MIB)
        return 2 * REF_MIB;
    if (rounded < 10 * REF_MIB)
        return c->large_segment;
    return round_to(rounded, 2 * REF_MIB);
}
