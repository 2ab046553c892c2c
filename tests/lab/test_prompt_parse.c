/* test_prompt_parse.c - the prompt's language: how text is parsed, and where
 * errors are reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lab/prompt/prompt_tree.h"

/* A tree as text: (kind item item), names and numbers unchanged. */
struct drawing {
    char text[2048];
    size_t length;
};

static void draw(struct drawing *d, const char *s)
{
    d->length += (size_t)snprintf(d->text + d->length,
                                  sizeof d->text - d->length, "%s", s);
    assert_true(d->length < sizeof d->text);
}

static const char *kind_name(const struct prompt_node *n)
{
    static const char *const names[] = {
        [NODE_TUPLE] = "tuple",     [NODE_LIST] = "list",
        [NODE_CALL] = "call",       [NODE_STAR] = "star",
        [NODE_INDEX] = "index",     [NODE_SLICE] = "slice",
        [NODE_EXPRESSION] = "show", [NODE_ASSIGN] = "set",
        [NODE_DELETE] = "del",      [NODE_FOR] = "for",
        [NODE_WITH] = "with",       [NODE_BLOCK] = "block",
        [NODE_PASS] = "pass",       [NODE_AND] = "and",
        [NODE_OR] = "or",           [NODE_NOT] = "not",
        [NODE_IF] = "if",           [NODE_WHILE] = "while",
        [NODE_DEF] = "def",         [NODE_RETURN] = "return",
        [NODE_BREAK] = "break",     [NODE_CONTINUE] = "continue",
    };

    if (n->op[0] != '\0')
        return n->op;
    if (n->kind == NODE_ATTRIBUTE || n->kind == NODE_KEYWORD)
        return n->kind == NODE_ATTRIBUTE ? "." : "=";
    return names[n->kind];
}

static void draw_node(struct drawing *d, const struct prompt_node *n)
{
    char text[64];

    switch (n->kind) {
    case NODE_NONE:
        draw(d, "None");
        return;
    case NODE_BOOL:
        draw(d, n->integer != 0 ? "True" : "False");
        return;
    case NODE_INT:
        snprintf(text, sizeof text, "%lld", (long long)n->integer);
        draw(d, text);
        return;
    case NODE_FLOAT:
        snprintf(text, sizeof text, "%g", n->real);
        draw(d, text);
        return;
    case NODE_NAME:
        draw(d, n->text);
        return;
    case NODE_STRING:
        snprintf(text, sizeof text, "'%s'", n->text);
        draw(d, text);
        return;
    default:
        break;
    }
    draw(d, "(");
    draw(d, kind_name(n));
    if (n->kind == NODE_AUGMENT)
        draw(d, "=");
    for (const struct prompt_node *c = n->first; c != NULL; c = c->next) {
        draw(d, " ");
        draw_node(d, c);
    }
    if (n->kind == NODE_ATTRIBUTE || n->kind == NODE_KEYWORD) {
        draw(d, " ");
        draw(d, n->text);
    }
    draw(d, ")");
}

static void reads_as(const char *text, const char *wanted)
{
    struct drawing d = {.length = 0};
    struct prompt_error error;
    struct prompt_tree tree;

    if (!prompt_parse(text, &tree, &error))
        fail_msg("'%s': %s", text, error.text);
    for (const struct prompt_node *n = tree.statements->first; n != NULL;
         n = n->next) {
        if (d.length > 0)
            draw(&d, " ");
        draw_node(&d, n);
    }
    assert_string_equal(d.text, wanted);
    prompt_tree_free(&tree);
}

static void fails_at(const char *text, size_t at, const char *words)
{
    struct prompt_error error;
    struct prompt_tree tree;

    if (prompt_parse(text, &tree, &error))
        fail_msg("'%s' is read", text);
    if (strstr(error.text, words) == NULL || error.at != at)
        fail_msg("'%s': '%s' at %zu, expected '%s' at %zu", text, error.text,
                 error.at, words, at);
}

/* ---- expressions ------------------------------------------------------------- */

static void operators_bind_as_in_python(void **state)
{
    (void)state;
    reads_as("1 + 2 * 3", "(show (+ 1 (* 2 3)))");
    reads_as("1 - 2 - 3", "(show (- (- 1 2) 3))");
    reads_as("-2 ** 2", "(show (- (** 2 2)))");
    reads_as("2 ** -1", "(show (** 2 (- 1)))");
    reads_as("2 ** 3 ** 2", "(show (** 2 (** 3 2)))");
    reads_as("a @ b // c % d", "(show (% (// (@ a b) c) d))");
    reads_as("a + 1 < b * 2", "(show (< (+ a 1) (* b 2)))");
    reads_as("x.grad is not None", "(show (!is (. x grad) None))");
    reads_as("(1 + 2) * 3", "(show (* (+ 1 2) 3))");
}

static void values_are_read(void **state)
{
    (void)state;
    reads_as("1_000, .5, 1e3, 2., True", "(show (tuple 1000 0.5 1000 2 True))");
    reads_as("'a\\'b' ", "(show 'a'b')");
    reads_as("\"it's\"", "(show 'it's')");
    reads_as("()", "(show (tuple))");
    reads_as("(1,)", "(show (tuple 1))");
    reads_as("[1, [2], (3)]", "(show (list 1 (list 2) 3))");
    reads_as("x # a comment", "(show x)");
}

static void calls_and_indices_are_read(void **state)
{
    (void)state;
    reads_as("torch.zeros(2, *s, device='cuda')",
             "(show (call (. torch zeros) 2 (star s) (= 'cuda' device)))");
    reads_as("y.mean().backward()",
             "(show (call (. (call (. y mean)) backward)))");
    reads_as("x[0:2]", "(show (index x (slice 0 2 None)))");
    reads_as("x[:, -1, ::2]",
             "(show (index x (slice None None None) (- 1) (slice None None "
             "2)))");
    reads_as("f(a == b)", "(show (call f (== a b)))");
    reads_as("f(\n  1,\n  2,\n)", "(show (call f 1 2))");
}

/* ---- statements -------------------------------------------------------------- */

static void statements_are_read(void **state)
{
    (void)state;
    reads_as("a = b = 1; del a, b", "(set a b 1) (del a b)");
    reads_as("a, b = 1, 2", "(set (tuple a b) (tuple 1 2))");
    reads_as("x.grad = None", "(set (. x grad) None)");
    reads_as("x += 1; y **= 2", "(+= x 1) (**= y 2)");
    reads_as("import torch; from torch import nn", "(pass) (pass)");
    reads_as("for i in range(3): a = i; b", "(for i (call range 3) (block "
                                            "(set a i) (show b)))");
    reads_as("with no_grad(): pass", "(with (call no_grad) (block (pass)))");
    reads_as("for a, b in c: pass", "(for (tuple a b) c (block (pass)))");
    reads_as("", "");
    reads_as("\n\n  # nothing\n", "");
}

static void blocks_end_with_their_indentation(void **state)
{
    (void)state;
    reads_as("for i in x:\n  a\n\n  b\nc",
             "(for i x (block (show a) (show b))) (show c)");
    reads_as("for i in x:\n  for j in i:\n    a\n  b\n",
             "(for i x (block (for j i (block (show a))) (show b)))");
    reads_as("for i in x:\n  with y: a\n  b",
             "(for i x (block (with y (block (show a))) (show b)))");
    reads_as("for i in x:\n\tfor j in i:\n\t\ta\nb",
             "(for i x (block (for j i (block (show a))))) (show b)");
}

static void unfinished_statements_ask_for_more(void **state)
{
    (void)state;
    assert_int_equal(prompt_wants_more("f(1,\n"), PROMPT_MORE_BRACKET);
    assert_int_equal(prompt_wants_more("for i in x:\n"), PROMPT_MORE_BLOCK);
    assert_int_equal(prompt_wants_more("for i in x:\n  a\n"),
                     PROMPT_MORE_BLOCK);
    assert_int_equal(prompt_wants_more("for i in x:\n  a\n\n"), PROMPT_MORE_NO);
    assert_int_equal(prompt_wants_more("for i in x: a\n"), PROMPT_MORE_NO);
    assert_int_equal(prompt_wants_more("x[1:2]\n"), PROMPT_MORE_NO);
    assert_int_equal(prompt_wants_more("'open\n"), PROMPT_MORE_NO);
}

/* ---- errors ------------------------------------------------------------------ */

static void mistakes_are_reported_with_their_place(void **state)
{
    (void)state;
    fails_at("a = ", 4, "expected a value, found the end of the line");
    fails_at("a b", 2, "expected the end of the statement, found 'b'");
    fails_at("f(1", 3, "expected ',' or ')'");
    fails_at("f(1 2)", 4, "expected ',' or ')', found '2'");
    fails_at("[1 for x in y]", 3, "lists are written out");
    fails_at("1 = a", 0, "cannot be assigned to");
    fails_at("f(x) += 1", 0, "only a name");
    fails_at("x.", 2, "a name after '.'");
    fails_at("del 3", 4, "a name to delete");
    fails_at("class x: pass", 0, "'class' is not in the prompt's part");
    fails_at("return 1", 0, "'return' stands in no function");
    fails_at("if x: break", 6, "'break' stands in no loop");
    fails_at("for i in x:\n  def f(): break", 23, "in no loop");
    fails_at("def f():\n  def g(): pass", 11, "a function within a function");
    fails_at("def f(a=1, b): pass", 11, "after one with");
    fails_at("def f(a, a): pass", 9, "'a' is there twice");
    fails_at("def (a): pass", 4, "the function's name");
    fails_at("if x pass", 5, "expected ':'");
    fails_at("else: pass", 0, "'else' is not in the prompt's part");
    fails_at("a = lambda: 1", 4, "'lambda' is not");
    fails_at("for i in x:\na", 12, "expected an indented line");
    fails_at("  a", 2, "a line that is not indented");
    fails_at("for i in x:\n    a\n  b", 20, "not indented like any before");
    fails_at("'abc", 0, "no end on its line");
    fails_at("f'abc'", 0, "a letter before them");
    fails_at("12ab", 2, "a number ends where 'a' stands");
    fails_at("9223372036854775808", 0, "whole numbers end");
    fails_at("a ? b", 2, "'?' is no operator");
    fails_at("a \xC3\xA9", 2, "cannot stand here");
}

static void fill(char *text, size_t size, const char *part)
{
    size_t length = strlen(part);

    memset(text, 0, size);
    for (size_t i = 0; i + length < size; i += length)
        memcpy(text + i, part, length);
}

static void nesting_too_deeply_is_refused(void **state)
{
    static const char *const parts[] = {"(",    "[",           "-",      "f(",
                                        "x[",   "2**",         "1+",     "a.",
                                        "x[1:", "for i in x:", "with x:"};
    static char text[40000];
    struct prompt_error error;
    struct prompt_tree tree;

    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        fill(text, sizeof text, parts[i]);
        if (prompt_parse(text, &tree, &error))
            fail_msg("'%s' again and again is read", parts[i]);
        assert_string_equal(error.text, "nested too deeply");
    }
}

static void conditions_and_functions_are_read(void **state)
{
    (void)state;
    reads_as("a and not b or c", "(show (or (and a (not b)) c))");
    reads_as("not a == b", "(show (not (== a b)))");
    reads_as("if a: b\nelse: c", "(if a (block (show b)) (block (show c)))");
    reads_as("if a:\n  b\nelif c:\n  d\nelse:\n  e\nf",
             "(if a (block (show b)) (if c (block (show d)) (block (show e)))) "
             "(show f)");
    reads_as("while a:\n  if b: break\n  continue",
             "(while a (block (if b (block (break))) (continue)))");
    reads_as("def f(a, b=2):\n  return a, b",
             "(def (tuple a (= 2 b)) (block (return (tuple a b))) "
             "'def f(a, b=2):\n  return a, b')");
    reads_as("def f(): return", "(def (tuple) (block (return)) "
                                "'def f(): return')");
}

static void else_continues_an_if_at_the_margin(void **state)
{
    (void)state;
    assert_true(prompt_goes_on("if a:\n  b\n", "else:\n"));
    assert_true(prompt_goes_on("if a:\n  b\nelif c:\n  d\n", "elif e: f"));
    assert_false(prompt_goes_on("for a in b:\n  if c: d\n", "else:"));
    assert_false(prompt_goes_on("if a:\n  b\n", "elsewhere = 1"));
    assert_false(prompt_goes_on("iffy = 1\n", "else:"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_bind_as_in_python),
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(calls_and_indices_are_read),
        cmocka_unit_test(statements_are_read),
        cmocka_unit_test(blocks_end_with_their_indentation),
        cmocka_unit_test(unfinished_statements_ask_for_more),
        cmocka_unit_test(mistakes_are_reported_with_their_place),
        cmocka_unit_test(nesting_too_deeply_is_refused),
        cmocka_unit_test(conditions_and_functions_are_read),
        cmocka_unit_test(else_continues_an_if_at_the_margin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
