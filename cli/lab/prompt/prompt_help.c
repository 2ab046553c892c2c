/* prompt_help.c - help, from the prompt's tables. */
#include <stdlib.h>
#include <string.h>

#include "option.h"
#include "prompt_shell.h"

enum { NAMES_MAX = 512 };

static void put_words(struct prompt_text *out)
{
    for (const struct prompt_word *w = prompt_words; w->name != NULL; w++) {
        char left[40];

        snprintf(left, sizeof left, "%s %s", w->name, w->argument);
        prompt_text_put(out, "  %-22s %s\n", left, w->help);
    }
}

/* Write names in lines of this width, below their owner's name. */
static void put_names(struct prompt_text *out, enum prompt_owner owner,
                      const char *title, size_t width)
{
    const struct prompt_builtin *b;
    size_t column;

    prompt_text_put(out, "\n%s\n ", title);
    column = 1;
    for (size_t i = 0; (b = prompt_nth(i)) != NULL; i++) {
        size_t length = strlen(b->name) + 1;

        if (b->owner != owner || b->name[0] == '_')
            continue;
        if (column + length > width) {
            prompt_text_put(out, "\n ");
            column = 1;
        }
        prompt_text_put(out, " %s", b->name);
        column += length;
    }
    prompt_text_put(out, "\n");
}

static void put_overview(struct prompt_text *out, size_t width)
{
    prompt_text_put(
        out, "A part of Python, as with torch; 'torch.' may be left out:\n\n"
             "  a = torch.zeros(256, 1024, 1024, device='cuda')\n"
             "  b = a.to('cpu'); del a\n"
             "  for i in range(9): y = randn(200, 300, device=cuda)\n"
             "  m = nn.Sequential(nn.Linear(784, 512), nn.ReLU()).to('cuda')\n"
             "  m(randn(64, 784, device=cuda)).mean().backward()\n"
             "  with no_grad(): y = x * 2\n\nCommands:\n");
    put_words(out);
    put_names(out, OWNER_PYTHON, "Python:", width);
    put_names(out, OWNER_MATH, "math (and pi, e, tau, inf, nan):", width);
    put_names(out, OWNER_TORCH, "torch:", width);
    put_names(out, OWNER_CUDA, "torch.cuda:", width);
    put_names(out, OWNER_NN, "torch.nn (nn):", width);
    put_names(out, OWNER_F, "torch.nn.functional (F):", width);
    put_names(out, OWNER_OPTIM, "torch.optim (optim):", width);
    put_names(out, OWNER_TENSOR, "of a tensor:", width);
    put_names(out, OWNER_MODULE, "of a module:", width);
    put_names(out, OWNER_OPTIMIZER, "of an optimizer:", width);
    put_names(out, OWNER_LIST, "of a list:", width);
    prompt_text_put(out, "\n'help NAME' has the arguments of one.\n");
}

static void put_row(struct prompt_text *out, const struct prompt_builtin *b)
{
    const char *owner = prompt_owner_name(b->owner);
    const char *parameters = b->parameters;

    prompt_text_put(out, "  %s%s%s", owner, *owner != '\0' ? "." : "", b->name);
    if (parameters != NULL) {
        if (strncmp(parameters, "self", 4) == 0)
            parameters += strncmp(parameters, "self, ", 6) == 0 ? 6 : 4;
        prompt_text_put(out, "(%s)", parameters);
    }
    prompt_text_put(out, "\n      %s\n", b->help);
}

static bool fail_unknown(struct prompt *p, const char *name)
{
    const char *names[NAMES_MAX];
    const char *near;
    size_t count = 0;

    for (size_t i = 0; prompt_nth(i) != NULL && count < NAMES_MAX - 1; i++)
        names[count++] = prompt_nth(i)->name;
    names[count] = NULL;
    near = strlen(name) <= 32 ? cli_nearest(name, names) : NULL;
    if (near != NULL)
        return prompt_fail(p, "there is no '%s'; did you mean '%s'?", name,
                           near);
    return prompt_fail(p, "there is no '%s'; 'help' lists what there is", name);
}

bool prompt_help(struct prompt_shell *s, const char *name)
{
    struct prompt_text *out = &s->prompt.output;
    const char *last = strrchr(name, '.');
    size_t found = 0;

    if (*name == '\0') {
        put_overview(out, s->width != 0 ? s->width : 80);
        return true;
    }
    last = last != NULL ? last + 1 : name;
    for (const struct prompt_word *w = prompt_words; w->name != NULL; w++) {
        if (strcmp(w->name, name) == 0) {
            prompt_text_put(out, "  %s %s\n      %s\n", w->name, w->argument,
                            w->help);
            found++;
        }
    }
    for (size_t i = 0; prompt_nth(i) != NULL; i++) {
        if (strcmp(prompt_nth(i)->name, last) == 0) {
            put_row(out, prompt_nth(i));
            found++;
        }
    }
    return found > 0 || fail_unknown(&s->prompt, name);
}
