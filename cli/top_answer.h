/* top_answer.h - answers one connection of a browser. */
#ifndef LARDER_CLI_TOP_ANSWER_H
#define LARDER_CLI_TOP_ANSWER_H

#include <stdint.h>

#include "top_data.h"
#include "top_request.h"

/* The last minutes, as JSON: each sample is kept as the text that the page reads. */
enum { TOP_PAST_LOOKS = 600 };

struct top_past {
    uint64_t count; /* of all samples; the last TOP_PAST_LOOKS are kept */
    char *looks[TOP_PAST_LOOKS];
};

/* Keep a sample.  Without host memory it is dropped. */
void top_past_add(struct top_past *past, const struct top_data *data);

struct top_served {
    char token[TOP_TOKEN_BYTES];
    unsigned port;
    const struct top_settings *settings;
    struct top_past past;
};

/* Read a request and answer it.  Ends the process if that takes too long: it
 * runs in a process forked for the purpose. */
void top_answer(const struct top_served *served, int fd);

#endif
