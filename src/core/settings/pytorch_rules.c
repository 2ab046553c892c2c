/* pytorch_rules.c - how the allocators of PyTorch's releases differ: one row
 * for each release, one field for each rule. */
#include "core/settings/pytorch_rules.h"

#include <string.h>

#include <larder/larder.h>

#include "base/fail.h"

/* Each set of rules is the one before it and what changed. */
#define RULES_2_4                                                              \
    .free_order = PYTORCH_ADDRESSES, .lending = PYTORCH_LENDS_NEVER,           \
    .numbers_are_int = true
#define RULES_2_5 RULES_2_4, .expandable_private = true
#define RULES_2_6 RULES_2_5, .slack_above_segment = true
#define RULES_2_8                                                              \
    .free_order = PYTORCH_ADDRESSES, .expandable_private = true,               \
    .lending = PYTORCH_LENDS_LAST, .slack_above_segment = true,                \
    .lends_as_set = true, .empties_unused = true, .numbers_are_int = true
/* Without the fields that other releases set to something else. */
#define RULES_2_10_ON                                                          \
    .newest_scope_first = true, .expandable_private = true,                    \
    .whole_pools = true, .whole_is_no_limit = true,                            \
    .roundup_rest_is_exclusive = true, .split_at_segment = true,               \
    .empties_unused = true, .fraction_at_start = true
#define RULES_2_10                                                             \
    RULES_2_10_ON, .free_order = PYTORCH_ADDRESSES,                            \
                   .lending = PYTORCH_LENDS_LAST
#define RULES_2_11_ON                                                          \
    RULES_2_10_ON, .lending = PYTORCH_LENDS_FIRST, .slack_follows_segment = true
#define RULES_2_11 RULES_2_11_ON, .free_order = PYTORCH_ADDRESSES
#define RULES_2_12 RULES_2_11_ON, .free_order = PYTORCH_NEW_BLOCKS
#define RULES_2_13                                                             \
    RULES_2_11_ON, .free_order = PYTORCH_NEW_SEGMENTS,                         \
                   .scope_is_no_capture = true

const struct pytorch_rules larder__pytorch_releases[] = {
    {"2.4", RULES_2_4},   {"2.5", RULES_2_5},   {"2.6", RULES_2_6},
    {"2.7", RULES_2_6},   {"2.8", RULES_2_8},   {"2.9", RULES_2_8},
    {"2.10", RULES_2_10}, {"2.11", RULES_2_11}, {"2.12", RULES_2_12},
    {"2.13", RULES_2_13}, {"2.14", RULES_2_13}, {"2.15", RULES_2_13},
    {.version = NULL},
};

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
