/* conf_read.c - reads values of settings. */
#include "core/settings/conf_keys.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"

static bool conf_read_is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

char larder__reader_peek(struct reader *r)
{
    while (conf_read_is_blank(*r->at))
        r->at++;
    return *r->at;
}

static bool is_mark(char c)
{
    return c == '\0' || c == ',' || c == ':' || c == '[' || c == ']';
}

larder_result larder__reader_fail(const struct reader *r, const char *accepted)
{
    return larder__fail(LARDER_ERR_CONF,
                        "%s: '%s' is not accepted: expected %s", r->key,
                        r->word, accepted);
}

larder_result larder__reader_word(struct reader *r)
{
    size_t n = 0;

    for (char c = larder__reader_peek(r); !is_mark(c);
         c = larder__reader_peek(r)) {
        if (n == CONF_WORD_MAX)
            return larder__fail(LARDER_ERR_CONF,
                                "a word longer than %d characters: '%.20s...'",
                                CONF_WORD_MAX, r->word);
        larder__assert(n < CONF_WORD_MAX);
        r->word[n++] = c;
        r->word[n] = '\0';
        r->at++;
    }
    r->word[n] = '\0';
    return LARDER_OK;
}

larder_result larder__reader_expect(struct reader *r, char mark)
{
    larder__assert(is_mark(mark) && mark != '\0');
    if (larder__reader_peek(r) != mark) {
        if (*r->at == '\0')
            return larder__fail(LARDER_ERR_CONF,
                                "%s: expected '%c', found the end", r->key,
                                mark);
        return larder__fail(LARDER_ERR_CONF, "%s: expected '%c' before '%.20s'",
                            r->key, mark, r->at);
    }
    r->at++;
    return LARDER_OK;
}

larder_result larder__read_size_t(struct reader *r, bool is_int,
                                  const char *accepted, uint64_t *out)
{
    larder_result result = larder__reader_word(r);
    bool negative = r->word[0] == '-';
    const char *digits = r->word + (negative || r->word[0] == '+');
    uint64_t value;

    if (result != LARDER_OK)
        return result;
    if (*digits < '0' || *digits > '9')
        return larder__reader_fail(r, accepted);
    errno = 0;
    value = strtoull(digits, NULL, 10);
    if (errno == ERANGE || (is_int && value > (uint64_t)INT_MAX + negative))
        return larder__reader_fail(r, accepted);
    *out = negative ? 0 - value : value;
    return LARDER_OK;
}

/* Read the number that the word begins with, in every locale, and return the
 * rest; NULL: it begins with none. */
static const char *read_double(const char *text, double *out)
{
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    char *end;

    if (plain == (locale_t)0)
        return NULL;
    errno = 0;
    *out = strtod_l(text, &end, plain);
    freelocale(plain);
    return end != text && errno != ERANGE ? end : NULL;
}

bool larder__word_real(const struct reader *r, double *out)
{
    const char *rest = read_double(r->word, out);

    return rest != NULL && *rest == '\0';
}

larder_result larder__read_real(struct reader *r, bool is_whole,
                                const char *accepted, double *out)
{
    larder_result result = larder__reader_word(r);
    const char *rest;

    if (result != LARDER_OK)
        return result;
    rest = read_double(r->word, out);
    return rest != NULL && (!is_whole || *rest == '\0')
               ? LARDER_OK
               : larder__reader_fail(r, accepted);
}

larder_result larder__read_bool(struct reader *r, bool *out)
{
    larder_result result = larder__reader_word(r);

    if (result != LARDER_OK)
        return result;
    if (strcmp(r->word, "True") != 0 && strcmp(r->word, "False") != 0)
        return larder__fail(LARDER_ERR_CONF,
                            "Expected a single True/False argument for %s, "
                            "but got '%s'",
                            r->key, r->word);
    *out = r->word[0] == 'T';
    return LARDER_OK;
}

uint64_t larder__mb_bytes(uint64_t mb)
{
    return mb < CONF_MOST_MB ? mb * LARDER_MIB : CONF_MOST_MB * LARDER_MIB;
}

/* ---- values of rows -------------------------------------------------------- */

/* The field that r->row is for. */
static void *field_of(struct conf *conf, const struct reader *r)
{
    return (char *)conf + r->row->at;
}

larder_result larder__parse_bool(struct conf *conf, struct reader *r)
{
    return larder__read_bool(r, field_of(conf, r));
}

larder_result larder__parse_unused(struct conf *conf, struct reader *r)
{
    bool ignored;

    (void)conf;
    return larder__read_bool(r, &ignored);
}

larder_result larder__parse_size(struct conf *conf, struct reader *r)
{
    uint64_t *out = field_of(conf, r);
    larder_result result = larder__reader_word(r);

    if (result != LARDER_OK)
        return result;
    if (larder_parse_size(r->word, out) != LARDER_OK)
        return larder__reader_fail(r, "a size such as 512MiB or 2g");
    return *out >= r->row->least ? LARDER_OK
                                 : larder__reader_fail(r, r->row->accepted);
}

larder_result larder__parse_mb(struct conf *conf, struct reader *r)
{
    uint64_t mb;
    larder_result result =
        larder__read_size_t(r, false, "a number of MiB", &mb);

    if (result == LARDER_OK)
        *(uint64_t *)field_of(conf, r) = larder__mb_bytes(mb);
    return result;
}

larder_result larder__parse_number(struct conf *conf, struct reader *r)
{
    const struct conf_key *row = r->row;
    uint64_t *out = field_of(conf, r);
    char *end;
    larder_result result = larder__reader_word(r);

    if (result != LARDER_OK)
        return result;
    if (r->word[0] < '0' || r->word[0] > '9')
        return larder__reader_fail(r, row->accepted);
    *out = strtoull(r->word, &end, 10);
    /* MiB become bytes: larger numbers would overflow. */
    if (*end != '\0' || *out > UINT64_MAX >> 21 || *out < row->least ||
        (row->most != 0 && *out > row->most))
        return larder__reader_fail(r, row->accepted);
    return LARDER_OK;
}

larder_result larder__parse_choice(struct conf *conf, struct reader *r)
{
    const char *const *names = r->row->choices;
    larder_result result = larder__reader_word(r);

    if (result != LARDER_OK)
        return result;
    for (int i = 0; i < CONF_CHOICES && names[i] != NULL; i++) {
        if (strcmp(r->word, names[i]) == 0) {
            *(int *)field_of(conf, r) = i;
            return LARDER_OK;
        }
    }
    return larder__reader_fail(r, r->row->accepted);
}
