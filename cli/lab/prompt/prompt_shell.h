/* prompt_shell.h - the prompt around a session: reads lines, runs them, shows
 * what they did. */
#ifndef LARDER_CLI_LAB_PROMPT_SHELL_H
#define LARDER_CLI_LAB_PROMPT_SHELL_H

#include <stdio.h>

#include "prompt_session.h"

struct prompt_shell {
    struct prompt prompt;
    bool json; /* an object for each statement, nothing else */
    bool colour;
    bool ascii;       /* bars of ASCII */
    bool interactive; /* what was typed stands on the screen already */
    unsigned width;
    FILE *out;
    bool failed; /* some statement did */
    bool quit;
    char *device; /* of `device SPEC`; the options point to it */
};

/* Run a text: one or more lines that belong together. */
void prompt_shell_run(struct prompt_shell *s, const char *text);

/* Read the standard input to its end. */
void prompt_shell_read(struct prompt_shell *s);
/* The same with editing, history and completion. */
void prompt_shell_edit(struct prompt_shell *s);

/* Write the snapshot; false after a message on the standard error. */
bool prompt_snapshot_write(struct prompt *p, const char *path);

/* ---- words of the prompt's own, which are no Python ---- */

struct prompt_word {
    const char *name;
    const char *argument; /* as help shows it */
    const char *help;
    /* What it has to say goes to the session's output; false after
     * prompt_fail(). */
    bool (*run)(struct prompt_shell *s, const char *argument);
};

extern const struct prompt_word prompt_words[]; /* ended by no name */

/* The word that a line begins with, and the rest of the line; NULL for what is
 * a statement. */
const struct prompt_word *prompt_find_word(struct prompt_shell *s,
                                           const char *line,
                                           const char **argument);

bool prompt_help(struct prompt_shell *s, const char *name);
bool prompt_segments(struct prompt_shell *s, const char *argument);

/* ---- completion ---- */

/* Calls `found` with every name that could stand where the first `length`
 * bytes of `line` end; returns how many bytes before that end the word
 * begins. */
size_t prompt_complete(struct prompt *p, const char *line, size_t length,
                       void (*found)(void *ctx, const char *name), void *ctx);

#endif
