/* prompt_editor.c - the prompt on a terminal, with libedit: editing, history,
 * completion. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

#include <histedit.h>

#include "prompt_shell.h"

enum { HISTORY_LINES = 1000, NAMES_MAX = 1024, PATH_BYTES = 1024 };

static volatile sig_atomic_t interrupted;

struct editor {
    struct prompt_shell *shell;
    EditLine *el;
    History *history;
    const char *mark;      /* "> ", or ". " within a block */
    char path[PATH_BYTES]; /* of the history file; "": none */
};

/* ---- interrupts ---------------------------------------------------------------- */

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

/* Without SA_RESTART, so that waiting for a key ends too. */
static void catch_interrupts(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

/* False: an interrupt.  Interrupts are unblocked only while this waits, so none
 * can be lost between the check and the wait. */
static bool wait_for_key(void)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    sigset_t interrupts, before;
    bool ready = false;

    sigemptyset(&interrupts);
    sigaddset(&interrupts, SIGINT);
    pthread_sigmask(SIG_BLOCK, &interrupts, &before);
    while (!interrupted && !ready)
        ready = ppoll(&in, 1, NULL, &before) > 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ready && !interrupted;
}

/* Read a key for libedit: returns 1, or 0 at the end of input or on an
 * interrupt. */
static int read_key(EditLine *el, wchar_t *out)
{
    mbstate_t state;

    (void)el;
    memset(&state, 0, sizeof state);
    while (wait_for_key()) {
        char byte;
        ssize_t got = read(STDIN_FILENO, &byte, 1);

        if (got == 0)
            return 0;
        if (got < 0 && errno != EINTR)
            return -1;
        if (got == 1) {
            size_t used = mbrtowc(out, &byte, 1, &state);

            if (used == 0 || used == 1)
                return 1;
            if (used == (size_t)-1)
                memset(&state, 0, sizeof state);
        }
    }
    return 0;
}

/* ---- history -------------------------------------------------------------------- */

static bool make_folders(char *path)
{
    for (char *p = strchr(path + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
        *p = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST) {
            *p = '/';
            return false;
        }
        *p = '/';
    }
    return true;
}

static void find_history(struct editor *e)
{
    const char *set = secure_getenv("LARDER_HISTORY");
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    int length = 0;

    if (set != NULL)
        length = snprintf(e->path, sizeof e->path, "%s", set);
    else if (state != NULL && *state == '/')
        length =
            snprintf(e->path, sizeof e->path, "%s/larder/lab_history", state);
    else if (home != NULL && *home == '/')
        length = snprintf(e->path, sizeof e->path,
                          "%s/.local/state/larder/lab_history", home);
    if (length < 0 || (size_t)length >= sizeof e->path)
        e->path[0] = '\0';
}

static void load_history(struct editor *e)
{
    HistEvent event;

    find_history(e);
    history(e->history, &event, H_SETSIZE, HISTORY_LINES);
    history(e->history, &event, H_SETUNIQUE, 1);
    if (e->path[0] != '\0')
        history(e->history, &event, H_LOAD, e->path);
}

/* A failure is not worth reporting. */
static void save_history(struct editor *e)
{
    HistEvent event;
    mode_t was;

    if (e->path[0] == '\0' || !make_folders(e->path))
        return;
    was = umask(077);
    history(e->history, &event, H_SAVE, e->path);
    umask(was);
}

/* ---- completion ------------------------------------------------------------------ */

struct names {
    const char *name[NAMES_MAX];
    size_t count;
};

static void keep_name(void *ctx, const char *name)
{
    struct names *n = ctx;

    for (size_t i = 0; i < n->count; i++) {
        if (strcmp(n->name[i], name) == 0)
            return;
    }
    if (n->count < NAMES_MAX)
        n->name[n->count++] = name;
}

static int by_text(const void *a, const void *b)
{
    const char *const *left = a;
    const char *const *right = b;

    return strcmp(*left, *right);
}

/* The length of the prefix common to all names. */
static size_t common_length(const struct names *n)
{
    size_t length = n->count > 0 ? strlen(n->name[0]) : 0;

    for (size_t i = 1; i < n->count; i++) {
        size_t same = 0;

        while (same < length && n->name[i][same] == n->name[0][same])
            same++;
        length = same;
    }
    return length;
}

static void list_names(struct editor *e, struct names *n)
{
    size_t column = 0;
    size_t width = e->shell->width != 0 ? e->shell->width : 80;

    qsort(n->name, n->count, sizeof n->name[0], by_text);
    fputc('\n', e->shell->out);
    for (size_t i = 0; i < n->count; i++) {
        size_t length = strlen(n->name[i]) + 2;

        if (column + length > width) {
            fputc('\n', e->shell->out);
            column = 0;
        }
        fprintf(e->shell->out, "%s  ", n->name[i]);
        column += length;
    }
    fputc('\n', e->shell->out);
    fflush(e->shell->out);
}

static unsigned char complete(EditLine *el, int key)
{
    const LineInfo *line = el_line(el);
    struct editor *e = NULL;
    struct names n = {.count = 0};
    char rest[64];
    size_t typed, length;

    (void)key;
    if (el_get(el, EL_CLIENTDATA, &e) != 0 || e == NULL)
        return CC_ERROR;
    typed =
        prompt_complete(&e->shell->prompt, line->buffer,
                        (size_t)(line->cursor - line->buffer), keep_name, &n);
    length = common_length(&n);
    if (length > typed && length - typed < sizeof rest) {
        memcpy(rest, n.name[0] + typed, length - typed);
        rest[length - typed] = '\0';
        el_insertstr(el, rest);
        return CC_REFRESH;
    }
    if (n.count < 2)
        return CC_ERROR;
    list_names(e, &n);
    return CC_REDISPLAY;
}

/* ---- lines ------------------------------------------------------------------------ */

static char *mark(EditLine *el)
{
    struct editor *e = NULL;
    static char none[] = "> ";
    static char more[] = ". ";

    if (el_get(el, EL_CLIENTDATA, &e) != 0 || e == NULL)
        return none;
    return e->mark[0] == '.' ? more : none;
}

static bool open_editor(struct editor *e)
{
    e->history = history_init();
    e->el = el_init("larder", stdin, e->shell->out, stderr);
    if (e->history == NULL || e->el == NULL)
        return false;
    el_set(e->el, EL_CLIENTDATA, e);
    el_set(e->el, EL_PROMPT, mark);
    el_set(e->el, EL_EDITOR, "emacs");
    el_set(e->el, EL_GETCFN, read_key);
    el_set(e->el, EL_HIST, history, e->history);
    el_set(e->el, EL_ADDFN, "larder-complete", "complete a name", complete);
    el_set(e->el, EL_BIND, "^I", "larder-complete", NULL);
    el_set(e->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
    load_history(e);
    return true;
}

static void close_editor(struct editor *e)
{
    if (e->history != NULL && e->el != NULL)
        save_history(e);
    if (e->el != NULL)
        el_end(e->el);
    if (e->history != NULL)
        history_end(e->history);
}

/* False at the end of the input. */
static bool edit_line(struct editor *e, struct prompt_text *text)
{
    HistEvent event;
    const char *line;
    int count = 0;

    e->mark = text->length > 0 ? ". " : "> ";
    interrupted = 0;
    line = el_gets(e->el, &count);
    if (interrupted) {
        /* Drop the line, and the block that it belongs to. */
        fputs("^C\n", e->shell->out);
        fflush(e->shell->out);
        el_reset(e->el);
        prompt_text_clear(text);
        return true;
    }
    if (line == NULL || count <= 0) {
        fputc('\n', e->shell->out);
        return false;
    }
    if (line[strspn(line, " \t\r\n")] != '\0')
        history(e->history, &event, H_ENTER, line);
    prompt_text_add(text, line, strlen(line));
    return true;
}

void prompt_shell_edit(struct prompt_shell *s)
{
    struct editor e = {.shell = s, .mark = "> "};
    struct prompt_text text = {0};

    if (!open_editor(&e)) {
        close_editor(&e);
        prompt_shell_read(s);
        return;
    }
    catch_interrupts();
    s->prompt.interrupted = &interrupted;
    while (!s->quit && edit_line(&e, &text)) {
        if (text.length > 0 &&
            prompt_wants_more(prompt_text_of(&text)) != PROMPT_MORE_NO)
            continue;
        interrupted = 0;
        prompt_shell_run(s, prompt_text_of(&text));
        prompt_text_clear(&text);
    }
    s->prompt.interrupted = NULL;
    close_editor(&e);
    prompt_text_free(&text);
}
