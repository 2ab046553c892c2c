/* prompt_bind.c - binds arguments to parameters, by position and by name. */
#include <stdlib.h>
#include <string.h>

#include "prompt_session.h"

struct parameter {
    const char *name;
    size_t length;
    bool rest;             /* "*name": takes all that have no name */
    const char *otherwise; /* NULL: must be given */
    size_t otherwise_length;
};

/* Read the parameter at s.  Returns where the next one begins; NULL after the
 * last. */
static const char *read_parameter(const char *s, struct parameter *out)
{
    size_t whole = strcspn(s, ",");
    const char *equals = memchr(s, '=', whole);

    memset(out, 0, sizeof *out);
    out->rest = *s == '*';
    out->name = s + out->rest;
    out->length = (size_t)((equals != NULL ? equals : s + whole) - out->name);
    if (equals != NULL) {
        out->otherwise = equals + 1;
        out->otherwise_length = (size_t)(s + whole - out->otherwise);
    }
    return s[whole] == ',' ? s + whole + 1 + strspn(s + whole + 1, " ") : NULL;
}

static size_t read_parameters(const struct prompt_builtin *b,
                              struct parameter out[PROMPT_PARAMETERS_MAX])
{
    const char *s = b->parameters;
    size_t count = 0;

    while (s != NULL && *s != '\0' && count < PROMPT_PARAMETERS_MAX)
        s = read_parameter(s, &out[count++]);
    return count;
}

static bool is_named(const struct parameter *q, const char *name)
{
    return strlen(name) == q->length && memcmp(q->name, name, q->length) == 0;
}

static struct prompt_value default_value(const struct parameter *q)
{
    char text[32];
    size_t length = q->otherwise_length < sizeof text - 1 ? q->otherwise_length
                                                          : sizeof text - 1;

    memcpy(text, q->otherwise, length);
    text[length] = '\0';
    if (strcmp(text, "None") == 0)
        return prompt_none();
    if (strcmp(text, "True") == 0 || strcmp(text, "False") == 0)
        return prompt_bool(text[0] == 'T');
    if (strpbrk(text, ".e") != NULL)
        return prompt_float(strtod(text, NULL));
    return prompt_int(strtoll(text, NULL, 10));
}

static bool collect(struct prompt *p, const struct prompt_value *given,
                    size_t count, struct prompt_value *out)
{
    if (!prompt_sequence(VALUE_TUPLE, out))
        return prompt_fail_memory(p);
    for (size_t i = 0; i < count; i++) {
        struct prompt_value v = prompt_value_ref(given[i]);

        if (!prompt_sequence_add(out->object, v)) {
            prompt_value_drop(&v);
            return prompt_fail(p, "lists within lists end at %d",
                               PROMPT_NESTING_MAX);
        }
    }
    return true;
}

/* By position; sets which parameters have a value. */
static bool bind_places(struct prompt *p, const struct prompt_builtin *b,
                        const struct parameter *parameters, size_t total,
                        const struct prompt_value *given, size_t count,
                        struct prompt_value *values, bool *has)
{
    size_t next = 0;

    for (size_t i = 0; i < total; i++) {
        if (parameters[i].rest) {
            has[i] = count > next;
            if (!collect(p, given + next, count - next, &values[i]))
                return false;
            next = count;
        } else if (next < count) {
            has[i] = true;
            values[i] = prompt_value_ref(given[next++]);
        }
    }
    if (next < count)
        return prompt_fail(p, "%s takes %zu argument%s, but %zu were given",
                           b->name, total, total == 1 ? "" : "s", count);
    return true;
}

static bool bind_name(struct prompt *p, const struct prompt_builtin *b,
                      const struct parameter *parameters, size_t total,
                      const char *name, struct prompt_value v,
                      struct prompt_value *values, bool *has)
{
    for (size_t i = 0; i < total; i++) {
        if (!is_named(&parameters[i], name))
            continue;
        if (has[i])
            return prompt_fail(p, "%s got '%s' twice", b->name, name);
        has[i] = true;
        prompt_value_drop(&values[i]);
        values[i] = prompt_value_ref(v);
        return true;
    }
    return prompt_fail(p, "%s has no argument '%s': %s(%s)", b->name, name,
                       b->name, b->parameters);
}

bool prompt_bind(struct prompt *p, const struct prompt_builtin *b,
                 const struct prompt_value *given, size_t count,
                 const char *const *names, size_t named,
                 struct prompt_value *values)
{
    struct parameter parameters[PROMPT_PARAMETERS_MAX];
    bool has[PROMPT_PARAMETERS_MAX] = {false};
    size_t total = read_parameters(b, parameters);

    if (!bind_places(p, b, parameters, total, given, count, values, has))
        return false;
    for (size_t i = 0; i < named; i++) {
        if (!bind_name(p, b, parameters, total, names[i], given[count + i],
                       values, has))
            return false;
    }
    for (size_t i = 0; i < total; i++) {
        const struct parameter *q = &parameters[i];

        if (has[i] || q->rest)
            continue;
        if (q->otherwise == NULL)
            return prompt_fail(p, "%s needs '%.*s': %s(%s)", b->name,
                               (int)q->length, q->name, b->name, b->parameters);
        values[i] = default_value(q);
    }
    return true;
}
