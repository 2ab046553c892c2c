/* prompt_tree.h - the syntax tree of a statement. */
#ifndef LARDER_CLI_LAB_PROMPT_PROMPT_TREE_H
#define LARDER_CLI_LAB_PROMPT_PROMPT_TREE_H

#include "prompt_lexer.h"

/* The children of each kind, in order, are in brackets. */
enum prompt_node_kind {
    /* expressions */
    NODE_NONE,
    NODE_BOOL, /* integer */
    NODE_INT,
    NODE_FLOAT,
    NODE_STRING,
    NODE_NAME,
    NODE_TUPLE, /* [items...] */
    NODE_LIST,
    NODE_UNARY,     /* [value]; op */
    NODE_BINARY,    /* [left, right]; op */
    NODE_COMPARE,   /* the same */
    NODE_AND,       /* [left, right] */
    NODE_OR,        /* [left, right] */
    NODE_NOT,       /* [value] */
    NODE_ATTRIBUTE, /* [object]; text */
    NODE_CALL,      /* [callee, arguments...] */
    NODE_KEYWORD,   /* [value]; text: name of the argument */
    NODE_STAR,      /* [value]: a sequence as arguments */
    NODE_INDEX,     /* [object, indices...] */
    NODE_SLICE,     /* [begin, end, step], each may be NODE_NONE */
    /* statements */
    NODE_EXPRESSION, /* [value] */
    NODE_ASSIGN,     /* [targets..., value] */
    NODE_AUGMENT,    /* [target, value]; op */
    NODE_DELETE,     /* [targets...] */
    NODE_FOR,        /* [target, values, body] */
    NODE_WITH,       /* [context, body] */
    NODE_IF,         /* [condition, body] or [condition, body, otherwise] */
    NODE_WHILE,      /* [condition, body] */
    NODE_DEF,        /* [parameters, body, source]; text: the name */
    NODE_RETURN,     /* [value] or [] */
    NODE_BREAK,
    NODE_CONTINUE,
    NODE_BLOCK, /* [statements...] */
    NODE_PASS   /* also for imports: everything is defined */
};

struct prompt_node {
    enum prompt_node_kind kind;
    size_t at;    /* offset in the text to report errors at */
    size_t begin; /* of a statement: the part of the text */
    size_t end;
    unsigned depth;
    char op[4];
    const char *text;
    int64_t integer;
    double real;
    struct prompt_node *first;
    struct prompt_node *last;
    struct prompt_node *next; /* sibling */
};

struct prompt_arena;

/* The tree of one text. */
struct prompt_tree {
    struct prompt_node *statements; /* a NODE_BLOCK */
    struct prompt_arena *arena;
};

/* False: the error is set.  The tree does not refer to `text`. */
bool prompt_parse(const char *text, struct prompt_tree *out,
                  struct prompt_error *error);
void prompt_tree_free(struct prompt_tree *tree);

enum prompt_more {
    PROMPT_MORE_NO,
    PROMPT_MORE_BRACKET, /* continues with the next line in any case */
    PROMPT_MORE_BLOCK    /* continues if the next line is indented */
};

/* Whether a line continues a block at the margin: it begins with else or elif,
 * and the last statement of `text` at the margin with if or elif. */
bool prompt_goes_on(const char *text, const char *line);

/* Whether `text` needs more lines: a bracket is open, or no blank line has
 * ended a block. */
enum prompt_more prompt_wants_more(const char *text);

/* ---- creation: for the parser ------ */

struct prompt_node *prompt_node_new(struct prompt_tree *tree,
                                    enum prompt_node_kind kind, size_t at);
/* A copy that lives as long as the tree.  NULL: no host memory. */
char *prompt_tree_text(struct prompt_tree *tree, const char *s, size_t length);
void prompt_node_add(struct prompt_node *parent, struct prompt_node *child);

#endif
