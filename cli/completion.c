/* completion.c - completion of the command line in shells, from the tables of
 * options. */
#include "completion.h"

#include <stdio.h>
#include <string.h>

#include <larder/larder.h>
#include <larder/sim.h>

/* ---- stubs for shells ----------------------------------------------------- */

static const char bash_stub[] =
    "# Completion of larder for bash, printed by `larder completion bash`.\n"
    "_larder() {\n"
    "    local answer word current=${COMP_WORDS[COMP_CWORD]#=}\n"
    "    COMPREPLY=()\n"
    "    if answer=$(\"${1/#\\~/$HOME}\" complete "
    "\"${COMP_WORDS[@]:1:COMP_CWORD}\" "
    "2>/dev/null); then\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
    "    fi\n"
    "    while IFS=$'\\t' read -r word _; do\n"
    "        [[ -n $word ]] && COMPREPLY+=(\"$word\")\n"
    "    done <<<\"$answer\"\n"
    "}\n"
    "complete -F _larder larder\n";

/* Autoloaded by compinit, the file is the function; sourced, it registers it. */
static const char zsh_stub[] =
    "#compdef larder\n"
    "# Completion of larder for zsh, printed by `larder completion zsh`.\n"
    "_larder() {\n"
    "    local files\n"
    "    local -a offers\n"
    "    offers=(${(f)\"$(${~words[1]} complete \"${(@Q)words[2,CURRENT-1]}\" "
    "\"${(Q)PREFIX}\" 2>/dev/null)\"})\n"
    "    files=$?\n"
    "    offers=(\"${(@)offers/$'\\t'/:}\")\n"
    "    _describe larder offers\n"
    "    (( files )) || { compset -P 1 '--*='; _files }\n"
    "}\n"
    "if [[ ${funcstack[1]} == _larder ]]; then\n"
    "    _larder \"$@\"\n"
    "else\n"
    "    compdef _larder larder\n"
    "fi\n";

static const char fish_stub[] =
    "# Completion of larder for fish, printed by `larder completion fish`.\n"
    "function __larder_complete\n"
    "    set -l words (commandline -opc) (commandline -ct)\n"
    "    set -l larder (string replace -r '^~/' ~/ -- $words[1])\n"
    "    $larder complete $words[2..] 2>/dev/null\n"
    "end\n"
    "complete -c larder -a '(__larder_complete)'\n"
    "complete -c larder -n 'not __larder_complete >/dev/null' -f\n";

/* ---- the table of options -------------------------------------------------- */

/* On one line. */
static void put_text(const char *text)
{
    for (; *text != '\0'; text++)
        putchar(*text == '\n' ? ' ' : *text);
    putchar('\n');
}

/* One line for each option, with tabs between command, name, value and help.
 * tools/make_manuals.py generates the manual pages' option lists from it. */
static void put_table(const struct cli_command *command)
{
    const struct cli_command *const *part = command->parts;

    if (command->is_hidden)
        return;
    for (const struct cli_option *o = command->options;
         o != NULL && o->name != NULL; o++) {
        printf("%s\t%s%s\t%s\t", command->name, cli_dashes(o), o->name,
               o->argument != NULL ? o->argument : "");
        put_text(o->help);
    }
    for (; part != NULL && *part != NULL; part++)
        put_table(*part);
}

bool completion_print(const struct cli_command *root, const char *shell)
{
    static const struct {
        const char *name;
        const char *stub;
    } shells[] = {{"bash", bash_stub}, {"zsh", zsh_stub}, {"fish", fish_stub}};

    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        if (strcmp(shells[i].name, shell) == 0)
            return fputs(shells[i].stub, stdout) != EOF;
    }
    if (strcmp(shell, "table") != 0)
        return false;
    for (size_t i = 0; root->parts[i] != NULL; i++)
        put_table(root->parts[i]);
    return true;
}

/* ---- what can follow ------------------------------------------------------- */

/* The word to complete: `typed` is all of it, or the value after an option's
 * equals sign. */
struct asked {
    const char *word;
    const char *typed;
};

/* Offer the beginning of `text`, of that length, if it continues the word. */
static void offer(const struct asked *q, const char *text, size_t length,
                  const char *help)
{
    size_t typed = strlen(q->typed);

    if (typed > length || memcmp(text, q->typed, typed) != 0)
        return;
    printf("%.*s%.*s%s", (int)(q->typed - q->word), q->word, (int)length, text,
           help[0] != '\0' ? "\t" : "");
    put_text(help);
}

/* Of names for the same thing, separated by commas, the first. */
static void offer_each(const struct asked *q, const char *(*name_of)(size_t),
                       const char *help)
{
    const char *name;

    for (size_t i = 0; (name = name_of(i)) != NULL; i++)
        offer(q, name, strcspn(name, ","), help);
}

/* "larder|pytorch|direct": words to be typed literally; an argument in capitals
 * is a placeholder. */
static void offer_choices(const struct asked *q, const char *argument,
                          const char *help)
{
    for (size_t length; *argument != '\0'; argument += length) {
        argument += *argument == '|';
        length = strcspn(argument, "|");
        offer(q, argument, length, help);
    }
}

/* Returns whether files are values, too. */
static bool offer_values(const struct asked *q, const struct cli_option *o)
{
    const char *argument = o->argument;

    if (strcmp(o->name, "gpu") == 0)
        offer_each(q, larder_sim_card, o->help);
    else if (strcmp(argument, "K:V,...") == 0)
        offer_each(q, larder_conf_key, o->help);
    else if (strcmp(argument, "VERSION") == 0)
        offer_each(q, larder_pytorch_release, o->help);
    else if (argument[0] >= 'a' && argument[0] <= 'z')
        offer_choices(q, argument, o->help);
    return strstr(argument, "FILE") != NULL;
}

static void offer_options(const struct asked *q,
                          const struct cli_command *command)
{
    const struct cli_option *o = command->options;
    char name[64];

    for (; o != NULL && o->name != NULL; o++) {
        snprintf(name, sizeof name, "%s%s", cli_dashes(o), o->name);
        offer(q, name, strlen(name), o->help);
    }
    offer(q, "--help", strlen("--help"), cli_help_option.help);
}

static void offer_parts(const struct asked *q,
                        const struct cli_command *const *parts)
{
    for (; *parts != NULL; parts++) {
        const char *name = cli_last_name(*parts);

        if (!(*parts)->is_hidden)
            offer(q, name, strlen(name), (*parts)->summary);
    }
}

/* bash separates an equals sign from the option and the value. */
static int drop_equals_signs(int count, char **words)
{
    int kept = 0;

    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], "=") != 0)
            words[kept++] = words[i];
        else if (i + 1 == count)
            words[kept++] = words[i] + 1;
    }
    return kept;
}

/* Returns whether they can be files, too. */
static bool offer_operands(const struct asked *q,
                           const struct cli_command *command)
{
    if (command->operand != NULL)
        offer_each(q, command->operand, "");
    return command->operands[0] != '\0' &&
           (command->operand == NULL ||
            strstr(command->operands, "FILE") != NULL);
}

/* The value, operand or option that the word is, after the one before it. */
static bool offer_word(struct asked *q, const struct cli_command *command,
                       const char *before)
{
    const struct cli_option *o = cli_find_option(command, before);
    const char *equals = strchr(q->word, '=');

    if (q->word[0] == '-' && equals != NULL) {
        q->typed = equals + 1;
        o = cli_find_option(command, q->word);
        return o != NULL && o->argument != NULL && offer_values(q, o);
    }
    if (o != NULL && cli_takes_word(o))
        return offer_values(q, o);
    if (q->word[0] != '-' && command->operands[0] != '\0')
        return offer_operands(q, command);
    offer_options(q, command);
    return false;
}

bool completion_offer(const struct cli_command *root, int count, char **words)
{
    const struct cli_command *command = root;
    const struct cli_command *part = root;
    struct asked q;
    int at = 0;

    count = drop_equals_signs(count, words);
    q.word = q.typed = count > 0 ? words[count - 1] : "";
    for (; part != NULL && at + 1 < count; at++) {
        part = cli_find_part(command, words[at]);
        command = part != NULL ? part : command;
    }
    if (part != NULL && command->parts != NULL && q.word[0] != '-') {
        offer_parts(&q, command->parts);
        return false;
    }
    if ((command == root && count > 1) || command->is_hidden)
        return false;
    return offer_word(&q, command, count > 1 ? words[count - 2] : "");
}
