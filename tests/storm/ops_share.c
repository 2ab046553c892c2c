/* ops_share.c - exports, imported by the same process. */
#include "storm/storm.h"

#include <sys/socket.h>
#include <unistd.h>

#include "storm/hold.h"

void op_export_open(struct worker *me)
{
    struct export *e = &me->w->exports[draw(me, EXPORTS)];
    struct block *b = block_pick(me, KIND_PLAIN | KIND_REGION);
    unsigned may = MAY(UNSUPPORTED);

    if (e->handle != NULL || b == NULL)
        return;
    if (!block_is_usable(me->w, b))
        may |= MAY(PAUSED);
    if (b->kind == KIND_REGION)
        may |= MAY(UNKNOWN_ADDRESS);
    if (CALL(me, may, larder_export_open(me->w->a, b->addr, &e->handle)) !=
        LARDER_OK)
        return;
    e->block = b;
    b->exports++;
}

/* Sent to ourselves: the same bytes at another address. */
static larder_import *send_and_receive(struct worker *me, struct export *e)
{
    larder_import *m = NULL;
    int sockets[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
        return NULL;
    if (CALL(me, 0, larder_export_send(e->handle, sockets[0])) == LARDER_OK &&
        CALL(me, MAY(OUT_OF_MEMORY),
             larder_import_receive(me->w->dev, sockets[1], &m)) != LARDER_OK) {
        me->w->has_abandoned |= me->has_fault;
        m = NULL;
    }
    close(sockets[0]);
    close(sockets[1]);
    return m;
}

void op_import(struct worker *me)
{
    struct export *e = &me->w->exports[draw(me, EXPORTS)];
    larder_import_info info = {.size = sizeof info};
    larder_import *m;

    if (e->handle == NULL || me->w->captured >= 0) /* which forbids to unmap */
        return;
    streams_complete(me);
    m = send_and_receive(me, e);
    if (m == NULL)
        return;
    if (larder_import_get(m, &info) != LARDER_OK)
        storm_fail("larder_import_get: %s", larder_last_error());
    else if (e->block->bytes > info.mapped_bytes ||
             (e->block->kind == KIND_PLAIN && info.bytes != e->block->bytes))
        storm_fail("an export of %llu bytes is an import of %llu",
                   (unsigned long long)e->block->bytes,
                   (unsigned long long)info.bytes);
    else if (block_is_usable(me->w, e->block))
        contents_look(e->block, info.addr, "an importer");
    for (int i = 0; i < 8 && larder_import_close(m) != LARDER_OK; i++) {
        if (i == 7)
            storm_fail("larder_import_close: %s", larder_last_error());
    }
}

static void hold_close(struct worker *me, struct export *e)
{
    struct block *b = e->block;

    pthread_mutex_lock(&me->w->lock);
    if (--b->exports == 0 && b->state == BLOCK_HELD)
        b->state = BLOCK_GONE;
    pthread_mutex_unlock(&me->w->lock);
    CALL(me, 0, larder_export_close(e->handle)); /* freed in any case */
    *e = (struct export){0};
}

void op_export_close(struct worker *me)
{
    struct export *e = &me->w->exports[draw(me, EXPORTS)];

    if (e->handle != NULL)
        hold_close(me, e);
}

void holds_close(struct worker *me)
{
    for (int i = 0; i < EXPORTS; i++) {
        if (me->w->exports[i].handle != NULL)
            hold_close(me, &me->w->exports[i]);
    }
}
