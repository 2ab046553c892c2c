/* prompt_complete.c - completions at the cursor. */
#include <stdlib.h>
#include <string.h>

#include "prompt_shell.h"

enum { PATH_MAX_LENGTH = 256 };

struct search {
    const char *start; /* of the word so far */
    size_t length;
    void (*found)(void *ctx, const char *name);
    void *ctx;
};

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_';
}

static void offer(const struct search *s, const char *name)
{
    /* Nobody types Python's names with double underscores. */
    if (strncmp(name, "__", 2) != 0 && strlen(name) >= s->length &&
        memcmp(name, s->start, s->length) == 0)
        s->found(s->ctx, name);
}

static void offer_rows(const struct search *s, enum prompt_owner owner)
{
    const struct prompt_builtin *b;

    for (size_t i = 0; (b = prompt_nth(i)) != NULL; i++) {
        if (b->owner == owner)
            offer(s, b->name);
    }
}

static void offer_constants(const struct search *s, enum prompt_owner owner)
{
    const char *name;

    for (size_t i = 0; (name = prompt_nth_constant(owner, i)) != NULL; i++)
        offer(s, name);
}

static void offer_all(struct prompt *p, const struct search *s)
{
    static const char *const keywords[] = {"for",  "in",   "with",  "del",
                                           "None", "True", "False", NULL};

    for (size_t i = 0; i < p->variable_count; i++)
        offer(s, p->variables[i].name);
    offer_constants(s, OWNER_TORCH);
    offer_rows(s, OWNER_PYTHON);
    offer_rows(s, OWNER_TORCH);
    for (size_t i = 0; keywords[i] != NULL; i++)
        offer(s, keywords[i]);
    for (const struct prompt_word *w = prompt_words; w->name != NULL; w++)
        offer(s, w->name);
}

/* Looking up dotted names has no side effects. */
static void offer_attributes(struct prompt *p, const struct search *s,
                             const char *path, size_t length)
{
    struct prompt_value v = prompt_none();
    struct prompt_tree tree;
    struct prompt_error error;
    char text[PATH_MAX_LENGTH];

    if (length >= sizeof text)
        return;
    memcpy(text, path, length);
    text[length] = '\0';
    if (!prompt_parse(text, &tree, &error))
        return;
    p->failed = false;
    if (tree.statements->first != NULL &&
        tree.statements->first->kind == NODE_EXPRESSION &&
        prompt_evaluate(p, tree.statements->first->first, &v)) {
        if (v.kind == VALUE_SPACE) {
            offer_rows(s, (enum prompt_owner)v.integer);
            offer_constants(s, (enum prompt_owner)v.integer);
        } else {
            offer_rows(s, prompt_owner_of(v));
        }
    }
    p->failed = false;
    prompt_value_drop(&v);
    prompt_tree_free(&tree);
}

size_t prompt_complete(struct prompt *p, const char *line, size_t length,
                       void (*found)(void *ctx, const char *name), void *ctx)
{
    struct search s = {.found = found, .ctx = ctx};
    size_t word = length;
    size_t path;

    while (word > 0 && is_word(line[word - 1]))
        word--;
    s.start = line + word;
    s.length = length - word;
    path = word;
    while (path > 0 && (is_word(line[path - 1]) || line[path - 1] == '.'))
        path--;
    if (word > 0 && line[word - 1] == '.')
        offer_attributes(p, &s, line + path, word - 1 - path);
    else
        offer_all(p, &s);
    return s.length;
}
