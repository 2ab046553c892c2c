/* top_data.h - devices and the processes on them, as `larder top` shows them:
 * from the ledgers, and from NVML for processes that keep none. */
#ifndef LARDER_CLI_TOP_DATA_H
#define LARDER_CLI_TOP_DATA_H

#include <stdbool.h>

#include <larder/ledger.h>

struct top_process {
    larder_ledger_process p;
    bool has_ledger; /* else only all that it holds is known: reserved */
};

struct top_device {
    larder_ledger_device d; /* id is "" if it has no ledger */
    uint64_t used_bytes;
    uint64_t group_limit_bytes; /* 0: none */
    struct top_process *processes;
    size_t count;
};

struct top_data {
    struct top_device *devices;
    size_t count;
    bool failed;      /* no host memory: something is missing */
    const char *nvml; /* why there is none; NULL: it was asked */
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

/* Their names; NULL beyond the last. */
const char *top_order_name(size_t order);

/* All there is now; to be freed. */
void top_data_read(struct top_data *out);
void top_data_free(struct top_data *data);

/* Order the processes of each device, and leave out those whose name and number
 * have not the words in them; if the words are a process's number, all others. */
void top_data_arrange(struct top_data *data, enum top_order order,
                      const char *filter);

/* With its context. */
uint64_t top_held(const struct top_process *p);
uint64_t top_cached(const struct top_process *p);

/* A device without processes that has this uuid, made if there is none; NULL:
 * no host memory. */
struct top_device *top_data_device(struct top_data *data,
                                   const unsigned char uuid[LARDER_UUID_BYTES]);
/* Another process of it; NULL: no host memory. */
struct top_process *top_data_process(struct top_data *data,
                                     struct top_device *device);

#endif
