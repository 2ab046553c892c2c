/* top_pick.c - the selected process in the live table, through updates, sorting
 * and filtering. */
#include "top.h"

#include <stdio.h>
#include <string.h>

/* ---- identity of a process -------------------------------------------------- */

struct top_key top_key_of(const struct top_device *d, int64_t pid)
{
    struct top_key key = {.pid = pid};

    snprintf(key.id, sizeof key.id, "%s", d->d.id);
    memcpy(key.uuid, d->d.uuid, sizeof key.uuid);
    return key;
}

bool top_key_is(const struct top_key *key, const struct top_device *d,
                int64_t pid)
{
    return key->pid == pid && strcmp(key->id, d->d.id) == 0 &&
           memcmp(key->uuid, d->d.uuid, sizeof key->uuid) == 0;
}

/* ---- rows ------------------------------------------------------------------- */

/* Select the process shown in the row, if there is one. */
static void pick_row(struct top_pick *pick, const struct top_data *data,
                     size_t row)
{
    size_t first = 0;

    for (size_t i = 0; i < data->count; first += data->devices[i++].count) {
        const struct top_device *d = &data->devices[i];

        if (row >= first + d->count)
            continue;
        pick->row = row;
        pick->device = d;
        pick->process = &d->processes[row - first];
        pick->key = top_key_of(d, pick->process->p.pid);
        return;
    }
}

/* The row of the process selected last.  False: it is not shown. */
static bool find_row(const struct top_pick *pick, const struct top_data *data,
                     size_t *out)
{
    *out = 0;
    for (size_t i = 0; i < data->count; i++) {
        const struct top_device *d = &data->devices[i];

        for (size_t k = 0; k < d->count; k++, (*out)++) {
            if (top_key_is(&pick->key, d, d->processes[k].p.pid))
                return true;
        }
    }
    return false;
}

bool top_pick_find(struct top_pick *pick, const struct top_data *data)
{
    bool was_there = pick->process != NULL;
    size_t row; /* or the number of rows */
    bool is_there = find_row(pick, data, &row);

    pick->process = NULL;
    if (!is_there && row > 0)
        row = pick->row < row ? pick->row : row - 1;
    pick_row(pick, data, row);
    return is_there || !was_there;
}

void top_pick_next(struct top_pick *pick, const struct top_data *data)
{
    if (pick->process != NULL)
        pick_row(pick, data, pick->row + 1);
}

void top_pick_previous(struct top_pick *pick, const struct top_data *data)
{
    if (pick->process != NULL && pick->row > 0)
        pick_row(pick, data, pick->row - 1);
}
