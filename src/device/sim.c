/* sim.c - the simulated GPU's table: each entry takes the lock, charges the
 * context, and delegates. */
#include "device/sim_device.h"

#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "base/host.h"
#include "device/device_object.h"
#include "device/sim_fail.h"

/* A simulated device is recognised by this address. */
static const char sim_name[] = "sim";

struct sim *larder__sim_of(const larder_device *dev)
{
    return larder__device_self(dev, sim_name);
}

larder_result larder__sim_enter(struct sim *sim)
{
    larder_result r;

    sim_lock(sim);
    r = larder__sim_budget_begin(&sim->budget);
    if (r != LARDER_OK)
        sim_unlock(sim);
    return r;
}

larder_result larder__sim_leave(struct sim *sim, larder_result r)
{
    sim_unlock(sim);
    return r;
}

/* ---- properties --------------------------------------------------------- */

static larder_result op_props(void *self, larder_device_props *out)
{
    const struct sim *sim = self;

    out->total_bytes = sim->budget.capacity_bytes;
    out->granularity_bytes = sim->spec.has_vmm ? SIM_GRANULE : 0;
    out->context_bytes = sim->budget.context_bytes;
    out->ordinal = sim->ordinal;
    out->export_kind = sim->spec.export_kind;
    out->is_exclusive = sim->budget.share == NULL;
    memcpy(out->uuid, sim->uuid, sizeof out->uuid);
    snprintf(out->name, sizeof out->name, "%s",
             sim->spec.card != NULL ? sim->spec.card->name : "simulated GPU");
    return LARDER_OK;
}

static larder_result op_mem_info(void *self, uint64_t *free_bytes,
                                 uint64_t *total_bytes)
{
    struct sim *sim = self;

    sim_lock(sim);
    larder__sim_lend_sweep(sim);
    *total_bytes = sim->budget.capacity_bytes;
    *free_bytes = *total_bytes - larder__sim_budget_use(&sim->budget).all_bytes;
    return larder__sim_leave(sim, LARDER_OK);
}

static larder_result op_processes(void *self, larder_process_fn *fn, void *ctx)
{
    struct sim *sim = self;
    larder_device_process found[SIM_BUDGET_SLOTS];
    int count;

    sim_lock(sim);
    count = larder__sim_budget_processes(&sim->budget, found);
    sim_unlock(sim);
    for (int i = 0; i < count; i++)
        fn(ctx, &found[i]);
    return LARDER_OK;
}

static const char *op_error_text(void *self)
{
    (void)self;
    return larder__sim_fail_text();
}

/* Define op_NAME(), which calls larder__sim_NAME() with the lock held, in a
 * device that is in use. */
#define SIM_OP(name, parameters, ...)                                          \
    static larder_result op_##name parameters                                  \
    {                                                                          \
        larder_result r = larder__sim_enter(self);                             \
                                                                               \
        return r != LARDER_OK                                                  \
                   ? r                                                         \
                   : larder__sim_leave(self,                                   \
                                       larder__sim_##name(self, __VA_ARGS__)); \
    }

/* ---- memory ------------------------------------------------------------- */

SIM_OP(mem_alloc, (void *self, uint64_t bytes, larder_addr *out), bytes, out)
SIM_OP(mem_free, (void *self, larder_addr addr), addr)
SIM_OP(address_reserve, (void *self, uint64_t bytes, larder_addr *out), bytes,
       out)
SIM_OP(address_free, (void *self, larder_addr addr, uint64_t bytes), addr,
       bytes)
SIM_OP(page_create, (void *self, uint64_t bytes, uint64_t *out), bytes, out)
SIM_OP(page_release, (void *self, uint64_t page), page)
SIM_OP(map, (void *self, larder_addr addr, uint64_t bytes, uint64_t page), addr,
       bytes, page)
SIM_OP(unmap, (void *self, larder_addr addr, uint64_t bytes), addr, bytes)
SIM_OP(set_access, (void *self, larder_addr addr, uint64_t bytes), addr, bytes)

static larder_result op_page_export(void *self, uint64_t page,
                                    larder_page_handle *out)
{
    struct sim *sim = self;
    larder_result r = larder__sim_enter(sim);

    if (r != LARDER_OK)
        return r;
    return larder__sim_leave(
        sim, larder__sim_page_export(sim, page, sim->spec.export_kind, out));
}

static larder_result op_page_import(void *self,
                                    const larder_page_handle *handle,
                                    uint64_t bytes, uint64_t *out)
{
    larder_result r = larder__sim_enter(self);

    if (r != LARDER_OK)
        return r;
    if (bytes == 0)
        return larder__sim_leave(
            self, larder__sim_fail(LARDER_ERR_DEVICE, "a page has a size"));
    return larder__sim_leave(self,
                             larder__sim_page_import(self, handle, bytes, out));
}

/* ---- order -------------------------------------------------------------- */

SIM_OP(event_create, (void *self, uint64_t *out), out)
SIM_OP(event_destroy, (void *self, uint64_t event), event)
SIM_OP(event_record, (void *self, uint64_t event, larder_stream stream), event,
       stream)
SIM_OP(event_query, (void *self, uint64_t event), event)
SIM_OP(event_sync, (void *self, uint64_t event), event)
SIM_OP(stream_sync, (void *self, larder_stream stream), stream)

static larder_result op_stream_check(void *self, larder_stream stream)
{
    (void)self;
    return larder__sim_stream_check(stream);
}

static larder_result op_stream_is_capturing(void *self, larder_stream stream,
                                            int *out)
{
    struct sim *sim = self;
    larder_result r = larder__sim_stream_check(stream);
    struct sim_stream *s;

    if (r != LARDER_OK)
        return r;
    sim_lock(sim);
    s = larder__sim_stream_find(sim, stream);
    *out = s != NULL && s->is_captured;
    return larder__sim_leave(sim, LARDER_OK);
}

static larder_result op_unordered_use(void *self, larder_addr addr,
                                      uint64_t bytes,
                                      const larder_stream *streams,
                                      size_t count, larder_stream *out)
{
    struct sim *sim = self;

    sim_lock(sim);
    return larder__sim_leave(
        sim, larder__sim_unordered_use(sim, addr, bytes, streams, count, out));
}

/* ---- data and host memory ----------------------------------------------- */

static larder_result queue(struct sim *sim, larder_stream stream,
                           const struct sim_work *work)
{
    larder_result r = larder__sim_enter(sim);

    if (r != LARDER_OK)
        return r;
    return larder__sim_leave(sim, larder__sim_stream_queue(sim, stream, work));
}

static larder_result op_copy(void *self, uint64_t dst, uint64_t src,
                             uint64_t bytes, larder_copy_kind kind,
                             larder_stream stream)
{
    return queue(
        self, stream,
        &(struct sim_work){
            .kind = SIM_WORK_COPY,
            .as.copy = {.dst = dst, .src = src, .bytes = bytes, .kind = kind}});
}

static larder_result op_fill(void *self, larder_addr dst, unsigned char value,
                             uint64_t bytes, larder_stream stream)
{
    return queue(self, stream,
                 &(struct sim_work){
                     .kind = SIM_WORK_FILL,
                     .as.fill = {.dst = dst, .value = value, .bytes = bytes}});
}

SIM_OP(pinned_alloc, (void *self, uint64_t bytes, void **out), bytes, out)

static larder_result op_host_free(void *self, void *ptr)
{
    sim_lock(self);
    return larder__sim_leave(self, larder__sim_pinned_free(self, ptr));
}

/* ---- opening and closing ------------------------------------------------ */

static void op_close(void *self)
{
    struct sim *sim = self;

    larder__sim_streams_close(sim);
    larder__sim_slots_free(&sim->events);
    larder__sim_vmm_close(sim);
    larder__sim_lend_close(sim);
    larder__sim_pages_close(sim);
    larder__sim_memory_close(sim);
    larder__sim_pinned_close(sim);
    larder__sim_backing_close(&sim->backing);
    larder__sim_budget_close(&sim->budget);
    pthread_mutex_destroy(&sim->lock);
    larder__host_free(sim);
}

static const larder_device_ops sim_ops = {
    .size = sizeof sim_ops,
    .name = sim_name,
    .close = op_close,
    .props = op_props,
    .mem_alloc = op_mem_alloc,
    .mem_free = op_mem_free,
    .mem_info = op_mem_info,
    .address_reserve = op_address_reserve,
    .address_free = op_address_free,
    .page_create = op_page_create,
    .page_release = op_page_release,
    .map = op_map,
    .unmap = op_unmap,
    .set_access = op_set_access,
    .event_create = op_event_create,
    .event_destroy = op_event_destroy,
    .event_record = op_event_record,
    .event_query = op_event_query,
    .event_sync = op_event_sync,
    .stream_sync = op_stream_sync,
    .stream_check = op_stream_check,
    .stream_is_capturing = op_stream_is_capturing,
    .copy = op_copy,
    .fill = op_fill,
    .host_alloc = op_pinned_alloc,
    .host_free = op_host_free,
    .processes = op_processes,
    .error_text = op_error_text,
    .page_export = op_page_export,
    .page_import = op_page_import,
    .unordered_use = op_unordered_use,
};

/* Set everything that needs no undoing. */
static void sim_init(struct sim *sim, const struct sim_spec *spec, int ordinal)
{
    const struct sim_backing *b = &sim->backing;

    sim->spec = *spec;
    sim->ordinal = ordinal;
    sim->exported.fd = -1;
    sim->nowhere.file.fd = -1;
    larder__sim_identify(sim, spec->shared);
    sim->pages.item_bytes = sizeof(struct sim_page);
    sim->events.item_bytes = sizeof(struct sim_event);
    larder__sim_space_init(&sim->memory, b->first, b->region_bytes);
    larder__sim_space_init(&sim->addresses, b->first + b->region_bytes,
                           b->region_bytes);
    larder__sim_space_init(&sim->file, 0, UINT64_C(1) << 44);
}

static larder_result sim_create(const struct sim_spec *spec, int ordinal,
                                struct sim **out)
{
    struct sim *sim = larder__host_alloc(1, sizeof *sim);
    larder_result r;

    if (sim == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    r = larder__sim_backing_open(&sim->backing, spec->is_real, ordinal,
                                 spec->capacity_bytes);
    if (r != LARDER_OK)
        goto free_sim;
    if (pthread_mutex_init(&sim->lock, NULL) != 0) {
        r = larder__fail_plain(LARDER_ERR_SYSTEM);
        goto close_backing;
    }
    sim->budget.capacity_bytes = spec->capacity_bytes;
    sim->budget.context_bytes = spec->context_bytes;
    r = larder__sim_budget_open(&sim->budget, spec->shared, ordinal);
    if (r != LARDER_OK)
        goto destroy_lock;
    sim_init(sim, spec, ordinal);
    *out = sim;
    return LARDER_OK;

destroy_lock:
    pthread_mutex_destroy(&sim->lock);
close_backing:
    larder__sim_backing_close(&sim->backing);
free_sim:
    larder__host_free(sim);
    return r;
}

static larder_result sim_wrap(struct sim *sim, const larder_prices *prices,
                              larder_device **out)
{
    larder_device_ops ops = sim_ops;
    larder_result r;

    if (!sim->spec.has_vmm)
        larder__device_without_vmm(&ops);
    r = larder_device_create(&ops, sim, out);
    if (r == LARDER_OK)
        larder_device_set_prices(*out, prices);
    return r;
}

larder_result larder__sim_open(const char *text, int ordinal,
                               larder_device **out)
{
    struct sim_spec spec;
    larder_prices prices;
    struct sim *sim = NULL;
    larder_result r = larder__sim_spec_parse(text, &spec);

    if (r != LARDER_OK)
        return r;
    if (ordinal < 0 || ordinal >= spec.count)
        return larder__fail(LARDER_ERR_INVALID,
                            "device '%s' has no number %d: count=%d", text,
                            ordinal, spec.count);
    larder_prices_init(&prices);
    if (spec.costs[0] != '\0' &&
        (r = larder_prices_read(spec.costs, &prices)) != LARDER_OK)
        return r;
    r = sim_create(&spec, ordinal, &sim);
    if (r != LARDER_OK)
        return r;
    r = sim_wrap(sim, &prices, out);
    if (r != LARDER_OK)
        op_close(sim);
    return r;
}
