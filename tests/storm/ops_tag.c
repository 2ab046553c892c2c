/* ops_tag.c - tags, asleep and awake.  Each thread has one. */
#include "storm/storm.h"

static void tag_name(const struct worker *me, char name[16])
{
    snprintf(name, 16, "tag %d", me->number);
}

/* What a paused tag kept is there again when it wakes; what it dropped is
 * unknown until it is written. */
static void tag_dropped(struct worker *me)
{
    pthread_mutex_lock(&me->w->lock);
    for (struct block *b = me->w->blocks; b < me->w->blocks + BLOCKS; b++) {
        if (b->state == BLOCK_LIVE && b->tag == me->number)
            b->value = 0;
    }
    pthread_mutex_unlock(&me->w->lock);
}

static void tag_expect_idle(struct worker *me)
{
    pthread_mutex_lock(&me->w->lock);
    for (const struct block *b = me->w->blocks; b < me->w->blocks + BLOCKS;
         b++) {
        if (b->state == BLOCK_LIVE && b->tag == me->number && !block_is_idle(b))
            storm_fail("a tag was paused while kernels were queued for it");
    }
    pthread_mutex_unlock(&me->w->lock);
}

static bool tag_sleeps(struct worker *me, const char *name)
{
    larder_tag_usage use = {.size = sizeof use};

    if (larder_tag_stats(me->w->a, name, &use) != LARDER_OK)
        storm_fail("larder_tag_stats: %s", larder_last_error());
    return use.is_paused != 0;
}

/* A pause that fails and cannot be undone leaves the tag paused. */
void op_tag_pause(struct worker *me)
{
    struct tag *tag = &me->w->tags[me->number];
    const bool drops = chance(me, 3);
    char name[16];
    larder_result r;

    if (!tag->exists)
        return;
    if (tag->is_paused && !chance(me, 8)) {
        op_tag_resume(me);
        return;
    }
    tag_name(me, name);
    r = CALL(me,
             MAY(UNSUPPORTED) | MAY(BUSY) | (tag->is_paused ? MAY(PAUSED) : 0),
             larder_pause(me->w->a, name,
                          drops ? LARDER_PAUSE_DROP : LARDER_PAUSE_KEEP));
    if (tag->is_paused) {
        if (r == LARDER_OK)
            storm_fail("a paused tag was paused again");
        return;
    }
    tag->is_paused = tag_sleeps(me, name);
    if (r == LARDER_OK && !tag->is_paused)
        storm_fail("a paused tag is awake");
    if (r != LARDER_OK && tag->is_paused &&
        !plan_has(&me->w->plan, GROUP_fault))
        storm_fail("a tag sleeps though its pause failed");
    if (tag->is_paused)
        tag_expect_idle(me);
    if (r == LARDER_OK && drops)
        tag_dropped(me);
}

void op_tag_resume(struct worker *me)
{
    struct tag *tag = &me->w->tags[me->number];
    char name[16];
    larder_result r;

    if (!tag->exists)
        return;
    tag_name(me, name);
    r = CALL(me, tag->is_paused ? MAY(OUT_OF_MEMORY) : MAY(INVALID),
             larder_resume(me->w->a, name));
    if (r == LARDER_OK && !tag->is_paused)
        storm_fail("a tag that was awake was resumed");
    if (r == LARDER_OK)
        tag->is_paused = false;
    else if (tag->is_paused != tag_sleeps(me, name))
        storm_fail("larder_resume() failed and the tag is awake");
}

void op_tag_limit(struct worker *me)
{
    char name[16];

    tag_name(me, name);
    if (CALL(me, 0,
             larder_tag_limit(me->w->a, name, chance(me, 2) ? 0 : MIB(24))) ==
        LARDER_OK)
        me->w->tags[me->number].exists = true;
}

void op_tag_minimum(struct worker *me)
{
    uint64_t bytes = MIB(2) * draw(me, 8);
    char name[16];

    tag_name(me, name);
    if (CALL(me, MAY(OUT_OF_MEMORY),
             larder_tag_set_minimum(me->w->a, name, bytes)) == LARDER_OK)
        me->w->tags[me->number].exists = true;
}
