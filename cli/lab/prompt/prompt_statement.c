/* prompt_statement.c - statements and blocks: the other half of the parser. */
#include "prompt_compound.h"

#include <string.h>

typedef struct prompt_node node;

static node *parse_statement(struct prompt_parser *p);

/* ---- statements ------------------------------------------------------------------ */

/* One value, or several separated by commas as a tuple. */
node *prompt_parse_values(struct prompt_parser *p)
{
    node *first = prompt_parser_expression(p);
    node *tuple;

    if (first == NULL || !prompt_parser_is(p, ","))
        return first;
    tuple = prompt_parser_add(p, prompt_parser_node(p, NODE_TUPLE, first->at),
                              first);
    while (tuple != NULL && prompt_parser_is(p, ",")) {
        if (!prompt_parser_advance(p))
            return NULL;
        if (p->now.kind == TOKEN_END || p->now.kind == TOKEN_NEWLINE ||
            prompt_parser_is(p, "=") || prompt_parser_is(p, ";") ||
            prompt_parser_is(p, "in"))
            break;
        tuple = prompt_parser_add(p, tuple, prompt_parser_expression(p));
    }
    return tuple;
}

static bool check_target(struct prompt_parser *p, const node *n)
{
    if (n->kind == NODE_NAME || n->kind == NODE_ATTRIBUTE)
        return true;
    if (n->kind == NODE_TUPLE && n->first != NULL) {
        for (const node *item = n->first; item != NULL; item = item->next) {
            if (item->kind != NODE_NAME)
                return prompt_error_set(p->error, item->at,
                                        "only names can stand here");
        }
        return true;
    }
    return prompt_error_set(p->error, n->at, "this cannot be assigned to");
}

static node *parse_assignment(struct prompt_parser *p, node *first)
{
    node *n = prompt_parser_node(p, NODE_ASSIGN, first->at);

    for (;;) {
        bool more = prompt_parser_is(p, "=");

        if (more && !check_target(p, first))
            return NULL;
        n = prompt_parser_add(p, n, first);
        if (n == NULL || !more)
            return n;
        if (!prompt_parser_advance(p))
            return NULL;
        first = prompt_parse_values(p);
        if (first == NULL)
            return NULL;
    }
}

static node *parse_augmented(struct prompt_parser *p, node *target)
{
    node *n = prompt_parser_node(p, NODE_AUGMENT, prompt_parser_at(p));

    if (n == NULL)
        return NULL;
    if (target->kind != NODE_NAME) {
        prompt_error_set(p->error, target->at, "only a name can stand here");
        return NULL;
    }
    prompt_parser_set_op(n, p->now.start, p->now.length - 1);
    if (!prompt_parser_advance(p))
        return NULL;
    return prompt_parser_add(p, prompt_parser_add(p, n, target),
                             prompt_parse_values(p));
}

static node *parse_simple_value(struct prompt_parser *p)
{
    static const char *const augmented[] = {
        "+=", "-=", "*=", "/=", "//=", "%=", "@=", "**=", NULL};
    node *first = prompt_parse_values(p);

    if (first == NULL)
        return NULL;
    if (prompt_parser_is(p, "="))
        return parse_assignment(p, first);
    if (prompt_parser_is_one_of(p, augmented))
        return parse_augmented(p, first);
    return prompt_parser_add(
        p, prompt_parser_node(p, NODE_EXPRESSION, first->at), first);
}

static node *parse_delete(struct prompt_parser *p)
{
    node *n = prompt_parser_node(p, NODE_DELETE, prompt_parser_at(p));

    do {
        if (n == NULL || !prompt_parser_advance(p))
            return NULL;
        if (p->now.kind != TOKEN_NAME || prompt_parser_is_keyword(p))
            return prompt_parser_expected(p, "a name to delete");
        n = prompt_parser_add(p, n, prompt_parser_name(p));
    } while (n != NULL && prompt_parser_is(p, ","));
    return n;
}

/* Everything that can be imported is already defined. */
static node *parse_import(struct prompt_parser *p)
{
    node *n = prompt_parser_node(p, NODE_PASS, prompt_parser_at(p));

    while (n != NULL && p->now.kind != TOKEN_END &&
           p->now.kind != TOKEN_NEWLINE && !prompt_parser_is(p, ";")) {
        if (!prompt_parser_advance(p))
            return NULL;
    }
    return n;
}

bool prompt_parse_ends(const struct prompt_parser *p)
{
    return p->now.kind == TOKEN_END || p->now.kind == TOKEN_NEWLINE ||
           p->now.kind == TOKEN_DEDENT || prompt_parser_is(p, ";");
}

/* Statements separated by ';', to the end of the line. */
static node *parse_line(struct prompt_parser *p, node *block)
{
    for (;;) {
        block = prompt_parser_add(p, block, parse_statement(p));
        if (block == NULL)
            return NULL;
        if (p->block_ended) {
            p->block_ended = false;
            return block;
        }
        if (!prompt_parse_ends(p))
            return prompt_parser_expected(p, "the end of the statement");
        while (prompt_parser_is(p, ";")) {
            if (!prompt_parser_advance(p))
                return NULL;
        }
        if (prompt_parse_ends(p))
            break;
    }
    if (p->now.kind == TOKEN_NEWLINE && !prompt_parser_advance(p))
        return NULL;
    return block;
}

static node *parse_indented(struct prompt_parser *p, node *block)
{
    if (!prompt_parser_advance(p))
        return NULL;
    if (p->now.kind != TOKEN_INDENT)
        return prompt_parser_expected(p, "an indented line");
    if (!prompt_parser_advance(p))
        return NULL;
    while (block != NULL && p->now.kind != TOKEN_DEDENT &&
           p->now.kind != TOKEN_END)
        block = parse_line(p, block);
    if (block == NULL ||
        (p->now.kind == TOKEN_DEDENT && !prompt_parser_advance(p)))
        return NULL;
    p->block_ended = true;
    return block;
}

node *prompt_parse_body(struct prompt_parser *p)
{
    node *block = prompt_parser_node(p, NODE_BLOCK, prompt_parser_at(p));

    if (block == NULL || !prompt_parser_expect(p, ":", "':'"))
        return NULL;
    if (p->now.kind == TOKEN_NEWLINE)
        return parse_indented(p, block);
    /* The caller's line consumes the newline. */
    for (;;) {
        block = prompt_parser_add(p, block, parse_statement(p));
        if (block == NULL || !prompt_parser_is(p, ";"))
            return block;
        if (!prompt_parser_advance(p))
            return NULL;
        if (prompt_parse_ends(p))
            return block;
    }
}

static node *parse_for(struct prompt_parser *p)
{
    node *n = prompt_parser_node(p, NODE_FOR, prompt_parser_at(p));
    node *target;

    if (n == NULL || !prompt_parser_advance(p))
        return NULL;
    if (p->now.kind != TOKEN_NAME)
        return prompt_parser_expected(p, "a name after 'for'");
    target = prompt_parse_values(p);
    if (target == NULL || !check_target(p, target) ||
        prompt_parser_add(p, n, target) == NULL ||
        !prompt_parser_expect(p, "in", "'in'") ||
        prompt_parser_add(p, n, prompt_parse_values(p)) == NULL)
        return NULL;
    return prompt_parser_add(p, n, prompt_parse_loop_body(p));
}

static node *parse_with(struct prompt_parser *p)
{
    node *n = prompt_parser_node(p, NODE_WITH, prompt_parser_at(p));

    if (n == NULL || !prompt_parser_advance(p) ||
        prompt_parser_add(p, n, prompt_parser_expression(p)) == NULL)
        return NULL;
    return prompt_parser_add(p, n, prompt_parse_body(p));
}

static node *parse_pass(struct prompt_parser *p)
{
    node *n = prompt_parser_node(p, NODE_PASS, prompt_parser_at(p));

    return n != NULL && prompt_parser_advance(p) ? n : NULL;
}

static node *parse_by_keyword(struct prompt_parser *p)
{
    if (prompt_parser_is(p, "del"))
        return parse_delete(p);
    if (prompt_parser_is(p, "for"))
        return parse_for(p);
    if (prompt_parser_is(p, "with"))
        return parse_with(p);
    if (prompt_parser_is(p, "pass"))
        return parse_pass(p);
    if (prompt_parser_is(p, "if"))
        return prompt_parse_if(p);
    if (prompt_parser_is(p, "while"))
        return prompt_parse_while(p);
    if (prompt_parser_is(p, "def"))
        return prompt_parse_def(p);
    if (prompt_parser_is(p, "return"))
        return prompt_parse_return(p);
    if (prompt_parser_is(p, "break") || prompt_parser_is(p, "continue"))
        return prompt_parse_leave(p);
    if (prompt_parser_is(p, "import") || prompt_parser_is(p, "from"))
        return parse_import(p);
    return parse_simple_value(p);
}

static node *parse_statement(struct prompt_parser *p)
{
    size_t begin = prompt_parser_at(p);
    node *n;

    if (p->now.kind == TOKEN_STRING)
        begin--;
    if (p->now.kind == TOKEN_INDENT)
        return prompt_parser_expected(p, "a line that is not indented");
    if (p->depth == PARSER_DEPTH_MAX)
        return prompt_parser_too_deep(p);
    p->depth++;
    n = parse_by_keyword(p);
    p->depth--;
    if (n != NULL) {
        n->begin = begin;
        n->end = p->previous_end;
    }
    return n;
}

static node *parse_text(struct prompt_parser *p)
{
    node *block = prompt_parser_node(p, NODE_BLOCK, 0);

    while (block != NULL && p->now.kind != TOKEN_END) {
        if (p->now.kind == TOKEN_NEWLINE) {
            if (!prompt_parser_advance(p))
                return NULL;
            continue;
        }
        block = parse_line(p, block);
    }
    return block;
}

bool prompt_parse(const char *text, struct prompt_tree *out,
                  struct prompt_error *error)
{
    struct prompt_parser p = {.tree = out, .error = error};

    memset(out, 0, sizeof *out);
    prompt_lexer_init(&p.lexer, text, error);
    p.now.start = text;
    if (prompt_lexer_next(&p.lexer, &p.now))
        out->statements = parse_text(&p);
    if (out->statements == NULL)
        prompt_tree_free(out);
    return out->statements != NULL;
}

/* ---- several lines ------------------------------------------------------------------ */

static bool last_line_is_blank(const char *text)
{
    size_t length = strlen(text);
    size_t blank = 0;

    if (length > 0 && text[length - 1] == '\n')
        length--;
    while (blank < length && strchr(" \t\r", text[length - 1 - blank]) != NULL)
        blank++;
    return blank == length || text[length - 1 - blank] == '\n';
}

enum prompt_more prompt_wants_more(const char *text)
{
    struct prompt_error ignored;
    struct prompt_lexer x;
    struct prompt_token t;
    bool block = false;
    bool colon = false;

    prompt_lexer_init(&x, text, &ignored);
    do {
        if (!prompt_lexer_next(&x, &t))
            return PROMPT_MORE_NO;
        if (t.kind == TOKEN_NEWLINE || t.kind == TOKEN_END)
            block = block || colon;
        if (t.kind != TOKEN_END && t.kind != TOKEN_DEDENT)
            colon = prompt_token_is(&t, ":");
    } while (t.kind != TOKEN_END);
    if (x.open)
        return PROMPT_MORE_BRACKET;
    return block && !last_line_is_blank(text) ? PROMPT_MORE_BLOCK
                                              : PROMPT_MORE_NO;
}
