/* sim_card.c - cards by name, from data/cards/cards.tsv. */
#include "device/sim_card.h"

#include <larder/sim.h>

#include <ctype.h>
#include <string.h>

enum { KEY_MAX = 32 };

/* ---- names in one form -------------------------------------------------- */

static void skip_prefixes(char *key)
{
    static const char *const prefixes[] = {"nvidia", "tesla", "geforce", "rtx"};

    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        size_t length = strlen(prefixes[i]);

        if (strncmp(key, prefixes[i], length) == 0)
            memmove(key, key + length, strlen(key + length) + 1);
    }
}

static void skip_unit(char *key)
{
    size_t length = strlen(key);

    if (length > 2 && strcmp(key + length - 2, "gb") == 0 &&
        isdigit((unsigned char)key[length - 3]))
        key[length - 2] = '\0';
}

/* Of at most `length` characters of a name.  Empty: it is too long for one. */
static void key_of(const char *name, size_t length, char key[KEY_MAX])
{
    size_t used = 0;

    for (size_t i = 0; i < length && name[i] != '\0'; i++) {
        if (name[i] == ' ' || name[i] == '-' || name[i] == '_')
            continue;
        if (used + 1 == KEY_MAX) {
            key[0] = '\0';
            return;
        }
        key[used++] = (char)tolower((unsigned char)name[i]);
    }
    key[used] = '\0';
    skip_prefixes(key);
    skip_unit(key);
}

const char *larder_sim_card(size_t index)
{
    return index < larder__sim_card_count ? larder__sim_cards[index].ids : NULL;
}

/* ---- finding ------------------------------------------------------------ */

const struct sim_card *larder__sim_card_find(const char *name)
{
    char wanted[KEY_MAX];
    char key[KEY_MAX];

    key_of(name, strlen(name), wanted);
    for (size_t i = 0; wanted[0] != '\0' && i < larder__sim_card_count; i++) {
        const char *id = larder__sim_cards[i].ids;

        for (;;) {
            size_t length = strcspn(id, ",");

            key_of(id, length, key);
            if (strcmp(key, wanted) == 0)
                return &larder__sim_cards[i];
            if (id[length] == '\0')
                break;
            id += length + 1;
        }
    }
    return NULL;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* The number of letters to change, insert, delete or swap with the next. */
static unsigned distance(const char *a, const char *b)
{
    unsigned d[KEY_MAX][KEY_MAX];
    size_t i = 0;
    size_t j = 0;

    for (i = 0; i <= strlen(a); i++) {
        for (j = 0; j <= strlen(b); j++) {
            if (i == 0 || j == 0) {
                d[i][j] = (unsigned)(i + j);
                continue;
            }
            d[i][j] = least(least(d[i - 1][j], d[i][j - 1]) + 1,
                            d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    }
    return d[i - 1][j - 1];
}

const char *larder__sim_card_nearest(const char *name, char out[32])
{
    enum { FAR = 3 };
    unsigned nearest_far = FAR;
    char wanted[KEY_MAX];
    char key[KEY_MAX];
    const char *nearest = NULL;

    key_of(name, strlen(name), wanted);
    for (size_t i = 0; strlen(wanted) > 1 && i < larder__sim_card_count; i++) {
        const char *ids = larder__sim_cards[i].ids;
        unsigned far;

        key_of(ids, strcspn(ids, ","), key);
        far = strncmp(key, wanted, strlen(wanted)) == 0 ? 0
                                                        : distance(wanted, key);
        if (far < nearest_far) {
            nearest_far = far;
            nearest = ids;
        }
    }
    if (nearest == NULL)
        return NULL;
    out[0] = '\0';
    strncat(out, nearest,
            strcspn(nearest, ",") < KEY_MAX - 1 ? strcspn(nearest, ",")
                                                : KEY_MAX - 1);
    return out;
}
