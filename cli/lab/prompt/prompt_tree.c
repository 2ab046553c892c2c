#include "prompt_tree.h"

#include <stdlib.h>
#include <string.h>

enum { ARENA_BYTES = 8192, ALIGNMENT = 16 };

struct prompt_arena {
    struct prompt_arena *next;
    size_t used;
    size_t size;
    _Alignas(ALIGNMENT) char bytes[];
};

static void *arena_take(struct prompt_tree *tree, size_t size)
{
    struct prompt_arena *a = tree->arena;
    void *taken;

    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (a == NULL || a->size - a->used < size) {
        size_t room = size > ARENA_BYTES ? size : (size_t)ARENA_BYTES;

        a = malloc(sizeof *a + room);
        if (a == NULL)
            return NULL;
        a->next = tree->arena;
        a->used = 0;
        a->size = room;
        tree->arena = a;
    }
    taken = a->bytes + a->used;
    a->used += size;
    return taken;
}

void prompt_tree_free(struct prompt_tree *tree)
{
    while (tree->arena != NULL) {
        struct prompt_arena *next = tree->arena->next;

        free(tree->arena);
        tree->arena = next;
    }
    tree->statements = NULL;
}

struct prompt_node *prompt_node_new(struct prompt_tree *tree,
                                    enum prompt_node_kind kind, size_t at)
{
    struct prompt_node *n = arena_take(tree, sizeof *n);

    if (n == NULL)
        return NULL;
    memset(n, 0, sizeof *n);
    n->kind = kind;
    n->at = at;
    n->depth = 1;
    return n;
}

char *prompt_tree_text(struct prompt_tree *tree, const char *s, size_t length)
{
    char *copy = arena_take(tree, length + 1);

    if (copy == NULL)
        return NULL;
    memcpy(copy, s, length);
    copy[length] = '\0';
    return copy;
}

void prompt_node_add(struct prompt_node *parent, struct prompt_node *child)
{
    if (parent->last != NULL)
        parent->last->next = child;
    else
        parent->first = child;
    parent->last = child;
    if (child->depth + 1 > parent->depth)
        parent->depth = child->depth + 1;
}
