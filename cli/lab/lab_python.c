#include "lab_python.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "complain.h"
#include "option.h"
#include "python_program.h"

enum { FIXED_WORDS = 20 };

static void add_option(char **words, int *count, const char *name,
                       const char *value)
{
    if (value == NULL)
        return;
    words[(*count)++] = (char *)name;
    words[(*count)++] = (char *)value;
}

static void fill_words(const struct lab_listing *l, char **words,
                       char width[16])
{
    int count = 0;

    words[count++] = (char *)cli_python_name();
    words[count++] = (char *)"-m";
    words[count++] = (char *)"larder.lab.run";
    add_option(words, &count, "--device", l->device);
    add_option(words, &count, "--policy", l->policy);
    add_option(words, &count, "--conf", l->conf);
    add_option(words, &count, "--snapshot", l->snapshot);
    snprintf(width, 16, "%u", l->width);
    add_option(words, &count, "--width", l->width > 0 ? width : NULL);
    if (l->colour)
        words[count++] = (char *)"--colour";
    if (l->ascii)
        words[count++] = (char *)"--ascii";
    if (l->each_statement)
        words[count++] = (char *)"--each-statement";
    if (l->each_step)
        words[count++] = (char *)"--each-step";
    if (l->json)
        words[count++] = (char *)"--json";
    for (int i = 0; i < l->count; i++)
        words[count++] = l->words[i];
    words[count] = NULL;
}

int lab_python_run(const struct lab_listing *l)
{
    char width[16];
    char **words;
    int status;

    if (access(l->words[0], R_OK) != 0) {
        cli_complain("lab run", "%s: cannot be opened: %s", l->words[0],
                     strerror(errno));
        return CLI_EXIT_BAD;
    }
    if (!cli_python_prepare("lab run"))
        return CLI_EXIT_BAD;
    words = calloc((size_t)l->count + FIXED_WORDS, sizeof *words);
    if (words == NULL) {
        fputs("larder lab run: out of host memory\n", stderr);
        return CLI_EXIT_BAD;
    }
    fill_words(l, words, width);
    status = cli_python_become("lab run", words);
    free(words);
    return status;
}
