/* top_request.h - parses the requests of a browser to `larder top --serve`. */
#ifndef LARDER_CLI_TOP_REQUEST_H
#define LARDER_CLI_TOP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

enum {
    TOP_TOKEN_BYTES = 33, /* 32 hexadecimal digits */
    TOP_HEAD_MAX = 8192,  /* bytes of a request */
    TOP_WHAT_MAX = 128
};

/* Answers, as HTTP status codes. */
enum {
    TOP_FOUND = 200,
    TOP_MALFORMED = 400,
    TOP_FORBIDDEN = 403,
    TOP_NOT_FOUND = 404,
    TOP_NOT_ALLOWED = 405,
    TOP_TOO_LARGE = 431,
    TOP_NOT_NOW = 503
};

/* Whether the head of a request is complete: it ends with an empty line. */
bool top_request_is_whole(const char *head);

/* Check a complete head.  TOP_FOUND: the request has the token and is addressed
 * to this machine, and `what` is the part of its path after the token, such as
 * "" or "data?after=3".  Any other Host is refused: it may be a foreign DNS
 * name that resolves to 127.0.0.1. */
int top_request_judge(const char *head, const char *token, unsigned port,
                      char what[TOP_WHAT_MAX]);

#endif
