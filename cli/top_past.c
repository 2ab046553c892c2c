/* top_past.c - the last minutes, for the page of `larder top`. */
#include "top_past.h"

#include <inttypes.h>
#include <stdlib.h>

#include "clock.h"
#include "top_text.h"

/* {"n":7,"ms":...,"devices":[...]} */
static char *look_text(uint64_t number, const struct top_data *data)
{
    char *devices = top_json(data);
    char *text = NULL;

    if (devices != NULL &&
        asprintf(&text, "{\"n\":%" PRIu64 ",\"ms\":%" PRIu64 ",\"devices\":%s}",
                 number, clock_ms(), devices) < 0)
        text = NULL;
    free(devices);
    return text;
}

void top_past_add(struct top_past *past, const struct top_data *data)
{
    char *text = look_text(past->count + 1, data);
    char **place = &past->looks[past->count % TOP_PAST_LOOKS];

    if (text == NULL)
        return;
    free(*place);
    *place = text;
    past->count++;
}

void top_past_print(const struct top_past *past, uint64_t after, FILE *out)
{
    uint64_t first =
        past->count > TOP_PAST_LOOKS ? past->count - TOP_PAST_LOOKS : 0;

    if (after > first)
        first = after;
    for (uint64_t i = first; i < past->count; i++)
        fprintf(out, "%s%s", i > first ? "," : "",
                past->looks[i % TOP_PAST_LOOKS]);
}
