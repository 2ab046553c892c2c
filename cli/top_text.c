/* top_text.c - the one-time output of `larder top`, for people and for
 * programs. */
#include "top.h"

#include <jansson.h>
#include <stdio.h>

#include "json_line.h"
#include "table.h"
#include "json/json_memory.h"
#include "snapshot/units.h"

/* ---- text ------------------------------------------------------------------- */

enum column {
    NAME,
    PID,
    HELD,
    CONTEXT,
    RESERVED,
    IN_USE,
    CACHED,
    MINIMUM,
    LIMIT,
    COLUMNS
};

/* A dash if the value is unknown or unset. */
#define BYTES_OR_DASH(bytes, is_known) ((is_known) ? units_bytes(bytes) : "-")

static void add_process(struct table *t, const struct top_process *p)
{
    const larder_ledger_process *l = &p->p;
    bool known = p->has_ledger;
    const char *cells[COLUMNS] = {
        [NAME] = l->name,
        [PID] = units_count((uint64_t)l->pid),
        [HELD] = units_bytes(top_held(p)),
        [CONTEXT] = BYTES_OR_DASH(l->context_bytes, l->context_bytes != 0),
        [RESERVED] = BYTES_OR_DASH(l->reserved_bytes, known),
        [IN_USE] = BYTES_OR_DASH(l->in_use_bytes, known),
        [CACHED] = BYTES_OR_DASH(top_cached(p), known),
        [MINIMUM] = BYTES_OR_DASH(l->minimum_bytes, l->minimum_bytes != 0),
        [LIMIT] = BYTES_OR_DASH(l->limit_bytes, l->limit_bytes != 0),
    };

    table_add(t, cells);
}

static void print_device(const struct top_device *d)
{
    printf("%s: %s of %s in use", d->d.name[0] != '\0' ? d->d.name : "GPU",
           units_bytes(d->used_bytes), units_bytes(d->d.total_bytes));
    if (d->d.group >= 0)
        printf(", ledger of group %lld", (long long)d->d.group);
    if (d->group_limit_bytes != 0)
        printf(", at most %s for all", units_bytes(d->group_limit_bytes));
    puts("");
}

bool top_print_table(const struct top_data *data)
{
    static const char *const head[COLUMNS] = {"process", "pid",      "held",
                                              "context", "reserved", "in use",
                                              "cached",  "minimum",  "limit"};
    bool ok = !data->failed;

    for (size_t i = 0; i < data->count; i++) {
        struct table t;

        print_device(&data->devices[i]);
        table_init(&t, COLUMNS, head);
        for (size_t k = 0; k < data->devices[i].count; k++)
            add_process(&t, &data->devices[i].processes[k]);
        ok = table_print(&t) && ok;
        table_free(&t);
        puts("");
    }
    if (data->count == 0)
        puts("No process shares a device through Larder.");
    if (data->nvml != NULL)
        printf("(processes without Larder are not shown: %s)\n", data->nvml);
    return ok;
}

/* ---- JSON ------------------------------------------------------------------- */

static json_t *process_json(const struct top_process *p)
{
    const larder_ledger_process *l = &p->p;
    bool known = p->has_ledger;

    return json_pack("{s:I, s:s, s:I, s:I, s:o, s:o, s:o, s:I, s:o}", "pid",
                     (json_int_t)l->pid, "name", l->name, "held_bytes",
                     json_whole(top_held(p)), "context_bytes",
                     json_whole(l->context_bytes), "reserved_bytes",
                     json_whole_or_null(l->reserved_bytes, known),
                     "in_use_bytes", json_whole_or_null(l->in_use_bytes, known),
                     "cached_bytes", json_whole_or_null(top_cached(p), known),
                     "minimum_bytes", json_whole(l->minimum_bytes),
                     "limit_bytes", json_nonzero(l->limit_bytes));
}

static json_t *device_json(const struct top_device *d)
{
    json_t *list = json_array();
    char uuid[2 * LARDER_UUID_BYTES + 1];

    for (int i = 0; i < LARDER_UUID_BYTES; i++)
        snprintf(uuid + 2 * i, 3, "%02x", d->d.uuid[i]);
    for (size_t i = 0; i < d->count; i++)
        json_array_append_new(list, process_json(&d->processes[i]));
    return json_pack(
        "{s:s, s:s, s:o, s:o, s:I, s:I, s:o, s:o}", "name", d->d.name, "uuid",
        uuid, "ledger", d->d.id[0] != '\0' ? json_string(d->d.id) : json_null(),
        "group", d->d.group >= 0 ? json_integer(d->d.group) : json_null(),
        "total_bytes", json_whole(d->d.total_bytes), "used_bytes",
        json_whole(d->used_bytes), "group_limit_bytes",
        json_nonzero(d->group_limit_bytes), "processes", list);
}

bool top_print_json(const struct top_data *data)
{
    bool ok = !data->failed;

    for (size_t i = 0; i < data->count; i++)
        ok = json_line(stdout, device_json(&data->devices[i])) && ok;
    return ok;
}

char *top_json(const struct top_data *data)
{
    json_t *list = json_array();
    char *text;

    for (size_t i = 0; i < data->count; i++)
        json_array_append_new(list, device_json(&data->devices[i]));
    text = json_dumps(list, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(list);
    return text;
}
