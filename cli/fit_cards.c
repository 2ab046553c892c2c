/* fit_cards.c - `larder fit --gpu all`: every card by name, and on which of them
 * a recorded job fits. */
#include "fit_cards.h"

#include <stdlib.h>

#include <larder/sim.h>

#include "cards.h"
#include "tune_report.h"
#include "snapshot/units.h"

/* ---- cards -------------------------------------------------------------- */

static uint64_t usable(const struct named_card *c)
{
    return c->card.total_bytes - c->card.context_bytes;
}

static int by_memory(const void *a, const void *b)
{
    uint64_t x = usable(a);
    uint64_t y = usable(b);

    return (x > y) - (x < y);
}

bool named_cards_make(struct named_cards *out)
{
    struct tool_error error;
    size_t cards = 0;

    while (larder_sim_card(cards) != NULL)
        cards++;
    *out = (struct named_cards){calloc(cards, sizeof *out->items), 0};
    if (out->items == NULL)
        return false;
    for (size_t i = 0; i < cards; i++) {
        struct named_card *c = &out->items[out->count];

        card_name(i, c->name, sizeof c->name);
        out->count += card_find(c->name, &c->card, &error);
    }
    qsort(out->items, out->count, sizeof *out->items, by_memory);
    return true;
}

void named_cards_free(struct named_cards *cards)
{
    free(cards->items);
}

/* ---- a row for each card ------------------------------------------------ */

bool fit_cards_begin(struct fit_cards *f, bool as_json)
{
    *f = (struct fit_cards){0};
    if (!as_json)
        return true;
    f->json = open_memstream(&f->text, &f->length);
    return f->json != NULL && fputs("{\"cards\":[", f->json) != EOF;
}

static const char *as_it_is(const struct tune *t)
{
    switch (tune_verdict(t, &t->candidates[0])) {
    case TUNE_FITS:
        return "yes";
    case TUNE_DOES_NOT_FIT:
        return "no";
    case TUNE_NO_VERDICT:
        break;
    }
    return "unknown";
}

/* The setting with which it fits, if it does not fit with its own. */
static const char *cure_of(const struct tune *t, char out[REPLAY_CONF_MAX])
{
    const struct tune_candidate *best = tune_best(t);

    if (tune_verdict(t, &t->candidates[0]) != TUNE_DOES_NOT_FIT)
        return "-";
    if (best == NULL || !best->worst.fits)
        return "none";
    return tune_report_setting(t, best, out, REPLAY_CONF_MAX);
}

static bool add_json(struct fit_cards *f, const struct named_card *card,
                     const struct tune *t)
{
    char *fit = tune_fit_json(t);
    bool ok =
        fit != NULL && fprintf(f->json, "%s{\"gpu\":\"%s\",\"fit\":%s}",
                               f->count > 0 ? "," : "", card->name, fit) > 0;

    free(fit);
    return ok;
}

bool fit_cards_add(struct fit_cards *f, const struct named_card *card,
                   const struct tune *t)
{
    char conf[REPLAY_CONF_MAX];
    const char *head[] = {"card", "memory", tune_ended(t) ? "fits" : "past it",
                          "or with"};
    const char *cells[] = {card->name, units_bytes(card->card.total_bytes),
                           as_it_is(t), cure_of(t, conf)};
    bool ok = true;

    f->fits_one |= tune_verdict(t, &t->candidates[0]) == TUNE_FITS;
    if (f->json != NULL) {
        ok = add_json(f, card, t);
    } else {
        if (f->count == 0)
            table_init(&f->table, sizeof head / sizeof head[0], head);
        table_add(&f->table, cells);
    }
    f->count++;
    return ok;
}

static bool print_json(struct fit_cards *f)
{
    bool ok = fputs("]}\n", f->json) != EOF;

    ok = fclose(f->json) == 0 && ok;
    f->json = NULL;
    return ok && fputs(f->text, stdout) != EOF;
}

bool fit_cards_print(struct fit_cards *f, const struct tune *last)
{
    if (f->json != NULL)
        return print_json(f);
    if (!table_print(&f->table))
        return false;
    printf(tune_ended(last)
               ? "\nfits: on a card that nothing else uses; or with: the "
                 "cheapest setting with which it\ndoes, if it does not now\n"
               : "\npast it: gets past the failed request, on a card that "
                 "nothing else uses; or with: the\ncheapest setting with which "
                 "it does, if it does not now\n");
    fit_report_scope(last);
    return true;
}

void fit_cards_free(struct fit_cards *f)
{
    table_free(&f->table);
    if (f->json != NULL)
        fclose(f->json);
    free(f->text);
}
