/* books.c - accounts for memory held, reserved and claimed. */
#include "base/bits.h"
#include "base/witness.h"
#include "ledger/ledger_place.h"

/* Totals over the other processes' slots. */
struct sums {
    uint64_t held;    /* including contexts */
    uint64_t pending; /* the part of it in transit */
    uint64_t lacking; /* missing to their minima */
    uint64_t group_limit;
};

/* ---- counting; with the lock -------------------------------------------- */

static void add_slot(struct sums *sums, const struct ledger_slot *s)
{
    uint64_t reserved = word_get(&s->reserved_bytes);
    uint64_t group_limit = word_get(&s->group_limit_bytes);

    sums->held = saturating_add(
        sums->held, saturating_add(reserved, word_get(&s->context_bytes)));
    sums->pending = saturating_add(sums->pending, word_get(&s->pending_bytes));
    sums->lacking = saturating_add(
        sums->lacking, saturating_sub(word_get(&s->minimum_bytes), reserved));
    if (group_limit != 0)
        sums->group_limit = bits_lesser(sums->group_limit, group_limit);
}

static struct sums sum_others(const struct ledger *l)
{
    struct sums sums = {.group_limit = l->group_limit_bytes};

    for (size_t i = 0; i < LEDGER_SLOTS; i++) {
        const struct ledger_slot *s = &l->page->slots[i];

        if (s->pid != 0 && s != l->self)
            add_slot(&sums, s);
    }
    return sums;
}

/* Includes the context, which the driver creates in the first call that needs
 * one; that may be any call. */
static uint64_t own_held(const struct ledger *l)
{
    return saturating_add(l->reserved_bytes, l->context_bytes);
}

/* Write this process's own values to its slot: others may have changed it. */
static void books_publish(struct ledger *l)
{
    struct ledger_slot *s = l->self;

    word_set(&s->context_bytes, l->context_bytes);
    word_set(&s->pending_bytes, l->pending_bytes);
    word_set(&s->reserved_bytes, l->reserved_bytes);
    word_set(&s->in_use_bytes, l->in_use_bytes);
    word_set(&s->minimum_bytes, l->minimum_bytes);
    word_set(&s->limit_bytes,
             l->limit_bytes == UINT64_MAX ? 0 : l->limit_bytes);
    word_set(&s->group_limit_bytes,
             l->group_limit_bytes == UINT64_MAX ? 0 : l->group_limit_bytes);
    word_set(&s->given_bytes, l->given_bytes);
}

/* Measure memory that is in no slot: of processes without a ledger, and of the
 * driver.  Only while nothing is in transit; otherwise the last value stays. */
static uint64_t measure_others(struct ledger *l, const struct sums *sums)
{
    uint64_t free_bytes;
    struct sums after;

    if (sums->pending != 0 || l->pending_bytes != 0 || l->free_fn == NULL ||
        !l->free_fn(l->device, &free_bytes))
        return word_get(&l->page->others_bytes);
    after = sum_others(l);
    if (after.pending == 0 && after.held == sums->held)
        word_set(&l->page->others_bytes,
                 saturating_sub(saturating_sub(l->total_bytes, free_bytes),
                                saturating_add(sums->held, own_held(l))));
    return word_get(&l->page->others_bytes);
}

/* The room left on the device, according to the ledger. */
static uint64_t room(struct ledger *l, const struct sums *sums)
{
    uint64_t others = measure_others(l, sums);

    return saturating_sub(saturating_sub(l->total_bytes, others),
                          saturating_add(sums->held, own_held(l)));
}

/* ---- claiming ----------------------------------------------------------- */

static uint64_t limit_of(const struct ledger *l)
{
    return bits_lesser(l->limit_bytes, l->told_limit_bytes);
}

static enum ledger_refusal check_claim(struct ledger *l, uint64_t bytes)
{
    struct sums sums = sum_others(l);
    uint64_t own = saturating_add(own_held(l), bytes);

    if (own > limit_of(l))
        return LEDGER_OVER_LIMIT;
    if (saturating_add(sums.held, own) > sums.group_limit)
        return LEDGER_OVER_GROUP;
    if (sums.lacking == 0 ||
        saturating_add(l->reserved_bytes, bytes) <= l->minimum_bytes)
        return LEDGER_GRANTED;
    return saturating_add(bytes, sums.lacking) > room(l, &sums)
               ? LEDGER_KEPT
               : LEDGER_GRANTED;
}

enum ledger_refusal larder__ledger_claim(struct ledger *l, uint64_t bytes)
{
    enum ledger_refusal refusal = LEDGER_GRANTED;
    bool is_locked = larder__ledger_lock(l);

    if (!is_locked)
        mutex_take(&l->lock, RANK_LEDGER);
    else if ((refusal = check_claim(l, bytes)) != LEDGER_GRANTED) {
        larder__ledger_sweep(l); /* dead processes reserve nothing */
        refusal = check_claim(l, bytes);
    }
    if (refusal == LEDGER_GRANTED) {
        l->reserved_bytes += bytes;
        l->pending_bytes += bytes;
    }
    books_publish(l);
    if (is_locked)
        larder__ledger_unlock(l);
    else
        mutex_leave(&l->lock);
    return refusal;
}

void larder__ledger_settle(struct ledger *l, uint64_t bytes, bool is_held)
{
    mutex_take(&l->lock, RANK_LEDGER);
    larder__assert(bytes <= l->pending_bytes && bytes <= l->reserved_bytes);
    if (!is_held)
        l->reserved_bytes -= bytes;
    l->pending_bytes -= bytes;
    atomic_fetch_add(&l->moves, 1);
    atomic_fetch_add(&l->page->moves, 1);
    books_publish(l);
    mutex_leave(&l->lock);
}

void larder__ledger_returning(struct ledger *l, uint64_t bytes)
{
    mutex_take(&l->lock, RANK_LEDGER);
    l->pending_bytes += bytes;
    books_publish(l);
    mutex_leave(&l->lock);
}

void larder__ledger_use(struct ledger *l, int64_t change)
{
    mutex_take(&l->lock, RANK_LEDGER);
    larder__assert(change >= 0 || l->in_use_bytes >= (uint64_t)-change);
    l->in_use_bytes += (uint64_t)change;
    books_publish(l);
    mutex_leave(&l->lock);
}

/* ---- minima and limits -------------------------------------------------- */

/* Only the part above what is held counts: a minimum that is held already needs
 * nothing. */
static enum ledger_refusal check_minimum(struct ledger *l, uint64_t minimum,
                                         uint64_t *lacking)
{
    struct sums sums = sum_others(l);
    uint64_t need = saturating_sub(minimum, l->reserved_bytes);
    uint64_t left = room(l, &sums);

    if (minimum <= l->minimum_bytes)
        return LEDGER_GRANTED;
    need = saturating_add(need, sums.lacking);
    if (need <= left)
        return LEDGER_GRANTED;
    *lacking = need - left;
    return LEDGER_KEPT;
}

enum ledger_refusal larder__ledger_keep(struct ledger *l, uint64_t minimum,
                                        uint64_t *lacking)
{
    enum ledger_refusal refusal;

    *lacking = 0;
    if (!larder__ledger_lock(l))
        return LEDGER_KEPT;
    refusal = check_minimum(l, minimum, lacking);
    if (refusal != LEDGER_GRANTED) {
        larder__ledger_sweep(l);
        refusal = check_minimum(l, minimum, lacking);
    }
    if (refusal == LEDGER_GRANTED)
        l->minimum_bytes = minimum;
    books_publish(l);
    larder__ledger_unlock(l);
    return refusal;
}

void larder__ledger_set_limits(struct ledger *l, uint64_t limit,
                               uint64_t group_limit)
{
    mutex_take(&l->lock, RANK_LEDGER);
    l->limit_bytes = limit;
    l->group_limit_bytes = group_limit;
    books_publish(l);
    mutex_leave(&l->lock);
}

uint64_t larder__ledger_room(struct ledger *l, uint64_t free_bytes)
{
    struct sums sums;
    uint64_t left;

    mutex_take(&l->lock, RANK_LEDGER);
    sums = sum_others(l);
    left = saturating_sub(free_bytes, sums.lacking);
    left = bits_lesser(left,
                       saturating_sub(sums.group_limit,
                                      saturating_add(sums.held, own_held(l))));
    mutex_leave(&l->lock);
    return left;
}

uint64_t larder__ledger_allowance(struct ledger *l)
{
    uint64_t left;

    mutex_take(&l->lock, RANK_LEDGER);
    left = saturating_sub(limit_of(l), own_held(l));
    mutex_leave(&l->lock);
    return left;
}

uint64_t larder__ledger_due(struct ledger *l, uint64_t asked)
{
    uint64_t spare, excess;

    mutex_take(&l->lock, RANK_LEDGER);
    spare = saturating_sub(l->reserved_bytes, l->minimum_bytes);
    excess = saturating_sub(own_held(l), limit_of(l));
    mutex_leave(&l->lock);
    spare = bits_lesser(spare, asked);
    return spare > excess ? spare : excess;
}
