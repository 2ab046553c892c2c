/* top.h - the parts of `larder top`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <larder/ledger.h>

#include "snapshot/snapshot.h"

/* ---- data (top_data.c), from ledgers, and from NVML for processes without one ---- */

struct top_process {
    larder_ledger_process p;
    bool has_ledger; /* otherwise only the total held is known */
};

struct top_device {
    larder_ledger_device d; /* id is "" without a ledger */
    uint64_t used_bytes;
    uint64_t group_limit_bytes; /* 0: none */
    struct top_process *processes;
    size_t count;
};

struct top_data {
    struct top_device *devices;
    size_t count;
    bool failed;      /* no host memory: the data is incomplete */
    const char *nvml; /* why NVML is missing; NULL: it is available */
};

/* How processes are ordered. */
enum top_order {
    TOP_HELD,
    TOP_IN_USE,
    TOP_CACHED,
    TOP_PID,
    TOP_NAME,
    TOP_ORDERS
};

/* As the command line gives them. */
struct top_settings {
    bool is_once, is_json, is_served;
    enum top_order order;
    const char *filter;
    uint64_t period_ms;
    uint64_t port; /* of the page; 0: any */
};

/* The names of orders; NULL after the last. */
const char *top_order_name(size_t order);

/* Read the current data; free it afterwards. */
void top_data_read(struct top_data *out);
void top_data_free(struct top_data *data);

/* Sort the processes of each device, and leave out those whose name and number
 * do not contain the words.  If the words are a process's number, leave out all
 * others. */
void top_data_arrange(struct top_data *data, enum top_order order,
                      const char *filter);

/* Including its context. */
uint64_t top_held(const struct top_process *p);
uint64_t top_cached(const struct top_process *p);

/* Find the device with this uuid, or add one without processes.  NULL: no host
 * memory. */
struct top_device *top_data_device(struct top_data *data,
                                   const unsigned char uuid[LARDER_UUID_BYTES]);
/* Add a process to it.  NULL: no host memory. */
struct top_process *top_data_process(struct top_data *data,
                                     struct top_device *device);

/* ---- NVIDIA's management library (top_nvml.c) ---- */

/* Add to `data`: GPUs without a ledger, processes without one, and how much of
 * each GPU is in use.  Returns why there is no NVML, or NULL. */
const char *top_nvml_add(struct top_data *data);

/* ---- printed once (top_text.c) ---- */

/* False: no host memory. */
bool top_print_table(const struct top_data *data);
/* One object on a line for each device. */
bool top_print_json(const struct top_data *data);
/* The devices as an array, to be freed.  NULL: no host memory. */
char *top_json(const struct top_data *data);

/* ---- the selected process (top_pick.c) ----
 *
 * It stays the same through updates, sorting and filtering, wherever it is shown. */

/* A process of a device; with pid 0, the device. */
struct top_key {
    int64_t pid;
    char id[LARDER_LEDGER_ID_BYTES]; /* of the ledger */
    unsigned char uuid[LARDER_UUID_BYTES];
};

struct top_key top_key_of(const struct top_device *d, int64_t pid);
bool top_key_is(const struct top_key *key, const struct top_device *d,
                int64_t pid);

struct top_pick {
    struct top_key key; /* of the last selection; pid 0: none yet */
    size_t row;         /* its index among all processes shown */
    const struct top_device *device;
    const struct top_process *process; /* NULL: there is none to select */
};

/* Find the selected process in data that was read or sorted again.  If it is
 * not there its neighbour is selected: the one now in its row, or the last.
 * False: it is gone. */
bool top_pick_find(struct top_pick *pick, const struct top_data *data);

/* Select the process in the next or previous row; no change at the ends. */
void top_pick_next(struct top_pick *pick, const struct top_data *data);
void top_pick_previous(struct top_pick *pick, const struct top_data *data);

/* ---- the live table (top_screen.c) ---- */

/* Runs until the user quits.  The order and the filter are the initial ones. */
int top_screen_run(const struct top_settings *settings);

/* ---- requests of a browser (top_request.c) ---- */

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

/* ---- answers (top_answer.c) ---- */

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

/* ---- the page, for browsers on this machine (top_serve.c) ---- */

/* Listens on the loopback interface and prints the address, which contains an
 * unguessable token.  Samples the devices until a signal ends the process.  Returns an
 * exit status if it cannot start. */
int top_serve_run(const struct top_settings *settings);

/* ---- recorded programs (top_recorded.c) ----
 *
 * Programs under `larder.record --live` provide their snapshot on request.  Each
 * listens on an abstract socket, larder-live-UID-PID, which disappears with the
 * process, and writes its snapshot to every connection of the same user.  Only the
 * same user's sockets are read. */

/* Print this user's programs, as elements of a JSON array. */
void top_recorded_print(FILE *out);

/* Write the page of larder view for the recording of process `pid` so far.
 * False: the error has the reason. */
bool top_recorded_view(int64_t pid, FILE *out, struct tool_error *error);
