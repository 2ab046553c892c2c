/* utf8_json.h - a JSON string of text that may contain anything, as a file's name
 * may. */
#ifndef LARDER_REPLAY_UTF8_JSON_H
#define LARDER_REPLAY_UTF8_JSON_H

#include <stdlib.h>

#include <jansson.h>

#include "snapshot/utf8_clean.h"

/* NULL: no host memory. */
static inline json_t *utf8_json(const char *text)
{
    char *clean = utf8_clean(text);
    json_t *o = clean != NULL ? json_string(clean) : NULL;

    free(clean);
    return o;
}

#endif
