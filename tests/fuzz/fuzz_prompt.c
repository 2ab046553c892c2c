/* fuzz_prompt.c - any text at the prompt of `larder lab`: parsed, and if valid
 * run in a small session with limits; nothing of it remains. */
#include <larder/lab.h>

#include "fuzz.h"
#include "lab/prompt/prompt_shell.h"

enum { STEPS_MAX = 300, ELEMENTS_MAX = 4096 };

static void open_session(struct prompt_shell *s)
{
    lab_options opt;

    lab_options_init(&opt);
    opt.device = "sim:64MiB,backing=none";
    opt.conf = "";
    opt.threads = 1;
    REQUIRE(prompt_open(&s->prompt, &opt));
    s->prompt.elements_max = ELEMENTS_MAX;
    s->prompt.steps_max = STEPS_MAX;
}

static void run_all(struct prompt_shell *s, const struct prompt_tree *tree)
{
    int left = 100;

    for (const struct prompt_node *n = tree->statements->first;
         n != NULL && left > 0; n = n->next, left--) {
        REQUIRE(n->begin <= n->end);
        if (!prompt_run(&s->prompt, n))
            REQUIRE(s->prompt.error.text[0] != '\0');
    }
}

static void see_device_empty(lab *l)
{
    lab_memory m;

    lab_memory_init(&m);
    REQUIRE(lab_memory_get(l, &m) == LARDER_OK);
    REQUIRE(m.allocated_bytes == 0);
    REQUIRE(m.host_bytes == 0);
    REQUIRE(larder_check(lab_allocator(l)) == LARDER_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct prompt_shell s;
    struct prompt_tree tree;
    struct prompt_error error;

    memset(&s, 0, sizeof s);
    (void)prompt_wants_more(text);
    if (!prompt_parse(text, &tree, &error)) {
        REQUIRE(error.text[0] != '\0');
        REQUIRE(error.at <= strlen(text));
        free(text);
        return 0;
    }
    open_session(&s);
    run_all(&s, &tree);
    prompt_tree_free(&tree);
    while (s.prompt.variable_count > 0)
        REQUIRE(prompt_delete_variable(&s.prompt, s.prompt.variables[0].name));
    see_device_empty(s.prompt.lab);
    prompt_close(&s.prompt);
    free(text);
    return 0;
}
