/* prompt_parser.h - functions shared by the two halves of the parser. */
#ifndef LARDER_CLI_LAB_PROMPT_PROMPT_PARSER_H
#define LARDER_CLI_LAB_PROMPT_PROMPT_PARSER_H

#include "prompt_tree.h"

/* Both the recursion and the depth of the tree are limited, so that no text can
 * overflow the stack. */
enum { PARSER_DEPTH_MAX = 100 };

struct prompt_parser {
    struct prompt_lexer lexer;
    struct prompt_token now;
    struct prompt_tree *tree;
    struct prompt_error *error;
    unsigned depth;
    size_t previous_end; /* end of the previous token */
    bool block_ended;    /* by indentation: its line has ended too */
    unsigned functions;  /* number of enclosing functions */
    unsigned loops;      /* enclosing loops in the innermost of these */
};

/* On an error these return NULL or false, with the error set. */
size_t prompt_parser_at(const struct prompt_parser *p);
bool prompt_parser_advance(struct prompt_parser *p);
bool prompt_parser_is(const struct prompt_parser *p, const char *word);
bool prompt_parser_is_one_of(const struct prompt_parser *p,
                             const char *const *words);
bool prompt_parser_is_keyword(const struct prompt_parser *p);
/* Set "expected WHAT, found ..."; returns NULL. */
struct prompt_node *prompt_parser_expected(struct prompt_parser *p,
                                           const char *what);
bool prompt_parser_expect(struct prompt_parser *p, const char *word,
                          const char *what);
struct prompt_node *prompt_parser_too_deep(struct prompt_parser *p);
struct prompt_node *prompt_parser_node(struct prompt_parser *p,
                                       enum prompt_node_kind kind, size_t at);
/* Returns the parent; NULL if either is NULL. */
struct prompt_node *prompt_parser_add(struct prompt_parser *p,
                                      struct prompt_node *parent,
                                      struct prompt_node *child);
void prompt_parser_set_op(struct prompt_node *n, const char *op, size_t length);
struct prompt_node *prompt_parser_name(struct prompt_parser *p);
struct prompt_node *prompt_parser_expression(struct prompt_parser *p);

#endif
