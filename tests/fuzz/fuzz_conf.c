/* fuzz_conf.c - any text as settings: accepted, or refused with a message.
 * Accepted settings are usable. */
#include "fuzz.h"

#include <ctype.h>
#include <string.h>

static larder_device *device(void)
{
    static larder_device *dev;

    if (dev == NULL)
        REQUIRE(larder_device_open("sim:256MiB,backing=none", 0, &dev) ==
                LARDER_OK);
    return dev;
}

static void work_with(const char *conf)
{
    larder_options opt;
    larder_allocator *a;
    larder_addr p[3] = {0};

    larder_options_init(&opt);
    opt.conf = conf;
    REQUIRE(larder_create(device(), &opt, &a) == LARDER_OK);
    for (int i = 0; i < 3; i++) {
        larder_result r = larder_alloc(a, UINT64_C(7000) << (5 * i), 0, &p[i]);

        REQUIRE(r == LARDER_OK || r == LARDER_ERR_OUT_OF_MEMORY);
    }
    REQUIRE(larder_check(a) == LARDER_OK);
    REQUIRE(larder_configure(a, conf) == LARDER_OK);
    for (int i = 0; i < 3; i++)
        REQUIRE(larder_free(a, p[i]) == LARDER_OK);
    REQUIRE(larder_destroy(a) == LARDER_OK);
}

/* Whether the settings name files, or request arbitrary memory for events:
 * those are only checked.  Blanks may be anywhere. */
static int is_costly(const char *conf)
{
    char *bare = strdup(conf);
    size_t n = 0;
    int costly;

    REQUIRE(bare != NULL);
    for (const char *c = conf; *c != '\0'; c++) {
        if (!isspace((unsigned char)*c))
            bare[n++] = *c;
    }
    bare[n] = '\0';
    costly = strstr(bare, "dump_on_oom:") != NULL ||
             strstr(bare, "history:") != NULL;
    free(bare);
    return costly;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *conf = fuzz_text(data, size);
    larder_result r = larder_conf_check(conf);

    REQUIRE(r == LARDER_OK || r == LARDER_ERR_CONF);
    if (r == LARDER_OK && !is_costly(conf))
        work_with(conf);
    else if (r != LARDER_OK)
        REQUIRE(larder_last_error()[0] != '\0');
    free(conf);
    return 0;
}
