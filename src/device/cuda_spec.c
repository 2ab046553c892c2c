/* cuda_spec.c - parses "cuda:0,export=fd": which device of a driver to open,
 * and how. */
#include "device/cuda_spec.h"

#include <stdbool.h>
#include <string.h>

#include "base/fail.h"
#include "device/cuda_driver.h"

struct part {
    const char *text;
    int length;
};

/* Take the part up to the next comma. */
static struct part part_next(const char **at)
{
    struct part p = {.text = *at, .length = (int)strcspn(*at, ",")};

    *at += p.length;
    return p;
}

static bool part_is(const struct part *p, const char *word)
{
    return (size_t)p->length == strlen(word) &&
           memcmp(p->text, word, (size_t)p->length) == 0;
}

static bool number_read(const struct part *p, int *out)
{
    int n = 0;

    if (p->length < 1 || p->length > 2)
        return false;
    for (int i = 0; i < p->length; i++) {
        if (p->text[i] < '0' || p->text[i] > '9')
            return false;
        n = n * 10 + (p->text[i] - '0');
    }
    *out = n;
    return n < CUDA_DEVICES_MAX;
}

static bool setting_read(const struct part *p, struct cuda_spec *out)
{
    static const struct {
        const char *text;
        int type;
    } exports[] = {{"export=none", CUD_HANDLE_NONE},
                   {"export=fd", CUD_HANDLE_FD},
                   {"export=fabric", CUD_HANDLE_FABRIC}};

    for (size_t i = 0; i < sizeof exports / sizeof exports[0]; i++) {
        if (part_is(p, exports[i].text)) {
            out->handle_type = exports[i].type;
            return true;
        }
    }
    return false;
}

larder_result larder__cuda_spec_parse(const char *text, const char *family,
                                      struct cuda_spec *out)
{
    const char *at = text + strlen(family) + 1;
    struct part p = part_next(&at);
    bool seen = false;

    *out = (struct cuda_spec){.handle_type = CUD_HANDLE_NONE};
    if (!number_read(&p, &out->number))
        return larder__fail(LARDER_ERR_INVALID,
                            "device '%s': '%.*s' is not a device: expected a "
                            "number from 0 to %d",
                            text, p.length, p.text, CUDA_DEVICES_MAX - 1);
    while (*at == ',') {
        at++;
        p = part_next(&at);
        if (!setting_read(&p, out))
            return larder__fail(LARDER_ERR_INVALID,
                                "device '%s': '%.*s' is not a setting: "
                                "expected export=none, export=fd or "
                                "export=fabric",
                                text, p.length, p.text);
        if (seen)
            return larder__fail(LARDER_ERR_INVALID,
                                "device '%s': 'export' is given twice", text);
        seen = true;
    }
    return LARDER_OK;
}
