/* size.c - parses sizes such as "512", "4KiB", "1.5GiB", "80g". */
#include <larder/larder.h>

#include <stddef.h>

#include "base/fail.h"

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The power of two of a unit, with *unit moved past it; -1: none. */
static int unit_shift(const char **unit)
{
    static const char prefixes[] = "kmgt";
    const char *p = *unit;
    int shift = 0;

    for (int i = 0; prefixes[i] != '\0'; i++) {
        if (lower(*p) == prefixes[i])
            shift = 10 * (i + 1);
    }
    if (shift != 0)
        p++;
    if (shift != 0 && lower(p[0]) == 'i' && lower(p[1]) == 'b')
        p += 2;
    else if (lower(*p) == 'b')
        p++;
    *unit = p;
    return shift;
}

/* The digits after the point, as a fraction: rest / scale. */
struct fraction {
    uint64_t rest;
    uint64_t scale;
};

/* Digits beyond the twelfth are less than a byte of a TiB. */
static struct fraction read_fraction(const char **text)
{
    struct fraction f = {0, 1};
    const char *p = *text;

    for (; is_digit(*p); p++) {
        if (p - *text >= 12)
            continue;
        f.rest = f.rest * 10 + (uint64_t)(*p - '0');
        f.scale *= 10;
    }
    *text = p;
    return f;
}

/* The whole bytes of the fraction; the product has up to 80 bits. */
static uint64_t fraction_bytes(struct fraction f, int shift)
{
    __extension__ typedef unsigned __int128 wide;

    return (uint64_t)(((wide)f.rest << shift) / f.scale);
}

/* Whether p is a point between two digits. */
static int is_point(const char *text, const char *p)
{
    return p > text && p[0] == '.' && is_digit(p[1]);
}

larder_result larder_parse_size(const char *text, uint64_t *out)
{
    const uint64_t limit = UINT64_C(1) << 63;
    struct fraction f = {0, 1};
    const char *p = text;
    uint64_t value = 0;
    int shift;

    if (text == NULL || out == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    for (; is_digit(*p); p++) {
        uint64_t digit = (uint64_t)(*p - '0');

        if (value > (limit - digit) / 10)
            return larder__fail(LARDER_ERR_INVALID, "size '%s' is too large",
                                text);
        value = value * 10 + digit;
    }
    if (p == text)
        return larder__fail(LARDER_ERR_INVALID,
                            "'%s' is not a size: expected a number, then "
                            "nothing or KiB, MiB, GiB, TiB, k, m, g, t",
                            text);
    if (is_point(text, p)) {
        p++;
        f = read_fraction(&p);
    }
    shift = unit_shift(&p);
    if (*p != '\0')
        return larder__fail(LARDER_ERR_INVALID,
                            "'%s' is not a size: '%s' is not a unit (KiB, "
                            "MiB, GiB, TiB, k, m, g, t)",
                            text, p);
    if (value > limit >> shift || (f.rest > 0 && value == limit >> shift))
        return larder__fail(LARDER_ERR_INVALID, "size '%s' is too large", text);
    if (f.scale > 1 && shift == 0)
        return larder__fail(LARDER_ERR_INVALID,
                            "'%s' is not a size: expected a unit after the "
                            "decimals (KiB, MiB, GiB, TiB, k, m, g, t)",
                            text);
    *out = (value << shift) + fraction_bytes(f, shift);
    return LARDER_OK;
}
