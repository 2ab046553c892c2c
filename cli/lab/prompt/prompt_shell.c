#include "prompt_shell.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lab/lab_history.h"

/* The report on one statement. */
struct report {
    const char *statement;
    bool ok;
    bool alone;       /* it is all that was typed */
    bool word;        /* no statement: the panel is not shown */
    const char *text; /* text in which the error's offset counts */
    lab_memory before;
};

/* ---- as text ---------------------------------------------------------------------- */

/* Whether the typed text is on the screen already. */
static bool is_shown(const struct prompt_shell *s, const struct report *r)
{
    return s->interactive && r->alone;
}

static void print_statement(struct prompt_shell *s, const struct report *r)
{
    const char *line = r->statement;
    const char *mark = "> ";

    while (*line != '\0') {
        size_t length = strcspn(line, "\n");

        fprintf(s->out, "%s%s%.*s%s\n", s->colour ? "\033[1m" : "", mark,
                (int)length, line, s->colour ? "\033[0m" : "");
        line += length + (line[length] == '\n');
        mark = ". ";
    }
}

static void print_panel(struct prompt_shell *s, const struct report *r)
{
    unsigned flags =
        (s->colour ? LAB_PANEL_COLOUR : 0u) | (s->ascii ? LAB_PANEL_ASCII : 0u);
    size_t length =
        lab_panel(s->prompt.lab, NULL, &r->before, s->width, flags, NULL, 0);
    char *text = malloc(length + 1);

    if (text == NULL)
        return;
    lab_panel(s->prompt.lab, NULL, &r->before, s->width, flags, text,
              length + 1);
    fputs(text, s->out);
    free(text);
}

/* The number of columns of the first `bytes`: one for each character. */
static int columns_of(const char *s, size_t bytes)
{
    int columns = 0;

    for (size_t i = 0; i < bytes && s[i] != '\0'; i++)
        columns += ((unsigned char)s[i] & 0xC0) != 0x80;
    return columns;
}

static void print_error(struct prompt_shell *s, const struct report *r)
{
    const struct prompt_error *e = &s->prompt.error;
    const char *red = s->colour ? "\033[31m" : "";
    const char *off = s->colour ? "\033[0m" : "";
    size_t length = strlen(r->text);
    size_t at = e->at < length ? e->at : length;
    size_t line = at;

    fflush(s->out);
    if (s->prompt.interrupted != NULL && *s->prompt.interrupted) {
        /* The terminal has echoed ^C. */
        fprintf(stderr, "\n%serror:%s %s\n", red, off, e->text);
        return;
    }
    while (line > 0 && r->text[line - 1] != '\n')
        line--;
    /* Below the typed text, or below a copy of it. */
    if (!is_shown(s, r) || strchr(r->text, '\n') != NULL)
        fprintf(stderr, "> %.*s\n", (int)strcspn(r->text + line, "\n"),
                r->text + line);
    if (e->at != SIZE_MAX)
        fprintf(stderr, "%*s%s^%s\n", 2 + columns_of(r->text + line, at - line),
                "", red, off);
    fprintf(stderr, "%serror:%s %s\n", red, off, e->text);
}

static bool same_memory(const lab_memory *a, const lab_memory *b)
{
    return a->host_bytes == b->host_bytes && a->smi_bytes == b->smi_bytes &&
           a->reserved_bytes == b->reserved_bytes &&
           a->allocated_bytes == b->allocated_bytes;
}

static void print_text(struct prompt_shell *s, const struct report *r,
                       const lab_memory *now)
{
    if (r->ok && !r->word && !is_shown(s, r))
        print_statement(s, r);
    fputs(prompt_text_of(&s->prompt.output), s->out);
    if (!r->ok)
        print_error(s, r);
    /* A statement that failed may have had effects. */
    if (!r->word && (r->ok || !same_memory(&r->before, now)))
        print_panel(s, r);
}

/* ---- as JSON ---------------------------------------------------------------------- */

static void put_string(struct prompt_text *t, const char *name,
                       const char *value)
{
    prompt_text_put(t, "\"%s\": ", name);
    if (value != NULL)
        prompt_text_json(t, value);
    else
        prompt_text_put(t, "null");
    prompt_text_put(t, ", ");
}

static void prompt_shell_print_json(struct prompt_shell *s,
                                    const struct report *r, const lab_memory *m)
{
    struct prompt_text t = {0};

    prompt_text_put(&t, "{");
    put_string(&t, "statement", r->statement);
    prompt_text_put(&t, "\"ok\": %s, ", r->ok ? "true" : "false");
    put_string(&t, "error", r->ok ? NULL : s->prompt.error.text);
    put_string(&t, "output", prompt_text_of(&s->prompt.output));
    prompt_text_put(&t, "\"host_bytes\": %" PRIu64, m->host_bytes);
    prompt_text_put(&t, ", \"context_bytes\": %" PRIu64, m->context_bytes);
    prompt_text_put(&t, ", \"smi_bytes\": %" PRIu64, m->smi_bytes);
    prompt_text_put(&t, ", \"reserved_bytes\": %" PRIu64, m->reserved_bytes);
    prompt_text_put(&t, ", \"allocated_bytes\": %" PRIu64, m->allocated_bytes);
    prompt_text_put(&t, ", \"requested_bytes\": %" PRIu64 "}",
                    m->requested_bytes);
    fprintf(s->out, "%s\n", prompt_text_of(&t));
    prompt_text_free(&t);
}

static void show(struct prompt_shell *s, const struct report *r)
{
    lab_memory now;

    lab_memory_init(&now);
    lab_memory_get(s->prompt.lab, &now);
    if (!r->ok)
        s->failed = true;
    if (s->json)
        prompt_shell_print_json(s, r, &now);
    else
        print_text(s, r, &now);
    fflush(s->out);
}

/* ---- running ---------------------------------------------------------------------- */

static void begin_report(struct prompt_shell *s, struct report *r)
{
    memset(r, 0, sizeof *r);
    lab_memory_init(&r->before);
    lab_memory_get(s->prompt.lab, &r->before);
}

static void run_word(struct prompt_shell *s, const struct prompt_word *word,
                     const char *argument, const char *line)
{
    struct report r;

    begin_report(s, &r);
    prompt_text_clear(&s->prompt.output);
    s->prompt.failed = false;
    r.statement = line;
    r.text = line;
    r.alone = true;
    r.word = true;
    r.ok = word->run(s, argument);
    show(s, &r);
}

static void parse_failed(struct prompt_shell *s, const char *text)
{
    struct report r;

    begin_report(s, &r);
    prompt_text_clear(&s->prompt.output);
    r.statement = text;
    r.text = text;
    r.alone = true;
    show(s, &r);
}

/* The statement's text without trailing blanks; the caller frees it. */
static char *statement_text(const char *text, const struct prompt_node *n)
{
    size_t end = n->end;

    while (end > n->begin && strchr(" \t\r\n;", text[end - 1]) != NULL)
        end--;
    return strndup(text + n->begin, end - n->begin);
}

static bool run_statement(struct prompt_shell *s, const char *text,
                          const struct prompt_node *n, bool alone)
{
    char *statement = statement_text(text, n);
    struct report r;

    begin_report(s, &r);
    r.statement = statement != NULL ? statement : "";
    r.text = text;
    r.alone = alone;
    s->prompt.live = is_shown(s, &r) ? s->out : NULL;
    r.ok = prompt_run(&s->prompt, n);
    s->prompt.live = NULL;
    show(s, &r);
    free(statement);
    return r.ok;
}

/* A copy without the line end. */
static char *copy_line(const char *text)
{
    size_t length = strlen(text);

    while (length > 0 && strchr("\r\n", text[length - 1]) != NULL)
        length--;
    return strndup(text, length);
}

static void run_text(struct prompt_shell *s, const char *text)
{
    const struct prompt_word *word;
    const char *argument;
    struct prompt_tree tree;
    const struct prompt_node *n;

    word = prompt_find_word(s, text, &argument);
    if (word != NULL) {
        run_word(s, word, argument, text);
        return;
    }
    if (!prompt_parse(text, &tree, &s->prompt.error)) {
        parse_failed(s, text);
        return;
    }
    lab_history_note(s->prompt.lab, text);
    n = tree.statements->first;
    while (n != NULL &&
           run_statement(s, text, n,
                         n == tree.statements->first && n->next == NULL))
        n = n->next;
    lab_history_note_end();
    prompt_tree_free(&tree);
}

void prompt_shell_run(struct prompt_shell *s, const char *text)
{
    char *copy = copy_line(text);

    if (copy == NULL) {
        fputs("larder lab: out of host memory\n", stderr);
        s->failed = true;
        return;
    }
    run_text(s, copy);
    free(copy);
}

/* ---- reading ---------------------------------------------------------------------- */

/* Whether the line continues what was begun. */
static bool belongs(const char *begun, const char *line)
{
    enum prompt_more more = prompt_wants_more(begun);

    return more == PROMPT_MORE_BRACKET ||
           (more == PROMPT_MORE_BLOCK && (strchr(" \t\r\n", line[0]) != NULL ||
                                          prompt_goes_on(begun, line)));
}

void prompt_shell_read(struct prompt_shell *s)
{
    struct prompt_text text = {0};
    char *line = NULL;
    size_t capacity = 0;

    while (!s->quit && getline(&line, &capacity, stdin) >= 0) {
        if (text.length > 0 && !belongs(prompt_text_of(&text), line)) {
            prompt_shell_run(s, prompt_text_of(&text));
            prompt_text_clear(&text);
        }
        /* Here, unlike on a terminal, a blank line does not end a block. */
        if (text.length > 0 && line[strspn(line, " \t\r\n")] == '\0')
            continue;
        prompt_text_add(&text, line, strlen(line));
        if (!s->quit &&
            prompt_wants_more(prompt_text_of(&text)) == PROMPT_MORE_NO) {
            prompt_shell_run(s, prompt_text_of(&text));
            prompt_text_clear(&text);
        }
    }
    if (!s->quit && text.length > 0)
        prompt_shell_run(s, prompt_text_of(&text));
    prompt_text_free(&text);
    free(line);
}

/* ---- snapshots --------------------------------------------------------------------- */

bool prompt_snapshot_write(struct prompt *p, const char *path)
{
    return lab_history_write(p->lab, path) == LARDER_OK ||
           prompt_fail(p, "%s", larder_last_error());
}
