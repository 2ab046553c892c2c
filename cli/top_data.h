/* top_data.h - the devices and their processes for `larder top`: from ledgers,
 * and from NVML for processes without one. */
#ifndef LARDER_CLI_TOP_DATA_H
#define LARDER_CLI_TOP_DATA_H

#include <stdbool.h>

#include <larder/ledger.h>

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

#endif
