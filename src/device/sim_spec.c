/* sim_spec.c - parses "sim:80GiB,vmm=off": the kind of GPU to simulate. */
#include "device/sim_spec.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "device/sim_card.h"

/* The distance between the two regions. */
static const uint64_t capacity_max = UINT64_C(1) << 44;

/* ---- values ------------------------------------------------------------- */

/* Read one of two words.  False: it is neither. */
static bool read_choice(const char *value, const char *yes, const char *no,
                        bool *out)
{
    *out = strcmp(value, yes) == 0;
    return *out || strcmp(value, no) == 0;
}

static bool read_backing(struct sim_spec *spec, const char *value)
{
    spec->most_bytes = UINT64_MAX;
    if (read_choice(value, "memory", "none", &spec->is_real))
        return true;
    spec->is_real = true;
    return larder_parse_size(value, &spec->most_bytes) == LARDER_OK;
}

static bool read_vmm(struct sim_spec *spec, const char *value)
{
    return read_choice(value, "on", "off", &spec->has_vmm);
}

static bool read_context(struct sim_spec *spec, const char *value)
{
    return larder_parse_size(value, &spec->context_bytes) == LARDER_OK;
}

static bool read_events(struct sim_spec *spec, const char *value)
{
    if (strcmp(value, "auto") == 0)
        return true;
    spec->frees_wait = strcmp(value, "driver") == 0;
    spec->is_manual = spec->frees_wait;
    return spec->frees_wait ||
           read_choice(value, "manual", "immediate", &spec->is_manual);
}

static bool read_costs(struct sim_spec *spec, const char *value)
{
    strcpy(spec->costs, value);
    return value[0] != '\0';
}

static bool read_shared(struct sim_spec *spec, const char *value)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t length = strspn(value, letters);

    if (length == 0 || length > SIM_SHARED_MAX || value[length] != '\0')
        return false;
    strcpy(spec->shared, value);
    return true;
}

static bool read_export(struct sim_spec *spec, const char *value)
{
    static const char *const kinds[] = {"none", "fd", "fabric"};

    for (int kind = LARDER_HANDLE_NONE; kind <= LARDER_HANDLE_FABRIC; kind++) {
        spec->export_kind = (larder_handle_kind)kind;
        if (strcmp(value, kinds[kind]) == 0)
            return true;
    }
    return false;
}

static bool read_count(struct sim_spec *spec, const char *value)
{
    size_t digits = strspn(value, "0123456789");
    unsigned long count = strtoul(value, NULL, 10);

    spec->count = (int)count;
    return digits > 0 && value[digits] == '\0' && count > 0 &&
           count <= SIM_COUNT_MAX;
}

/* ---- settings ----------------------------------------------------------- */

struct setting {
    const char *name;
    const char *accepts;
    /* False: the value is not accepted.  It has at most SIM_PATH_MAX bytes. */
    bool (*read)(struct sim_spec *spec, const char *value);
};

static const struct setting settings[] = {
    {"backing", "memory, none or a size such as 64KiB", read_backing},
    {"vmm", "on or off", read_vmm},
    {"context", "a size such as 512MiB", read_context},
    {"events", "auto, manual, immediate or driver", read_events},
    {"costs", "the name of a file", read_costs},
    {"shared", "a name of 1 to 64 letters, digits, '.', '_' and '-'",
     read_shared},
    {"count", "a number from 1 to 64", read_count},
    {"export", "none, fd or fabric", read_export},
};

enum { SETTING_COUNT = sizeof settings / sizeof settings[0] };

static int setting_find(const char *name, size_t length)
{
    for (int i = 0; i < SETTING_COUNT; i++) {
        if (strlen(settings[i].name) == length &&
            memcmp(settings[i].name, name, length) == 0)
            return i;
    }
    return -1;
}

static larder_result unknown_setting(const char *text, const char *part)
{
    char names[128] = "";

    for (int i = 0; i < SETTING_COUNT; i++) {
        strcat(names, i == 0 ? "" : ", ");
        strcat(names, settings[i].name);
    }
    return larder__fail(LARDER_ERR_INVALID,
                        "device '%s': '%s' is not a setting: expected "
                        "NAME=VALUE with one of the names %s",
                        text, part, names);
}

static larder_result read_setting(const char *text, const char *part,
                                  struct sim_spec *spec, unsigned *seen)
{
    size_t length = strcspn(part, "=");
    int i = part[length] == '=' ? setting_find(part, length) : -1;

    if (i < 0)
        return unknown_setting(text, part);
    if (*seen & 1u << i)
        return larder__fail(LARDER_ERR_INVALID,
                            "device '%s': '%s' is given twice", text,
                            settings[i].name);
    *seen |= 1u << i;
    if (!settings[i].read(spec, part + length + 1))
        return larder__fail(LARDER_ERR_INVALID,
                            "device '%s': '%s' is not accepted: expected %s",
                            text, part, settings[i].accepts);
    return LARDER_OK;
}

static void take_card(struct sim_spec *spec, const struct sim_card *card)
{
    spec->card = card;
    spec->capacity_bytes = (uint64_t)card->memory_mib << 20;
    spec->context_bytes = (uint64_t)card->context_mib << 20;
}

/* A card is looked for first: 4090 is one, and no capacity that anybody
 * wants. */
static larder_result read_capacity(const char *text, const char *part,
                                   struct sim_spec *spec)
{
    const struct sim_card *card = larder__sim_card_find(part);
    const char *nearest;
    char id[32];

    if (card != NULL) {
        take_card(spec, card);
        return LARDER_OK;
    }
    if (larder_parse_size(part, &spec->capacity_bytes) == LARDER_OK &&
        spec->capacity_bytes > 0 && spec->capacity_bytes <= capacity_max)
        return LARDER_OK;
    nearest = larder__sim_card_nearest(part, id);
    return larder__fail(LARDER_ERR_INVALID,
                        "device '%s': '%s' is not a capacity: expected a "
                        "size from 1 byte to 16TiB, such as 80GiB, or a card, "
                        "such as rtx4090%s%s%s",
                        text, part, nearest != NULL ? "; did you mean " : "",
                        nearest != NULL ? nearest : "",
                        nearest != NULL ? "?" : "");
}

larder_result larder__sim_spec_parse(const char *text, struct sim_spec *out)
{
    struct sim_spec spec = {
        .is_real = true, .most_bytes = UINT64_MAX, .has_vmm = true, .count = 1};
    const char *p = text + strlen("sim:");
    unsigned seen = 0;

    for (int i = 0;; i++) {
        char part[SIM_PATH_MAX + 1];
        size_t length = strcspn(p, ",");
        larder_result r;

        if (length > SIM_PATH_MAX)
            return larder__fail(LARDER_ERR_INVALID,
                                "device '%.80s...': a part is longer than "
                                "%d bytes",
                                text, SIM_PATH_MAX);
        memcpy(part, p, length);
        part[length] = '\0';
        r = i == 0 ? read_capacity(text, part, &spec)
                   : read_setting(text, part, &spec, &seen);
        if (r != LARDER_OK)
            return r;
        if (p[length] == '\0')
            break;
        p += length + 1;
    }
    if (spec.export_kind != LARDER_HANDLE_NONE &&
        !(spec.is_real && spec.has_vmm))
        return larder__fail(LARDER_ERR_INVALID,
                            "device '%s': only pages of real memory can be "
                            "exported: expected vmm=on and backing=memory",
                            text);
    *out = spec;
    return LARDER_OK;
}
