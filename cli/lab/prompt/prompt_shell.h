/* prompt_shell.h - the shell around a session: reads lines, runs them, shows
 * their effects. */
#ifndef LARDER_CLI_LAB_PROMPT_PROMPT_SHELL_H
#define LARDER_CLI_LAB_PROMPT_PROMPT_SHELL_H

#include <stdio.h>

#include "prompt_session.h"

struct prompt_shell {
    struct prompt prompt;
    bool json; /* only an object for each statement */
    bool colour;
    bool ascii;       /* bars of ASCII */
    bool interactive; /* typed text is on the screen already */
    unsigned width;
    FILE *out;
    bool failed; /* some statement failed */
    bool quit;
    char *device; /* of `device SPEC`; `options` points to it */
};

/* Run a text of one or more lines that belong together. */
void prompt_shell_run(struct prompt_shell *s, const char *text);

/* Read the standard input to its end. */
void prompt_shell_read(struct prompt_shell *s);
/* The same with editing, history and completion. */
void prompt_shell_edit(struct prompt_shell *s);

/* Write the snapshot.  False, after a message on the standard error. */
bool prompt_snapshot_write(struct prompt *p, const char *path);

/* ---- the prompt's own words, which are not Python ------ */

struct prompt_word {
    const char *name;
    const char *argument; /* as shown in help */
    const char *help;
    /* Prints to the session's output.  False: the error is set. */
    bool (*run)(struct prompt_shell *s, const char *argument);
};

extern const struct prompt_word prompt_words[]; /* last one: no name */

/* The command word at the beginning of a line, and the rest of the line.  NULL:
 * it is a statement. */
const struct prompt_word *prompt_find_word(struct prompt_shell *s,
                                           const char *line,
                                           const char **argument);

bool prompt_help(struct prompt_shell *s, const char *name);
bool prompt_segments(struct prompt_shell *s, const char *argument);

/* ---- completion ---- */

/* Call `found` with every completion at the end of the first `length` bytes of
 * `line`.  Returns how many bytes before that end the word begins. */
size_t prompt_complete(struct prompt *p, const char *line, size_t length,
                       void (*found)(void *ctx, const char *name), void *ctx);

#endif
