/* prompt_words.c - help, vars, memory and the other words of the prompt that
 * are not Python. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lab/lab_history.h"
#include "prompt_shell.h"
#include "units.h"

/* ---- vars ---------------------------------------------------------------------------- */

static void put_shape(const lab_tensor *t, struct prompt_text *out)
{
    const int64_t *sizes = lab_sizes(t);

    prompt_text_put(out, "(");
    for (int i = 0; i < lab_ndim(t); i++)
        prompt_text_put(out, "%s%" PRId64, i > 0 ? ", " : "", sizes[i]);
    prompt_text_put(out, lab_ndim(t) == 1 ? ",)" : ")");
}

static void put_tensor(const char *name, const lab_tensor *t,
                       struct prompt_text *out)
{
    static const char *const dtypes[] = {
        [LAB_FLOAT32] = "float32", [LAB_INT64] = "int64", [LAB_BOOL] = "bool"};
    struct prompt_text shape = {0};
    char bytes[UNITS_MAX];

    put_shape(t, &shape);
    prompt_text_put(out, "  %-12s %-24s %-8s %-5s %9s%s%s\n", name,
                    prompt_text_of(&shape), dtypes[lab_dtype_of(t)],
                    lab_place_of(t) == LAB_DEVICE ? "cuda" : "cpu",
                    units_bytes(lab_storage_bytes(t), bytes),
                    lab_requires_grad(t) ? "  requires grad" : "",
                    lab_grad(t) != NULL ? ", has one" : "");
    prompt_text_free(&shape);
}

/* The first line for a value that is not a tensor. */
static void put_other(const char *name, struct prompt_value v,
                      struct prompt_text *out)
{
    struct prompt_text text = {0};

    if (prompt_is_sequence(v))
        prompt_text_put(&text, "%s of %zu", prompt_value_what(v),
                        v.object->count);
    else
        prompt_value_write(v, true, &text);
    prompt_text_put(out, "  %-12s %.*s\n", name,
                    (int)strcspn(prompt_text_of(&text), "\n"),
                    prompt_text_of(&text));
    prompt_text_free(&text);
}

static bool word_vars(struct prompt_shell *s, const char *argument)
{
    struct prompt *p = &s->prompt;

    (void)argument;
    if (p->variable_count == 0)
        prompt_text_put(&p->output, "  no names yet\n");
    for (size_t i = 0; i < p->variable_count; i++) {
        const struct prompt_variable *v = &p->variables[i];

        if (v->value.kind == VALUE_TENSOR)
            put_tensor(v->name, v->value.tensor, &p->output);
        else
            put_other(v->name, v->value, &p->output);
    }
    return true;
}

/* ---- other commands ------------------------------------------------------------------- */

static bool word_memory(struct prompt_shell *s, const char *argument)
{
    larder_allocator *a = lab_allocator(s->prompt.lab);
    size_t needed = 0;
    char *text;

    (void)argument;
    larder_memory_summary(a, 0, NULL, 0, &needed);
    text = malloc(needed + 1);
    if (text == NULL)
        return prompt_fail_memory(&s->prompt);
    text[0] = '\0';
    larder_memory_summary(a, 0, text, needed + 1, NULL);
    prompt_text_add(&s->prompt.output, text, strlen(text));
    free(text);
    return true;
}

static bool word_reset(struct prompt_shell *s, const char *argument)
{
    (void)argument;
    if (!prompt_reopen(&s->prompt, NULL))
        return prompt_fail(&s->prompt, "%s", lab_last_error());
    return true;
}

static bool word_device(struct prompt_shell *s, const char *argument)
{
    const char *now = s->prompt.options.device;
    char *spec;

    if (*argument == '\0') {
        prompt_text_put(&s->prompt.output, "  %s\n",
                        now != NULL ? now : LAB_DEVICE_DEFAULT);
        return true;
    }
    spec = strdup(argument);
    if (spec == NULL)
        return prompt_fail_memory(&s->prompt);
    if (!prompt_reopen(&s->prompt, spec)) {
        prompt_fail(&s->prompt, "%s", lab_last_error());
        free(spec);
        return false;
    }
    free(s->device);
    s->device = spec;
    return true;
}

static bool word_snapshot(struct prompt_shell *s, const char *argument)
{
    if (!lab_history_name_ok(argument))
        return prompt_fail(&s->prompt,
                           "a snapshot's name ends with .json or .pickle, but "
                           "'%s' does not",
                           argument);
    if (!prompt_snapshot_write(&s->prompt, argument))
        return false;
    prompt_text_put(&s->prompt.output, "  written to %s\n", argument);
    return true;
}

static bool word_quit(struct prompt_shell *s, const char *argument)
{
    (void)argument;
    s->quit = true;
    return true;
}

const struct prompt_word prompt_words[] = {
    {"help", "[NAME]", "what there is, or about one name", prompt_help},
    {"vars", "", "the names that were set, and their tensors", word_vars},
    {"memory", "", "the allocator's summary table", word_memory},
    {"segments", "", "a map of the segments and their blocks", prompt_segments},
    {"snapshot", "FILE", "write what happened, and what is there, to a file",
     word_snapshot},
    {"device", "[SPEC]", "begin anew on another device", word_device},
    {"reset", "", "begin anew on this device", word_reset},
    {"quit", "", "end; so does Ctrl-D", word_quit},
    {NULL, NULL, NULL, NULL},
};

/* ---- finding --------------------------------------------------------------------------- */

/* Whether the text after the word makes it a statement: memory = 3. */
static bool is_statement(struct prompt_shell *s, const char *name,
                         const char *rest)
{
    if (prompt_variable(&s->prompt, name) != NULL)
        return true;
    return *rest != '\0' && strchr("=(.[,+-*/;:", *rest) != NULL;
}

const struct prompt_word *prompt_find_word(struct prompt_shell *s,
                                           const char *line,
                                           const char **argument)
{
    const char *start = line + strspn(line, " \t");
    size_t length = strcspn(start, " \t\r\n=(.[,+-*/;:");
    const char *rest = start + length + strspn(start + length, " \t");

    for (const struct prompt_word *w = prompt_words; w->name != NULL; w++) {
        if (strlen(w->name) != length || memcmp(w->name, start, length) != 0)
            continue;
        /* A name as an argument may look like anything. */
        if (is_statement(s, w->name, rest) &&
            (rest == start + length || *rest != '/'))
            return NULL;
        *argument = rest;
        return w;
    }
    return NULL;
}
