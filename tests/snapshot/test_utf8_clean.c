/* test_utf8_clean.c - names that may contain anything become valid UTF-8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "snapshot/plain_text.h"

#define BAD "\xef\xbf\xbd"

static void what_is_not_utf8_is_replaced(void **state)
{
    static const struct {
        const char *text;
        const char *clean;
    } cases[] = {
        {"", ""},
        {"plain.trace", "plain.trace"},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x8d\xb0",
         "\xc3\xa9\xe2\x82\xac\xf0\x9f\x8d\xb0"},
        {"odd\xff.trace", "odd" BAD ".trace"},
        {"\xff\xfe", BAD BAD},
        {"cut\xe2\x82", "cut" BAD BAD},
        {"cut\xe2\x82z", "cut" BAD BAD "z"},
        {"\xc0\x80", BAD BAD},                 /* longer than it need be */
        {"\xed\xa0\x80", BAD BAD BAD},         /* a lone surrogate */
        {"\xed\x9f\xbf", "\xed\x9f\xbf"},      /* the last before those */
        {"\xf4\x90\x80\x80", BAD BAD BAD BAD}, /* beyond the last character */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *clean = utf8_clean(cases[i].text);

        assert_string_equal(clean, cases[i].clean);
        free(clean);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_utf8_is_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
