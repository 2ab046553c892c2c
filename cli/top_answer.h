/* top_answer.h - answers one connection of a browser. */
#ifndef LARDER_CLI_TOP_ANSWER_H
#define LARDER_CLI_TOP_ANSWER_H

#include "top_past.h"
#include "top_request.h"

struct top_served {
    char token[TOP_TOKEN_BYTES];
    unsigned port;
    unsigned period_ms;
    enum top_order order;
    const char *filter;
    struct top_past past;
};

/* Read a request and answer it.  Ends the process if that takes too long: it
 * runs in a process forked for the purpose. */
void top_answer(const struct top_served *served, int fd);

#endif
