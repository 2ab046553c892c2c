/* conf_api.c - settings as text, without an allocator. */
#include <larder/larder.h>

#include "base/fail.h"
#include "core/request/request.h"
#include "core/segments/segment.h"

static larder_result conf_read(const char *text, struct conf *out)
{
    if (text == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    larder__conf_init(out);
    return larder__conf_parse(out, text);
}

larder_result larder_conf_check(const char *conf)
{
    struct conf ignored;

    return conf_read(conf, &ignored);
}

const char *larder_conf_key(size_t index)
{
    return larder__conf_key(index);
}

/* A size larger than any device is left unchanged. */
larder_result larder_conf_segment(const char *conf, uint64_t bytes,
                                  uint64_t *segment_bytes, uint64_t *page_bytes)
{
    struct conf c;
    uint64_t size;
    larder_result r = conf_read(conf, &c);

    if (r != LARDER_OK)
        return r;
    size =
        bytes > INT64_MAX ? bytes : larder__round_size(&c, UNIT_BYTES, bytes);
    if (segment_bytes != NULL)
        *segment_bytes =
            size > INT64_MAX ? size : larder__segment_size(&c, size);
    if (page_bytes != NULL)
        *page_bytes = segment_page_size(&c, size <= SMALL_MAX_BYTES);
    return LARDER_OK;
}
