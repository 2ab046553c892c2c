/* fuzz_top_request.c - bytes as a request to `larder top --serve`: what is taken
 * has the token in it, and names what is asked for. */
#include "fuzz.h"

#include "top.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char token[] = "0123456789abcdef0123456789abcdef";
    char *head = fuzz_text(data, size);
    char what[TOP_WHAT_MAX];

    if (top_request_is_whole(head) &&
        top_request_judge(head, token, 8080, what) == TOP_FOUND) {
        REQUIRE(strstr(head, token) != NULL);
        REQUIRE(strlen(what) < TOP_WHAT_MAX);
    }
    free(head);
    return 0;
}
