/* top_request.h - what a browser asks of `larder top --serve`. */
#ifndef LARDER_CLI_TOP_REQUEST_H
#define LARDER_CLI_TOP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

enum {
    TOP_TOKEN_BYTES = 33, /* 32 hexadecimal digits */
    TOP_HEAD_MAX = 8192,  /* bytes of a request */
    TOP_WHAT_MAX = 128
};

/* Answers, by HTTP's numbers. */
enum {
    TOP_FOUND = 200,
    TOP_MALFORMED = 400,
    TOP_FORBIDDEN = 403,
    TOP_NOT_FOUND = 404,
    TOP_NOT_ALLOWED = 405,
    TOP_TOO_LARGE = 431,
    TOP_NOT_NOW = 503
};

/* Whether the head of a request is whole: it ends with an empty line. */
bool top_request_is_whole(const char *head);

/* Judge a whole head.  TOP_FOUND: the request is by somebody who knows the
 * token, to an address of this machine, and `what` is what follows the token in
 * its path, such as "" or "data?after=3".  A Host that is not ours is refused:
 * a name that somebody else's server gave out for 127.0.0.1. */
int top_request_judge(const char *head, const char *token, unsigned port,
                      char what[TOP_WHAT_MAX]);

#endif
