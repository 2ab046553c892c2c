/* prompt_parser.c - expressions: a part of Python's grammar, by recursive
 * descent. */
#include "prompt_parser.h"

#include <stdio.h>
#include <string.h>

typedef struct prompt_node node;

static node *parse_unary(struct prompt_parser *p);

/* ---- tokens ---------------------------------------------------------------- */

size_t prompt_parser_at(const struct prompt_parser *p)
{
    return (size_t)(p->now.start - p->lexer.text);
}

bool prompt_parser_advance(struct prompt_parser *p)
{
    p->previous_end = prompt_parser_at(p) + p->now.length;
    if (p->now.kind == TOKEN_STRING)
        p->previous_end++;
    return prompt_lexer_next(&p->lexer, &p->now);
}

bool prompt_parser_is(const struct prompt_parser *p, const char *word)
{
    return prompt_token_is(&p->now, word);
}

static const char *token_text(const struct prompt_parser *p, char out[32])
{
    switch (p->now.kind) {
    case TOKEN_END:
    case TOKEN_NEWLINE:
        return "the end of the line";
    case TOKEN_INDENT:
        return "an indented line";
    case TOKEN_DEDENT:
        return "the end of the block";
    default:
        break;
    }
    snprintf(out, 32, "'%.*s'", (int)(p->now.length < 28 ? p->now.length : 28),
             p->now.start);
    return out;
}

node *prompt_parser_expected(struct prompt_parser *p, const char *what)
{
    char text[32];

    prompt_error_set(p->error, prompt_parser_at(p), "expected %s, found %s",
                     what, token_text(p, text));
    return NULL;
}

bool prompt_parser_expect(struct prompt_parser *p, const char *word,
                          const char *what)
{
    if (!prompt_parser_is(p, word)) {
        prompt_parser_expected(p, what);
        return false;
    }
    return prompt_parser_advance(p);
}

/* ---- nodes ------------------------------------------------------------------ */

static node *prompt_parser_no_memory(struct prompt_parser *p)
{
    prompt_error_set(p->error, prompt_parser_at(p), "out of host memory");
    return NULL;
}

node *prompt_parser_node(struct prompt_parser *p, enum prompt_node_kind kind,
                         size_t at)
{
    node *n = prompt_node_new(p->tree, kind, at);

    return n != NULL ? n : prompt_parser_no_memory(p);
}

node *prompt_parser_too_deep(struct prompt_parser *p)
{
    prompt_error_set(p->error, prompt_parser_at(p), "nested too deeply");
    return NULL;
}

/* NULL (also if the child is NULL) after an error. */
node *prompt_parser_add(struct prompt_parser *p, node *parent, node *child)
{
    if (parent == NULL || child == NULL)
        return NULL;
    prompt_node_add(parent, child);
    return parent->depth <= PARSER_DEPTH_MAX ? parent
                                             : prompt_parser_too_deep(p);
}

static node *set_text(struct prompt_parser *p, node *n)
{
    if (n == NULL)
        return NULL;
    n->text = prompt_tree_text(p->tree, p->now.start, p->now.length);
    return n->text != NULL ? n : prompt_parser_no_memory(p);
}

void prompt_parser_set_op(node *n, const char *op, size_t length)
{
    memcpy(n->op, op, length < sizeof n->op ? length : sizeof n->op - 1);
}

/* ---- atoms ------------------------------------------------------------------ */

bool prompt_parser_is_keyword(const struct prompt_parser *p)
{
    static const char *const words[] = {
        "and",    "as",       "assert", "async",  "await",    "break",
        "class",  "continue", "def",    "del",    "elif",     "else",
        "except", "finally",  "for",    "from",   "global",   "if",
        "import", "in",       "is",     "lambda", "nonlocal", "not",
        "or",     "pass",     "raise",  "return", "try",      "while",
        "with",   "yield"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (p->now.kind == TOKEN_NAME && prompt_parser_is(p, words[i]))
            return true;
    }
    return false;
}

/* Unsupported keywords are reported where they occur. */
static node *refuse_keyword(struct prompt_parser *p)
{
    if (prompt_parser_is(p, "in") || prompt_parser_is(p, "as") ||
        prompt_parser_is(p, "is"))
        return prompt_parser_expected(p, "a value");
    prompt_error_set(p->error, prompt_parser_at(p),
                     "'%.*s' is not in the prompt's part of Python here; "
                     "'larder lab run FILE.py' runs whole programs",
                     (int)p->now.length, p->now.start);
    return NULL;
}

node *prompt_parser_name(struct prompt_parser *p)
{
    size_t start = prompt_parser_at(p);
    node *n;

    if (prompt_parser_is_keyword(p))
        return refuse_keyword(p);
    if (prompt_parser_is(p, "None")) {
        n = prompt_parser_node(p, NODE_NONE, start);
    } else if (prompt_parser_is(p, "True") || prompt_parser_is(p, "False")) {
        n = prompt_parser_node(p, NODE_BOOL, start);
        if (n != NULL)
            n->integer = prompt_parser_is(p, "True");
    } else {
        n = set_text(p, prompt_parser_node(p, NODE_NAME, start));
    }
    if (n == NULL || !prompt_parser_advance(p))
        return NULL;
    if (p->now.kind == TOKEN_STRING &&
        p->now.start == p->lexer.text + start + 2) {
        prompt_error_set(p->error, start,
                         "strings with a letter before them are not in the "
                         "prompt's part of Python");
        return NULL;
    }
    return n;
}

static node *parse_number(struct prompt_parser *p)
{
    bool whole = p->now.kind == TOKEN_INT;
    node *n = prompt_parser_node(p, whole ? NODE_INT : NODE_FLOAT,
                                 prompt_parser_at(p));

    if (n == NULL)
        return NULL;
    n->integer = p->now.integer;
    n->real = p->now.real;
    return prompt_parser_advance(p) ? n : NULL;
}

/* Replace escape sequences by the characters they stand for. */
static void unescape(char *s)
{
    char *to = s;

    for (; *s != '\0'; s++) {
        if (s[0] == '\\' && s[1] != '\0') {
            s++;
            *to++ = *s == 'n' ? '\n' : *s == 't' ? '\t' : *s;
        } else {
            *to++ = *s;
        }
    }
    *to = '\0';
}

static node *parse_string(struct prompt_parser *p)
{
    node *n = prompt_parser_node(p, NODE_STRING, prompt_parser_at(p) - 1);
    char *text = prompt_tree_text(p->tree, p->now.start, p->now.length);

    if (n == NULL || text == NULL)
        return prompt_parser_no_memory(p);
    unescape(text);
    n->text = text;
    return prompt_parser_advance(p) ? n : NULL;
}

/* Items up to `close`; *comma (unless NULL) tells whether there was a comma. */
static node *parse_items(struct prompt_parser *p, node *n, const char *close,
                         bool *comma)
{
    while (!prompt_parser_is(p, close)) {
        if (prompt_parser_add(p, n, prompt_parser_expression(p)) == NULL)
            return NULL;
        if (prompt_parser_is(p, close))
            break;
        if (prompt_parser_is(p, "for") && strcmp(close, "]") == 0) {
            prompt_error_set(p->error, prompt_parser_at(p),
                             "lists are written out here: 'for' is a "
                             "statement of its own");
            return NULL;
        }
        if (!prompt_parser_expect(
                p, ",", close[0] == ')' ? "',' or ')'" : "',' or ']'"))
            return NULL;
        if (comma != NULL)
            *comma = true;
    }
    return prompt_parser_advance(p) ? n : NULL;
}

static node *parse_parentheses(struct prompt_parser *p)
{
    node *n = prompt_parser_node(p, NODE_TUPLE, prompt_parser_at(p));
    bool comma = false;

    if (n == NULL || !prompt_parser_advance(p) ||
        parse_items(p, n, ")", &comma) == NULL)
        return NULL;
    return n->first == NULL || comma ? n : n->first;
}

static node *parse_atom(struct prompt_parser *p)
{
    node *n;

    switch (p->now.kind) {
    case TOKEN_NAME:
        return prompt_parser_name(p);
    case TOKEN_INT:
    case TOKEN_FLOAT:
        return parse_number(p);
    case TOKEN_STRING:
        return parse_string(p);
    default:
        break;
    }
    if (prompt_parser_is(p, "("))
        return parse_parentheses(p);
    if (prompt_parser_is(p, "[")) {
        n = prompt_parser_node(p, NODE_LIST, prompt_parser_at(p));
        return n != NULL && prompt_parser_advance(p)
                   ? parse_items(p, n, "]", NULL)
                   : NULL;
    }
    return prompt_parser_expected(p, "a value");
}

/* ---- calls, subscripts and attributes ------------------------------------------ */

static bool next_is_equals(const struct prompt_parser *p)
{
    struct prompt_lexer ahead = p->lexer;
    struct prompt_error ignored;
    struct prompt_token t;

    ignored.text[0] = '\0';
    ahead.error = &ignored;
    return prompt_lexer_next(&ahead, &t) && prompt_token_is(&t, "=");
}

static node *parse_argument(struct prompt_parser *p)
{
    node *n;

    if (prompt_parser_is(p, "*")) {
        n = prompt_parser_node(p, NODE_STAR, prompt_parser_at(p));
        return prompt_parser_advance(p)
                   ? prompt_parser_add(p, n, prompt_parser_expression(p))
                   : NULL;
    }
    if (p->now.kind != TOKEN_NAME || !next_is_equals(p))
        return prompt_parser_expression(p);
    n = set_text(p, prompt_parser_node(p, NODE_KEYWORD, prompt_parser_at(p)));
    if (n == NULL || !prompt_parser_advance(p) || !prompt_parser_advance(p))
        return NULL;
    return prompt_parser_add(p, n, prompt_parser_expression(p));
}

static node *parse_call(struct prompt_parser *p, node *callee)
{
    /* An error of the call is reported at the callee. */
    node *n = prompt_parser_add(p, prompt_parser_node(p, NODE_CALL, callee->at),
                                callee);

    if (n == NULL || !prompt_parser_advance(p))
        return NULL;
    while (!prompt_parser_is(p, ")")) {
        if (prompt_parser_add(p, n, parse_argument(p)) == NULL)
            return NULL;
        if (prompt_parser_is(p, ")"))
            break;
        if (!prompt_parser_expect(p, ",", "',' or ')'"))
            return NULL;
    }
    return prompt_parser_advance(p) ? n : NULL;
}

static bool ends_slice_part(const struct prompt_parser *p)
{
    return prompt_parser_is(p, ":") || prompt_parser_is(p, "]") ||
           prompt_parser_is(p, ",");
}

static node *parse_slice_part(struct prompt_parser *p)
{
    return ends_slice_part(p)
               ? prompt_parser_node(p, NODE_NONE, prompt_parser_at(p))
               : prompt_parser_expression(p);
}

static node *parse_subscript(struct prompt_parser *p)
{
    size_t start = prompt_parser_at(p);
    node *part = parse_slice_part(p);
    node *slice;

    if (part == NULL || !prompt_parser_is(p, ":"))
        return part;
    slice =
        prompt_parser_add(p, prompt_parser_node(p, NODE_SLICE, start), part);
    for (int i = 0; i < 2 && slice != NULL; i++) {
        if (prompt_parser_is(p, ":") && !prompt_parser_advance(p))
            return NULL;
        slice = prompt_parser_add(p, slice, parse_slice_part(p));
    }
    return slice;
}

static node *parse_index(struct prompt_parser *p, node *object)
{
    node *n = prompt_parser_add(
        p, prompt_parser_node(p, NODE_INDEX, object->at), object);

    if (n == NULL || !prompt_parser_advance(p))
        return NULL;
    if (prompt_parser_is(p, "]"))
        return prompt_parser_expected(p, "an index");
    while (!prompt_parser_is(p, "]")) {
        if (prompt_parser_add(p, n, parse_subscript(p)) == NULL)
            return NULL;
        if (prompt_parser_is(p, "]"))
            break;
        if (!prompt_parser_expect(p, ",", "',' or ']'"))
            return NULL;
    }
    return prompt_parser_advance(p) ? n : NULL;
}

static node *parse_attribute(struct prompt_parser *p, node *object)
{
    node *n;

    if (!prompt_parser_advance(p))
        return NULL;
    if (p->now.kind != TOKEN_NAME)
        return prompt_parser_expected(p, "a name after '.'");
    n = set_text(p, prompt_parser_add(p,
                                      prompt_parser_node(p, NODE_ATTRIBUTE,
                                                         prompt_parser_at(p)),
                                      object));
    return n != NULL && prompt_parser_advance(p) ? n : NULL;
}

static node *parse_postfix(struct prompt_parser *p)
{
    node *n = parse_atom(p);

    while (n != NULL) {
        if (prompt_parser_is(p, "("))
            n = parse_call(p, n);
        else if (prompt_parser_is(p, "["))
            n = parse_index(p, n);
        else if (prompt_parser_is(p, "."))
            n = parse_attribute(p, n);
        else
            return n;
    }
    return NULL;
}

/* ---- operators ------------------------------------------------------------------ */

static node *binary(struct prompt_parser *p, enum prompt_node_kind kind,
                    node *left, const struct prompt_token *op, node *right)
{
    node *n = prompt_parser_node(p, kind, (size_t)(op->start - p->lexer.text));

    if (n == NULL)
        return NULL;
    prompt_parser_set_op(n, op->start, op->length);
    return prompt_parser_add(p, prompt_parser_add(p, n, left), right);
}

static node *parse_power(struct prompt_parser *p)
{
    node *left = parse_postfix(p);
    struct prompt_token op = p->now;

    if (left == NULL || !prompt_parser_is(p, "**"))
        return left;
    return prompt_parser_advance(p)
               ? binary(p, NODE_BINARY, left, &op, parse_unary(p))
               : NULL;
}

static node *parse_unary_deeper(struct prompt_parser *p)
{
    node *n;

    if (!prompt_parser_is(p, "-") && !prompt_parser_is(p, "+"))
        return parse_power(p);
    n = prompt_parser_node(p, NODE_UNARY, prompt_parser_at(p));
    if (n == NULL)
        return NULL;
    prompt_parser_set_op(n, p->now.start, 1);
    return prompt_parser_advance(p) ? prompt_parser_add(p, n, parse_unary(p))
                                    : NULL;
}

/* Every recursion passes through here, so its depth is limited here. */
static node *parse_unary(struct prompt_parser *p)
{
    node *n;

    if (p->depth == PARSER_DEPTH_MAX)
        return prompt_parser_too_deep(p);
    p->depth++;
    n = parse_unary_deeper(p);
    p->depth--;
    return n;
}

bool prompt_parser_is_one_of(const struct prompt_parser *p,
                             const char *const *words)
{
    for (; *words != NULL; words++) {
        if (prompt_parser_is(p, *words))
            return true;
    }
    return false;
}

static node *parse_chain(struct prompt_parser *p, const char *const *operators,
                         node *(*part)(struct prompt_parser *p))
{
    node *left = part(p);

    while (left != NULL && prompt_parser_is_one_of(p, operators)) {
        struct prompt_token op = p->now;

        left = prompt_parser_advance(p)
                   ? binary(p, NODE_BINARY, left, &op, part(p))
                   : NULL;
    }
    return left;
}

static node *parse_product(struct prompt_parser *p)
{
    static const char *const operators[] = {"*", "/", "//", "%", "@", NULL};

    return parse_chain(p, operators, parse_unary);
}

static node *parse_sum(struct prompt_parser *p)
{
    static const char *const operators[] = {"+", "-", NULL};

    return parse_chain(p, operators, parse_product);
}

/* One comparison; "is not" is stored as "!is". */
static node *parse_comparison(struct prompt_parser *p)
{
    static const char *const operators[] = {
        "==", "!=", "<", "<=", ">", ">=", "is", NULL};
    node *left = parse_sum(p);
    struct prompt_token op = p->now;
    bool is_not = false;

    if (left == NULL || !prompt_parser_is_one_of(p, operators))
        return left;
    if (!prompt_parser_advance(p))
        return NULL;
    if (prompt_token_is(&op, "is") && prompt_parser_is(p, "not")) {
        is_not = true;
        if (!prompt_parser_advance(p))
            return NULL;
    }
    left = binary(p, NODE_COMPARE, left, &op, parse_sum(p));
    if (left != NULL && is_not)
        prompt_parser_set_op(left, "!is", 3);
    return left;
}

static node *parse_not(struct prompt_parser *p)
{
    node *n;

    if (!prompt_parser_is(p, "not"))
        return parse_comparison(p);
    if (p->depth == PARSER_DEPTH_MAX)
        return prompt_parser_too_deep(p);
    n = prompt_parser_node(p, NODE_NOT, prompt_parser_at(p));
    if (n == NULL || !prompt_parser_advance(p))
        return NULL;
    p->depth++;
    n = prompt_parser_add(p, n, parse_not(p));
    p->depth--;
    return n;
}

static node *parse_logical(struct prompt_parser *p, const char *word,
                           enum prompt_node_kind kind,
                           node *(*part)(struct prompt_parser *p))
{
    node *left = part(p);

    while (left != NULL && prompt_parser_is(p, word)) {
        node *n = prompt_parser_add(
            p, prompt_parser_node(p, kind, prompt_parser_at(p)), left);

        left = n != NULL && prompt_parser_advance(p)
                   ? prompt_parser_add(p, n, part(p))
                   : NULL;
    }
    return left;
}

static node *parse_and(struct prompt_parser *p)
{
    return parse_logical(p, "and", NODE_AND, parse_not);
}

node *prompt_parser_expression(struct prompt_parser *p)
{
    return parse_logical(p, "or", NODE_OR, parse_and);
}
