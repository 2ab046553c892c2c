#include "core/lifetime_classes.h"

#include <string.h>

enum {
    ERA_REQUESTS = 1000, /* what outlives one is long-lived */
    FEW = 4,             /* of a class in an era: they tell nothing */
    /* Of what was made may die in a long-lived class; where so few die of all,
     * there is nothing to keep apart. */
    DEATHS_PART = 8
};

static bool few_died(const struct lifetime_class *c, unsigned era)
{
    return c->died[era] <= c->made[era] / DEATHS_PART;
}

/* What was made in an era, of all sizes. */
static struct lifetime_class sum_up(const struct lifetimes *l, unsigned era)
{
    struct lifetime_class all = {.is_long = false};

    for (int i = 0; i < LIFETIME_CLASSES; i++) {
        all.made[era] += l->classes[i].made[era];
        all.died[era] += l->classes[i].died[era];
    }
    return all;
}

static void judge(struct lifetime_class *c, unsigned era)
{
    if (c->made[era] >= FEW)
        c->is_long = few_died(c, era);
    c->made[era] = 0;
    c->died[era] = 0;
}

/* What the era before the one that ends made is at least one era old. */
static void begin_era(struct lifetimes *l)
{
    unsigned before = (l->era + 1) % 2;
    struct lifetime_class all = sum_up(l, before);

    for (int i = 0; i < LIFETIME_CLASSES; i++) {
        judge(&l->classes[i], before);
        if (few_died(&all, before))
            l->classes[i].is_long = false;
    }
    l->requests = 0;
    l->era++;
    if (l->era == 0) /* which says that there is none */
        memset(l, 0, sizeof *l);
}

void larder__lifetimes_make(struct lifetimes *l, struct block *b)
{
    if (l->era == 0 || l->requests >= ERA_REQUESTS)
        begin_era(l);
    l->requests++;
    l->classes[lifetime_class(b->bytes)].made[l->era % 2]++;
    b->era = l->era;
}

void larder__lifetimes_count(struct lifetimes *l, const struct block *b)
{
    if (l->era - b->era <= 1)
        l->classes[lifetime_class(b->bytes)].died[b->era % 2]++;
}
