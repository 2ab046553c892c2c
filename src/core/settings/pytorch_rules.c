/* pytorch_rules.c - how the allocators of PyTorch's releases differ: one row
 * for each release, one field for each rule. */
#include "core/settings/pytorch_rules.h"

#include <string.h>

#include <larder/larder.h>

#include "base/fail.h"

/* Fields in the order of PYTORCH_RULE_MAP. */
/* clang-format off */
const struct pytorch_rules larder__pytorch_releases[] = {
    {"2.4", PYTORCH_ADDRESSES, 0, 0, 0, PYTORCH_LENDS_NEVER, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {"2.5", PYTORCH_ADDRESSES, 0, 1, 0, PYTORCH_LENDS_NEVER, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {"2.6", PYTORCH_ADDRESSES, 0, 1, 0, PYTORCH_LENDS_NEVER, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1},
    {"2.7", PYTORCH_ADDRESSES, 0, 1, 0, PYTORCH_LENDS_NEVER, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1},
    {"2.8", PYTORCH_ADDRESSES, 0, 1, 0, PYTORCH_LENDS_LAST, 0, 0, 0, 0, 0, 1, 1, 1, 0, 1},
    {"2.9", PYTORCH_ADDRESSES, 0, 1, 0, PYTORCH_LENDS_LAST, 0, 0, 0, 0, 0, 1, 1, 1, 0, 1},
    {"2.10", PYTORCH_ADDRESSES, 1, 1, 1, PYTORCH_LENDS_LAST, 0, 0, 1, 1, 1, 0, 0, 1, 1, 0},
    {"2.11", PYTORCH_ADDRESSES, 1, 1, 1, PYTORCH_LENDS_FIRST, 1, 0, 1, 1, 1, 0, 0, 1, 1, 0},
    {"2.12", PYTORCH_NEW_BLOCKS, 1, 1, 1, PYTORCH_LENDS_FIRST, 1, 0, 1, 1, 1, 0, 0, 1, 1, 0},
    {"2.13", PYTORCH_NEW_SEGMENTS, 1, 1, 1, PYTORCH_LENDS_FIRST, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0},
    {"2.14", PYTORCH_NEW_SEGMENTS, 1, 1, 1, PYTORCH_LENDS_FIRST, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0},
    {"2.15", PYTORCH_NEW_SEGMENTS, 1, 1, 1, PYTORCH_LENDS_FIRST, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0},
    {.version = NULL},
};
/* clang-format on */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* What follows `word` and a number; `text` itself if those do not come next. */
static const char *after_number(const char *text, const char *word)
{
    size_t length = strlen(word);

    if (strncmp(text, word, length) != 0 || !is_digit(text[length]))
        return text;
    text += length;
    while (is_digit(*text))
        text++;
    return text;
}

/* Whether it can follow a release in a version, as Python writes those:
 * ".1+cu128", ".0a0+git5b1a2c3", "rc1", ".0.dev20250801+cpu". */
static bool is_rest(const char *text)
{
    static const char *const words[] = {"a", "b", "rc", ".post", ".dev"};
    static const char local[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    const char *end;

    while ((end = after_number(text, ".")) != text)
        text = end;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        text = after_number(text, words[i]);
    if (text[0] == '+' && text[1] != '\0')
        text += 1 + strspn(text + 1, local);
    return *text == '\0';
}

const struct pytorch_rules *larder__pytorch_rules(const char *version)
{
    const struct pytorch_rules *r = larder__pytorch_releases;

    for (; r->version != NULL; r++) {
        size_t length = strlen(r->version);

        if (strncmp(version, r->version, length) == 0 &&
            !is_digit(version[length]) && is_rest(version + length))
            return r;
    }
    return NULL;
}

enum {
    RELEASES =
        sizeof larder__pytorch_releases / sizeof larder__pytorch_releases[0] - 1
};

const char *larder_pytorch_release(size_t index)
{
    return index < RELEASES ? larder__pytorch_releases[index].version : NULL;
}

larder_result larder_pytorch_change(size_t index, size_t number,
                                    const char **words, const char **restored)
{
    const struct pytorch_rules *r = larder__pytorch_releases + index;

    if (words == NULL || restored == NULL || index >= RELEASES)
        return larder__fail_plain(LARDER_ERR_INVALID);
#define X(type, field, text, setting)                                          \
    if (index > 0 && r->field != r[-1].field && number-- == 0) {               \
        *words = (text);                                                       \
        *restored = (setting);                                                 \
        return LARDER_OK;                                                      \
    }
    PYTORCH_RULE_MAP(X)
#undef X
    return larder__fail_plain(LARDER_ERR_INVALID);
}
