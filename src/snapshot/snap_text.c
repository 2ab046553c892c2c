/* snap_text.c - converts text in files to numbers and UTF-8. */
#include "snapshot/snap_text.h"

#include <string.h>

#include "base/utf8.h"

/* ---- UTF-8 ---------------------------------------------------------------- */

bool snap_utf8_valid(const unsigned char *p, size_t count)
{
    size_t i = 0;
    uint64_t word;
    uint32_t code;

    for (; i + 8 <= count; i += 8) {
        memcpy(&word, p + i, 8);
        if ((word & UINT64_C(0x8080808080808080)) != 0)
            break;
    }
    while (i < count) {
        size_t n = utf8_read(p + i, count - i, &code);

        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

size_t snap_utf8_put(char *out, uint32_t code)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* ---- numbers -------------------------------------------------------------- */

bool snap_hex(const char *text, size_t digits, uint32_t *out)
{
    uint32_t v = 0;

    for (size_t i = 0; i < digits; i++) {
        char c = text[i];

        if (c >= '0' && c <= '9')
            v = v << 4 | (uint32_t)(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            v = v << 4 | (uint32_t)((c | 0x20) - 'a' + 10);
        else
            return false;
    }
    *out = v;
    return true;
}

bool snap_integer(const char *text, size_t length, uint64_t *bits, bool *is_big)
{
    bool negative = length > 0 && text[0] == '-';
    uint64_t v = 0;

    if (length == (size_t)negative)
        return false;
    for (size_t i = negative; i < length; i++) {
        uint64_t digit = (uint64_t)(text[i] - '0');

        if (text[i] < '0' || text[i] > '9' || v > (UINT64_MAX - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    if (negative && v > (uint64_t)INT64_MAX + 1)
        return false;
    *bits = negative ? 0 - v : v;
    *is_big = !negative && v > INT64_MAX;
    return true;
}

/* ---- escapes -------------------------------------------------------------- */

bool snap_raw_unicode(const char *text, size_t length, char *out, size_t *used)
{
    size_t n = 0;

    for (size_t i = 0; i < length; i++) {
        uint32_t code = (unsigned char)text[i];
        size_t digits = 0;

        if (code == '\\' && i + 1 < length)
            digits = text[i + 1] == 'u' ? 4 : text[i + 1] == 'U' ? 8 : 0;
        if (digits != 0) {
            if (length - i - 2 < digits ||
                !snap_hex(text + i + 2, digits, &code) || code > 0x10ffff)
                return false;
            i += 1 + digits;
        }
        n += snap_utf8_put(out + n, code);
    }
    *used = n;
    return true;
}
