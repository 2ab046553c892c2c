/* fuzz_size.c - any text as a size: an accepted size is below the limit, and
 * reads the same when written as a number of bytes. */
#include <inttypes.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    uint64_t bytes = 77;
    uint64_t again = 0;
    larder_result r = larder_parse_size(text, &bytes);

    if (r == LARDER_OK) {
        char number[32];

        REQUIRE(bytes <= UINT64_C(1) << 63);
        REQUIRE(text[0] >= '0' && text[0] <= '9');
        snprintf(number, sizeof number, "%" PRIu64, bytes);
        REQUIRE(larder_parse_size(number, &again) == LARDER_OK);
        REQUIRE(again == bytes);
    } else {
        REQUIRE(r == LARDER_ERR_INVALID);
        REQUIRE(bytes == 77);
        REQUIRE(larder_last_error()[0] != '\0');
    }
    free(text);
    return 0;
}
