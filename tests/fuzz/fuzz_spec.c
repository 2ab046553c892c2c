/* fuzz_spec.c - any text after "sim:" as a device: opened and usable, or
 * refused with a message. shared= is left out, because it would leave files on
 * the machine. */
#include <larder/device.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *rest = fuzz_text(data, size);
    char *spec = malloc(size + 64);
    larder_device *dev = NULL;
    uint64_t free_bytes, total_bytes;
    larder_result r;

    REQUIRE(spec != NULL);
    /* The last backing named applies. */
    snprintf(spec, size + 64, "sim:%s,backing=none", rest);
    if (strstr(rest, "shared") == NULL) {
        r = larder_device_open(spec, 0, &dev);
        if (r == LARDER_OK) {
            REQUIRE(larder_device_mem_info(dev, &free_bytes, &total_bytes) ==
                    LARDER_OK);
            REQUIRE(free_bytes <= total_bytes);
            REQUIRE(larder_device_close(dev) == LARDER_OK);
        } else {
            REQUIRE(dev == NULL);
            REQUIRE(larder_last_error()[0] != '\0');
        }
    }
    free(spec);
    free(rest);
    return 0;
}
