/* prompt_compound.c - compound statements: loops, conditions, functions. */
#include "prompt_compound.h"

#include <string.h>

typedef struct prompt_node node;

/* ---- conditions --------------------------------------------------------------- */

/* On a line of its own, after a body on the same line as the ':'. */
static bool next_line_is_otherwise(const struct prompt_parser *p)
{
    struct prompt_lexer ahead = p->lexer;
    struct prompt_error ignored;
    struct prompt_token t;

    if (p->now.kind != TOKEN_NEWLINE)
        return false;
    ignored.text[0] = '\0';
    ahead.error = &ignored;
    return prompt_lexer_next(&ahead, &t) &&
           (prompt_token_is(&t, "else") || prompt_token_is(&t, "elif"));
}

static bool otherwise_follows(struct prompt_parser *p)
{
    if (next_line_is_otherwise(p) && !prompt_parser_advance(p))
        return false;
    return prompt_parser_is(p, "else") || prompt_parser_is(p, "elif");
}

static node *parse_otherwise(struct prompt_parser *p)
{
    bool was_elif = prompt_parser_is(p, "elif");

    p->block_ended = false;
    if (was_elif)
        return prompt_parse_if(p);
    return prompt_parser_advance(p) ? prompt_parse_body(p) : NULL;
}

node *prompt_parse_if(struct prompt_parser *p)
{
    node *n = prompt_parser_node(p, NODE_IF, prompt_parser_at(p));

    if (n == NULL || !prompt_parser_advance(p) ||
        prompt_parser_add(p, n, prompt_parser_expression(p)) == NULL ||
        prompt_parser_add(p, n, prompt_parse_body(p)) == NULL)
        return NULL;
    if (!otherwise_follows(p))
        return p->error->text[0] == '\0' ? n : NULL;
    if (p->depth == PARSER_DEPTH_MAX)
        return prompt_parser_too_deep(p);
    p->depth++;
    n = prompt_parser_add(p, n, parse_otherwise(p));
    p->depth--;
    return n;
}

/* ---- loops -------------------------------------------------------------------- */

node *prompt_parse_loop_body(struct prompt_parser *p)
{
    node *body;

    p->loops++;
    body = prompt_parse_body(p);
    p->loops--;
    return body;
}

node *prompt_parse_while(struct prompt_parser *p)
{
    node *n = prompt_parser_node(p, NODE_WHILE, prompt_parser_at(p));

    if (n == NULL || !prompt_parser_advance(p) ||
        prompt_parser_add(p, n, prompt_parser_expression(p)) == NULL)
        return NULL;
    return prompt_parser_add(p, n, prompt_parse_loop_body(p));
}

node *prompt_parse_leave(struct prompt_parser *p)
{
    enum prompt_node_kind kind =
        prompt_parser_is(p, "break") ? NODE_BREAK : NODE_CONTINUE;
    node *n = prompt_parser_node(p, kind, prompt_parser_at(p));

    if (p->loops == 0) {
        prompt_error_set(p->error, prompt_parser_at(p),
                         "'%.*s' stands in no loop", (int)p->now.length,
                         p->now.start);
        return NULL;
    }
    return n != NULL && prompt_parser_advance(p) ? n : NULL;
}

/* ---- functions ---------------------------------------------------------------- */

/* NAME or NAME=VALUE: a NODE_NAME, or a NODE_KEYWORD with the value. */
static node *parse_parameter(struct prompt_parser *p)
{
    node *name, *n;

    if (p->now.kind != TOKEN_NAME || prompt_parser_is_keyword(p))
        return prompt_parser_expected(p, "a parameter's name");
    name = prompt_parser_name(p);
    if (name == NULL || !prompt_parser_is(p, "="))
        return name;
    n = prompt_parser_node(p, NODE_KEYWORD, name->at);
    if (n == NULL || !prompt_parser_advance(p))
        return NULL;
    n->text = name->text;
    return prompt_parser_add(p, n, prompt_parser_expression(p));
}

static bool check_order(struct prompt_parser *p, const node *parameters)
{
    bool has_value = false;

    for (const node *n = parameters->first; n != NULL; n = n->next) {
        if (n->kind == NODE_NAME && has_value)
            return prompt_error_set(p->error, n->at,
                                    "a parameter without a value after one "
                                    "with");
        has_value = n->kind == NODE_KEYWORD;
        for (const node *other = n->next; other != NULL; other = other->next) {
            if (strcmp(n->text, other->text) == 0)
                return prompt_error_set(p->error, other->at,
                                        "'%s' is there twice", n->text);
        }
    }
    return true;
}

static node *parse_parameters(struct prompt_parser *p)
{
    node *all = prompt_parser_node(p, NODE_TUPLE, prompt_parser_at(p));

    if (all == NULL || !prompt_parser_expect(p, "(", "'('"))
        return NULL;
    while (!prompt_parser_is(p, ")")) {
        if (prompt_parser_add(p, all, parse_parameter(p)) == NULL)
            return NULL;
        if (prompt_parser_is(p, ")"))
            break;
        if (!prompt_parser_expect(p, ",", "',' or ')'"))
            return NULL;
    }
    return check_order(p, all) && prompt_parser_advance(p) ? all : NULL;
}

/* A function's body is in none of the loops around it. */
static node *parse_function_body(struct prompt_parser *p)
{
    unsigned loops = p->loops;
    node *body;

    p->functions++;
    p->loops = 0;
    body = prompt_parse_body(p);
    p->loops = loops;
    p->functions--;
    return body;
}

/* The function outlives this tree: it keeps its source and parses it again. */
static node *source_of(struct prompt_parser *p, size_t begin)
{
    node *n = prompt_parser_node(p, NODE_STRING, begin);

    if (n == NULL)
        return NULL;
    n->text = prompt_tree_text(p->tree, p->lexer.text + begin,
                               p->previous_end - begin);
    if (n->text == NULL) {
        prompt_error_set(p->error, begin, "out of host memory");
        return NULL;
    }
    return n;
}

node *prompt_parse_def(struct prompt_parser *p)
{
    size_t begin = prompt_parser_at(p);
    node *n = prompt_parser_node(p, NODE_DEF, begin), *name;

    if (p->functions > 0) {
        prompt_error_set(p->error, begin,
                         "a function within a function is not in the prompt's "
                         "part of Python");
        return NULL;
    }
    if (n == NULL || !prompt_parser_advance(p))
        return NULL;
    if (p->now.kind != TOKEN_NAME || prompt_parser_is_keyword(p))
        return prompt_parser_expected(p, "the function's name");
    name = prompt_parser_name(p);
    if (name == NULL)
        return NULL;
    n->text = name->text;
    if (prompt_parser_add(p, n, parse_parameters(p)) == NULL ||
        prompt_parser_add(p, n, parse_function_body(p)) == NULL)
        return NULL;
    return prompt_parser_add(p, n, source_of(p, begin));
}

node *prompt_parse_return(struct prompt_parser *p)
{
    node *n = prompt_parser_node(p, NODE_RETURN, prompt_parser_at(p));

    if (p->functions == 0) {
        prompt_error_set(p->error, prompt_parser_at(p),
                         "'return' stands in no function");
        return NULL;
    }
    if (n == NULL || !prompt_parser_advance(p))
        return NULL;
    return prompt_parse_ends(p)
               ? n
               : prompt_parser_add(p, n, prompt_parse_values(p));
}

/* ---- lines -------------------------------------------------------------------- */

static bool begins_with(const char *line, const char *word)
{
    size_t length = strlen(word);

    return strncmp(line, word, length) == 0 &&
           (line[length] == '\0' || strchr(" \t(:\r\n", line[length]) != NULL);
}

bool prompt_goes_on(const char *text, const char *line)
{
    bool is_open = false;

    if (!begins_with(line, "else") && !begins_with(line, "elif"))
        return false;
    for (; *text != '\0'; text += strcspn(text, "\n"), text += *text == '\n') {
        if (begins_with(text, "if") || begins_with(text, "elif"))
            is_open = true;
        else if (strchr(" \t\r\n", *text) == NULL)
            is_open = false;
    }
    return is_open;
}
