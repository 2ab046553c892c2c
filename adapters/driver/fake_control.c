/* fake_control.c - how a test inspects and controls the stand-in. */
#include "driver/fake_tables.h"

__attribute__((visibility("default"))) const struct fakecuda_control *
fakecuda_control(void);

static larder_result control_add(const char *spec, int ordinal, int *number)
{
    larder_result r = LARDER_ERR_SYSTEM;
    int i = 0;

    fake_lock();
    if (ordinal >= 0 && ordinal < FAKE_DEVICES &&
        fake_devices[ordinal].dev == NULL)
        i = ordinal;
    while (i < FAKE_DEVICES && fake_devices[i].dev != NULL)
        i++;
    if (i < FAKE_DEVICES)
        r = fake_device_open(&fake_devices[i], spec, ordinal);
    if (r == LARDER_OK) {
        fake_devices[i].has_loose_streams = true;
        *number = i;
    }
    fake_unlock();
    return r;
}

static void control_remove(int number)
{
    struct fake_device *d;

    fake_lock();
    d = fake_device_get(number);
    if (d != NULL)
        fake_device_close(d);
    fake_unlock();
    if (d != NULL)
        fake_locals_end(&d->primary);
}

static larder_device *control_device(int number)
{
    struct fake_device *d = fake_device_get(number);

    return d == NULL ? NULL : d->dev;
}

static larder_device *control_device_of_machine(int ordinal)
{
    for (int i = 0; i < FAKE_DEVICES; i++) {
        if (fake_devices[i].dev != NULL && fake_devices[i].ordinal == ordinal)
            return fake_devices[i].dev;
    }
    return NULL;
}

static struct fake_device *device_of(const larder_device *dev)
{
    for (int i = 0; i < FAKE_DEVICES; i++) {
        if (fake_devices[i].dev == dev)
            return &fake_devices[i];
    }
    return NULL;
}

static larder_result control_capture_begin(larder_device *dev,
                                           larder_stream stream)
{
    larder_result r;

    fake_lock();
    r = larder_sim_capture_begin(dev, stream);
    if (r == LARDER_OK)
        fake_capture_note(device_of(dev), true);
    fake_unlock();
    return r;
}

static larder_result control_capture_end(larder_device *dev,
                                         larder_stream stream)
{
    larder_result r;

    fake_lock();
    r = larder_sim_capture_end(dev, stream);
    if (r == LARDER_OK)
        fake_capture_note(device_of(dev), false);
    fake_unlock();
    return r;
}

/* It releases allocations that other processes have closed. */
static larder_result control_get_usage(larder_device *dev,
                                       larder_sim_usage *out)
{
    larder_result r;

    fake_lock();
    r = larder_sim_get_usage(dev, out);
    fake_unlock();
    return r;
}

static larder_result control_wait_event(int number, larder_stream stream,
                                        uint64_t event)
{
    struct fake_device *d;
    uint64_t inner;
    larder_result r = LARDER_ERR_DEVICE;

    fake_lock();
    if (fake_event_find(__func__, (cud_event)(uintptr_t)event, &d, &inner) ==
            CUD_SUCCESS &&
        fake_number(d) == number)
        r = larder_sim_wait_event(d->dev, stream, inner);
    fake_unlock();
    return r;
}

static void control_traits(int integrated, int fabric, int peers)
{
    fake_trait_integrated = integrated;
    fake_trait_fabric = fabric;
    fake_trait_peers = peers;
}

const struct fakecuda_control *fakecuda_control(void)
{
    static const struct fakecuda_control control = {
        .add = control_add,
        .remove = control_remove,
        .device = control_device,
        .device_of_machine = control_device_of_machine,
        .last_error = larder_last_error,
        .complete = larder_sim_complete,
        .launch = larder_sim_launch,
        .capture_begin = control_capture_begin,
        .capture_end = control_capture_end,
        .regions = larder_sim_regions,
        .get_usage = control_get_usage,
        .wait_event = control_wait_event,
        .plan = fake_plan,
        .traits = control_traits,
        .broken = fake_broken_count,
        .lines = fake_broken_lines,
        .forget = fake_broken_forget,
        .calls = fake_calls,
        .last_access_count = fake_access_count,
    };

    return &control;
}
