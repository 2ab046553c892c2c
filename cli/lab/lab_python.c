/* lab_python.c - the command line of the lab's Python modules. */
#include "lab_python.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "complain.h"
#include "option.h"
#include "python_program.h"
#include "terminal.h"

enum { FIXED_WORDS = 24 };

static void add_option(char **words, int *count, const char *name,
                       const char *value)
{
    if (value == NULL)
        return;
    words[(*count)++] = (char *)name;
    words[(*count)++] = (char *)value;
}

static void add_flag(char **words, int *count, const char *name, bool given)
{
    if (given)
        words[(*count)++] = (char *)name;
}

static void fill_words(const struct lab_python *l, char **words, char width[16])
{
    unsigned columns = (unsigned)terminal_width(l->panel);
    int count = 0;

    words[count++] = (char *)cli_python_name();
    words[count++] = (char *)"-m";
    words[count++] = (char *)l->module;
    add_option(words, &count, "--device", l->device);
    add_option(words, &count, "--policy", l->policy);
    add_option(words, &count, "--conf", l->conf);
    add_option(words, &count, "--seed", l->seed);
    add_option(words, &count, "--snapshot", l->snapshot);
    snprintf(width, 16, "%u", columns);
    add_option(words, &count, "--width", columns > 0 ? width : NULL);
    add_flag(words, &count, "--colour", terminal_has_colour(l->panel));
    add_flag(words, &count, "--ascii", !terminal_is_utf8());
    add_flag(words, &count, "--each-statement", l->each_statement);
    add_flag(words, &count, "--each-step", l->each_step);
    add_flag(words, &count, "--json", l->json);
    for (int i = 0; i < l->count; i++)
        words[count++] = l->words[i];
    words[count] = NULL;
}

int lab_python_run(const struct lab_python *l)
{
    char width[16];
    char **words;
    int status;

    if (l->count > 0 && access(l->words[0], R_OK) != 0) {
        cli_complain(l->command, "%s: cannot be opened: %s", l->words[0],
                     strerror(errno));
        return CLI_EXIT_BAD;
    }
    if (!cli_python_prepare(l->command))
        return CLI_EXIT_BAD;
    words = calloc((size_t)l->count + FIXED_WORDS, sizeof *words);
    if (words == NULL)
        return cli_no_memory(l->command);
    fill_words(l, words, width);
    status = cli_python_become(l->command, words);
    free(words);
    return status;
}
