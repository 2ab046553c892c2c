/* decisions_owners.c - operations of random programs on tags, exports and the
 * history; and the end of what a program has begun. */
#include <larder/history.h>
#include <larder/migrate.h>
#include <larder/tag.h>

#include <sys/socket.h>
#include <unistd.h>

#include "golden/decisions.h"

/* ---- tags ---------------------------------------------------------------- */

const char *tag_name(uint64_t number)
{
    static const char *const names[TAGS] = {"weights", "cache", "rest"};

    return names[number];
}

void op_tag_begin(struct world *w)
{
    const char *name = tag_name(draw(w, TAGS));

    step_says(w, "begin tag %s", name);
    w->tags_begun += CALL(w, larder_tag_begin(w->rig.a, name));
    if (w->other != NULL && chance(w, 2))
        w->others_begun += CALL(w, larder_tag_begin(w->other, name));
}

void op_tag_end(struct world *w)
{
    step_says(w, "end tag");
    w->tags_begun -= CALL(w, larder_tag_end(w->rig.a));
    if (w->others_begun > 0 && chance(w, 2))
        w->others_begun -= CALL(w, larder_tag_end(w->other));
}

void op_tag_pause(struct world *w)
{
    const char *name = tag_name(draw(w, TAGS));
    larder_pause_mode mode =
        chance(w, 3) ? LARDER_PAUSE_DROP : LARDER_PAUSE_KEEP;

    step_says(w, "pause tag %s, %d", name, (int)mode);
    CALL(w, larder_pause(w->rig.a, name, mode));
}

void op_tag_resume(struct world *w)
{
    const char *name = tag_name(draw(w, TAGS));

    step_says(w, "resume tag %s", name);
    CALL(w, larder_resume(w->rig.a, name));
}

/* ---- exports ------------------------------------------------------------- */

void op_export_open(struct world *w)
{
    larder_export **e = &w->exports[draw(w, EXPORTS)];
    struct slot *slot = draw_live(w);

    if (*e != NULL || slot == NULL)
        return;
    step_says(w, "export %llx", (unsigned long long)place_of(w, slot->addr));
    CALL(w, larder_export_open(w->rig.a, slot->addr, e));
}

/* To ourselves: the same memory at another address. */
static void receive(struct world *w, int socket)
{
    larder_import_info info = LARDER_IMPORT_INFO_INIT;
    larder_import *m = NULL;

    if (!CALL(w, larder_import_receive(w->rig.dev, socket, &m)))
        return;
    assert_ok(larder_import_get(m, &info));
    mix(w, DIGEST_placed, place_of(w, info.addr));
    mix(w, DIGEST_placed, info.bytes);
    mix(w, DIGEST_placed, info.mapped_bytes);
    faults_end(w);
    CALL(w, larder_import_close(m));
}

void op_export_send(struct world *w)
{
    larder_export *e = w->exports[draw(w, EXPORTS)];
    int sockets[2];

    if (e == NULL || w->captured >= 0) /* which forbids to unmap */
        return;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    step_says(w, "send export");
    if (CALL(w, larder_export_send(e, sockets[0])))
        receive(w, sockets[1]);
    close(sockets[0]);
    close(sockets[1]);
}

void op_export_close(struct world *w)
{
    larder_export **e = &w->exports[draw(w, EXPORTS)];

    if (*e == NULL)
        return;
    step_says(w, "close export");
    CALL(w, larder_export_close(*e));
    *e = NULL;
}

/* ---- the history --------------------------------------------------------- */

void op_annotate(struct world *w)
{
    char text[32];

    snprintf(text, sizeof text, "layer %d", (int)draw(w, 12));
    if (w->annotated > 0 && chance(w, 2)) {
        larder_annotate_pop();
        w->annotated--;
    } else if (chance(w, 2)) {
        larder_annotate_push(text);
        w->annotated++;
    } else {
        larder_annotate(chance(w, 4) ? NULL : text);
    }
}

void op_mark(struct world *w)
{
    char text[32];

    snprintf(text, sizeof text, "step %d", w->step);
    step_says(w, "mark");
    CALL(w, larder_history_mark(w->rig.a, text));
    if (chance(w, 6)) {
        look_at_history(w);
        CALL(w, larder_history_clear(w->rig.a));
    }
}

/* ---- the end ------------------------------------------------------------- */

void owners_end(struct world *w)
{
    if (w->captured >= 0)
        capture_end(w);
    while (w->tags_begun > 0 || w->others_begun > 0)
        op_tag_end(w);
    while (w->migrating > 0)
        w->migrating -= CALL(w, larder_migrate_end(w->rig.a));
    for (; w->annotated > 0; w->annotated--)
        larder_annotate_pop();
    larder_annotate(NULL);
    for (int i = 0; i < EXPORTS; i++)
        CALL(w, larder_export_close(w->exports[i]));
    pools_end(w);
    for (int i = 0; i < TAGS; i++)
        CALL(w, larder_resume(w->rig.a, tag_name((uint64_t)i)));
    regions_end(w);
}
