/* fake_state.c - the lock, the devices, and the begin and end of every call. */
#include "driver/fake_state.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_SPEC "sim:24GiB"

struct fake_device fake_devices[FAKE_DEVICES];
int fake_device_count;
pid_t fake_owner;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_initialized;

void fake_lock(void)
{
    pthread_mutex_lock(&lock);
}

void fake_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

/* ---- devices ------------------------------------------------------------ */

struct fake_device *fake_device_get(int number)
{
    if (number < 0 || number >= FAKE_DEVICES ||
        fake_devices[number].dev == NULL)
        return NULL;
    return &fake_devices[number];
}

int fake_number(const struct fake_device *d)
{
    return (int)(d - fake_devices);
}

larder_result fake_device_open(struct fake_device *d, const char *spec,
                               int ordinal)
{
    larder_result r;

    memset(d, 0, sizeof *d);
    d->waited = calloc(LARDER_SIM_STREAMS, sizeof *d->waited);
    d->stream_used = calloc(LARDER_SIM_STREAMS, 1);
    if (d->waited == NULL || d->stream_used == NULL)
        r = LARDER_ERR_NO_HOST_MEMORY;
    else
        r = larder_device_open(spec, ordinal, &d->dev);
    if (r != LARDER_OK) {
        free(d->waited);
        free(d->stream_used);
        memset(d, 0, sizeof *d);
        return r;
    }
    d->sim = larder__sim_of(d->dev);
    r = larder__sim_backing_share(&d->sim->backing);
    if (r != LARDER_OK) {
        fake_device_close(d);
        return r;
    }
    d->ordinal = ordinal;
    d->primary.device = fake_number(d);
    return LARDER_OK;
}

/* The program's objects on the device other than memory. */
static void objects_forget(struct fake_device *d)
{
    fake_streams_forget(d);
    fake_modules_forget(d);
    fake_captures_forget(d);
    fake_ipc_forget(d);
    fake_managed_forget(fake_number(d));
}

void fake_device_close(struct fake_device *d)
{
    objects_forget(d);
    fake_pages_forget(fake_number(d));
    fake_pools_forget(fake_number(d));
    larder_device_close(d->dev);
    free(d->waited);
    free(d->stream_used);
    memset(d, 0, sizeof *d);
}

larder_result fake_device_reset(struct fake_device *d)
{
    larder_result r = fake_synchronize(d);

    if (r == LARDER_OK)
        r = fake_memory_free_all(d);
    if (r != LARDER_OK)
        return r;
    objects_forget(d);
    fake_events_forget(d);
    fake_host_forget(d);
    return LARDER_OK;
}

cud_result fake_init(void)
{
    const char *spec = getenv("LARDER_FAKECUDA");
    const char *plan = getenv("LARDER_FAKECUDA_FAIL");
    const char *capability = getenv("LARDER_FAKECUDA_CAPABILITY");
    larder_result r;

    if (is_initialized)
        return CUD_SUCCESS;
    if (plan != NULL && *plan != '\0' && !fake_plan_read(plan)) {
        fprintf(
            stderr,
            "LARDER_FAKECUDA_FAIL: '%s' is not SYMBOL:NTH[:TIMES[:ANSWER]]\n",
            plan);
        return CUD_NO_DEVICE;
    }
    if (capability != NULL && !fake_capability_read(capability)) {
        fprintf(stderr, "LARDER_FAKECUDA_CAPABILITY: '%s' is not MAJOR.MINOR\n",
                capability);
        return CUD_NO_DEVICE;
    }
    spec = spec == NULL || *spec == '\0' ? DEFAULT_SPEC : spec;
    if (strcmp(spec, "none") != 0 && fake_devices[0].dev == NULL) {
        r = fake_visible_open(spec, &fake_device_count);
        if (r != LARDER_OK)
            fprintf(stderr, "LARDER_FAKECUDA: %s\n", larder_last_error());
        if (fake_device_count == 0)
            return CUD_NO_DEVICE;
    }
    if (capability == NULL && fake_devices[0].dev != NULL &&
        fake_devices[0].sim->spec.card != NULL)
        fake_capability = fake_devices[0].sim->spec.card->capability;
    is_initialized = true;
    fake_owner = getpid();
    atexit(fake_report);
    return CUD_SUCCESS;
}

/* ---- calls -------------------------------------------------------------- */

bool fake_is_child(void)
{
    return is_initialized && getpid() != fake_owner;
}

cud_result fake_begin_bare(const char *symbol)
{
    cud_result answer;

    if (fake_is_child())
        return CUD_NOT_INITIALIZED;
    fake_lock();
    answer = fake_planned(symbol);
    if (answer == CUD_SUCCESS && !is_initialized)
        answer =
            fake_broken(symbol, CUD_NOT_INITIALIZED, "called before cuInit()");
    if (answer != CUD_SUCCESS)
        fake_unlock();
    return answer;
}

cud_result fake_begin_device(const char *symbol, int number,
                             struct fake_device **d)
{
    cud_result answer = fake_begin_bare(symbol);

    if (answer != CUD_SUCCESS)
        return answer;
    *d = fake_device_get(number);
    if (*d != NULL)
        return CUD_SUCCESS;
    return fake_end(CUD_INVALID_DEVICE);
}

cud_result fake_begin(const char *symbol, struct fake_device **d)
{
    cud_result answer = fake_begin_bare(symbol);

    if (answer != CUD_SUCCESS)
        return answer;
    *d = fake_current();
    if (*d != NULL)
        return CUD_SUCCESS;
    return fake_end(fake_no_context(symbol));
}

cud_result fake_end(cud_result answer)
{
    fake_unlock();
    return answer;
}

static void peak_note(struct fake_device *d)
{
    larder_sim_usage use = {.size = sizeof use};

    if (larder_sim_get_usage(d->dev, &use) == LARDER_OK &&
        use.self_bytes > d->peak_bytes)
        d->peak_bytes = use.self_bytes;
}

static cud_result answer_of(const char *symbol, larder_result r)
{
    switch (r) {
    case LARDER_OK:
        return CUD_SUCCESS;
    case LARDER_ERR_OUT_OF_MEMORY:
    case LARDER_ERR_NO_HOST_MEMORY:
        return CUD_OUT_OF_MEMORY;
    case LARDER_ERR_NOT_READY:
        return CUD_NOT_READY;
    case LARDER_ERR_CAPTURING:
        return CUD_CAPTURE_UNSUPPORTED;
    case LARDER_ERR_UNKNOWN_STREAM:
        return fake_broken(symbol, CUD_INVALID_HANDLE, "%s",
                           larder_last_error());
    default:
        return fake_broken(symbol, CUD_INVALID_VALUE, "%s",
                           larder_last_error());
    }
}

cud_result fake_end_sim(const char *symbol, struct fake_device *d,
                        larder_result r)
{
    if (r == LARDER_OK)
        peak_note(d);
    return fake_end(answer_of(symbol, r));
}
