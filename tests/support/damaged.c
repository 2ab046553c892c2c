/* damaged.c - a JSON document with one value after the other replaced. */
#include "support/damaged.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACE_MAX = 256 };

/* What came of the damages of a place so far. */
struct damaged_result {
    char *outcome;
    char values[512];
    uint32_t digest; /* of what is behind the tab; 0: nothing */
};

struct damaging {
    json_t *document;
    damaged_outcome *outcome;
    FILE *out;
    struct damaged_result results[32];
    size_t count;
};

static const char *const wrong[] = {
    "null",       "true", "-1",    "0",          "1.5",
    "\"x\"",      "\"\"", "[]",    "{}",         "[1]",
    "[1, 2]",     "[[]]", "65535", "4294967295", "9223372036854775807",
    "{\"a\": 1}", "1",    "2",
};

static json_t *parsed(const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);

    assert(value != NULL);
    return value;
}

static void visit(struct damaging *d, const char *value)
{
    char *outcome = d->outcome(d->document);
    char *more = strchr(outcome, '\t');
    size_t i = 0;

    if (more != NULL)
        *more++ = '\0';

    while (i < d->count && strcmp(d->results[i].outcome, outcome) != 0)
        i++;
    if (i == d->count) {
        assert(i < sizeof d->results / sizeof d->results[0]);
        d->results[d->count++] =
            (struct damaged_result){.outcome = strdup(outcome)};
    }
    strcat(strcat(d->results[i].values, " "), value);
    for (; more != NULL && *more != '\0'; more++)
        d->results[i].digest =
            (d->results[i].digest ^ (unsigned char)*more) * 0x01000193 + 1;
    free(outcome);
}

static void put_place(struct damaging *d, const char *place)
{
    for (size_t i = 0; i < d->count; i++) {
        fprintf(d->out, "%s =%s: %s", place, d->results[i].values,
                d->results[i].outcome);
        if (d->results[i].digest != 0)
            fprintf(d->out, " %08" PRIx32, d->results[i].digest);
        fputs("\n", d->out);
        free(d->results[i].outcome);
    }
    d->count = 0;
}

static void damage_below(struct damaging *d, json_t *value, const char *place);

/* ---- dicts ----------------------------------------------------------------- */

/* Keys keep their order: the damaged dict is a copy. */
static void put_pairs(json_t *to, const json_t *pairs, const char *key,
                      json_t *value, const char *name)
{
    const char *k;
    json_t *v;

    json_object_clear(to);
    json_object_foreach((json_t *)(size_t)pairs, k, v)
    {
        if (strcmp(k, key) != 0)
            json_object_set(to, k, v);
        else if (name != NULL)
            json_object_set(to, name, value);
    }
}

static void damage_pair(struct damaging *d, json_t *o, const char *key,
                        const char *place)
{
    json_t *pairs = json_copy(o);
    json_t *kept = json_incref(json_object_get(o, key));

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        json_t *value = parsed(wrong[i]);

        put_pairs(o, pairs, key, value, key);
        visit(d, wrong[i]);
        json_decref(value);
    }
    put_pairs(o, pairs, key, kept, NULL);
    visit(d, "missing");
    put_pairs(o, pairs, key, kept, "unknown");
    visit(d, "unknown");
    put_place(d, place);
    put_pairs(o, pairs, key, kept, key);
    json_decref(kept);
    json_decref(pairs);
}

static void damage_dict(struct damaging *d, json_t *o, const char *place)
{
    size_t count = json_object_size(o);
    const char **keys = malloc((count + 1) * sizeof *keys);
    const char *key;
    json_t *value;
    size_t n = 0;

    assert(keys != NULL);
    json_object_foreach(o, key, value) keys[n++] = strdup(key);
    for (size_t i = 0; i < n; i++) {
        char below[PLACE_MAX];

        snprintf(below, sizeof below, "%s%s%s", place,
                 place[0] != '\0' ? "." : "", keys[i]);
        damage_pair(d, o, keys[i], below);
        damage_below(d, json_object_get(o, keys[i]), below);
        free((char *)(size_t)keys[i]);
    }
    free(keys);
}

/* ---- lists ----------------------------------------------------------------- */

static void damage_item(struct damaging *d, json_t *list, size_t at,
                        const char *place)
{
    json_t *kept = json_incref(json_array_get(list, at));
    char below[PLACE_MAX];

    snprintf(below, sizeof below, "%s[%zu]", place, at);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        json_array_set_new(list, at, parsed(wrong[i]));
        visit(d, wrong[i]);
    }
    json_array_remove(list, at);
    visit(d, "missing");
    json_array_insert(list, at, kept);
    json_array_insert(list, at, kept);
    visit(d, "twice");
    put_place(d, below);
    json_array_remove(list, at);
    damage_below(d, kept, below);
    json_decref(kept);
}

static void damage_below(struct damaging *d, json_t *value, const char *place)
{
    size_t count = json_array_size(value);

    if (json_is_object(value))
        damage_dict(d, value, place);
    if (count > 0)
        damage_item(d, value, 0, place);
    if (count > 1)
        damage_item(d, value, count - 1, place);
}

void damaged_each(json_t *document, damaged_outcome *outcome,
                  struct recorded *r)
{
    struct damaging d = {.document = document, .outcome = outcome};
    char *lines = NULL;
    size_t size = 0;

    d.out = open_memstream(&lines, &size);
    assert(d.out != NULL);
    damage_below(&d, document, "");
    fclose(d.out);
    recorded_words(r, lines);
    free(lines);
}
