/* cuda.c - a device of a real driver: opens it, queries its properties, closes
 * it. */
#include "device/cuda_device.h"

#include <string.h>

#include "base/fail.h"
#include "base/host.h"
#include "device/device_object.h"

static larder_result op_props(void *self, larder_device_props *out)
{
    const struct cuda *c = self;

    *out = c->props;
    return LARDER_OK;
}

static void op_close(void *self)
{
    struct cuda *c = self;

    larder__cuda_context_close(c);
    pthread_mutex_destroy(&c->lock);
    larder__host_free(c);
}

static larder_result cuda_wrap(struct cuda *c, larder_device **out)
{
    larder_device_ops ops = larder__cuda_ops;

    ops.size = sizeof ops;
    ops.name = c->family->name;
    ops.close = op_close;
    ops.props = op_props;
    ops.error_text = larder__cuda_error_text;
    if (c->props.granularity_bytes == 0)
        larder__device_without_vmm(&ops);
    if (c->call.page_export == NULL || c->call.page_import == NULL) {
        ops.page_export = NULL;
        ops.page_import = NULL;
    }
    return larder_device_create(&ops, c, out);
}

/* ---- properties ----------------------------------------------------------- */

/* 0 if the driver does not know the attribute. */
static int attribute(const struct cuda *c, enum cuda_attribute which)
{
    int number = larder__cuda_attribute(c->family, which);
    int value = 0;

    if (number < 0 ||
        c->call.device_attribute(&value, number, c->device) != CUD_SUCCESS)
        return 0;
    return value;
}

static larder_result find_device(struct cuda *c, const char *text, int number)
{
    int count = 0;
    cud_result answer = c->call.init(0);

    if (answer == CUD_SUCCESS)
        answer = c->call.device_count(&count);
    if (answer == CUD_SUCCESS && count == 0)
        answer = CUD_NO_DEVICE;
    if (answer == CUD_SUCCESS && number >= count)
        return larder__fail(LARDER_ERR_INVALID,
                            "device '%s': there is no device %d: the driver "
                            "has %d",
                            text, number, count);
    if (answer == CUD_SUCCESS)
        answer = c->call.device_get(&c->device, number);
    if (answer == CUD_SUCCESS)
        return LARDER_OK;
    (void)larder__cuda_result(c, NULL, answer);
    return larder__fail(answer == CUD_NO_DEVICE ? LARDER_ERR_UNSUPPORTED
                                                : LARDER_ERR_DEVICE,
                        "device '%s': %s", text, larder__cuda_error_text(NULL));
}

/* No virtual memory if the calls are missing or the device does not support
 * it. */
static cud_result find_granularity(struct cuda *c)
{
    size_t bytes = 0;
    cud_result answer;

    if (c->call.map == NULL || attribute(c, CUDA_ATTRIBUTE_virtual_memory) == 0)
        return CUD_SUCCESS;
    c->page_prop = (cud_page_prop){
        .type = CUD_PAGE_PINNED,
        .requestedHandleTypes = c->handle_type,
        .location = {.type = CUD_ON_DEVICE, .id = c->device},
    };
    answer =
        c->call.granularity(&bytes, &c->page_prop, CUD_GRANULARITY_MINIMUM);
    c->props.granularity_bytes = bytes;
    return answer;
}

/* How pages can be exported to other processes, and the identity by which they
 * recognise the device. */
static void find_identity(struct cuda *c)
{
    cud_uuid uuid = {{0}};

    if (c->call.page_export != NULL && c->handle_type == CUD_HANDLE_FD)
        c->props.export_kind = LARDER_HANDLE_FD;
    else if (c->call.page_export != NULL && c->handle_type == CUD_HANDLE_FABRIC)
        c->props.export_kind = LARDER_HANDLE_FABRIC;
    if (c->call.device_uuid != NULL &&
        c->call.device_uuid(&uuid, c->device) == CUD_SUCCESS)
        memcpy(c->props.uuid, uuid.bytes, sizeof c->props.uuid);
}

static larder_result find_props(struct cuda *c, const char *text)
{
    size_t bytes = 0;
    cud_result answer = c->call.device_total(&bytes, c->device);

    c->props.size = sizeof c->props;
    c->props.total_bytes = bytes;
    if (answer == CUD_SUCCESS)
        answer = c->call.device_name(c->props.name, (int)sizeof c->props.name,
                                     c->device);
    if (answer == CUD_SUCCESS)
        answer = find_granularity(c);
    find_identity(c);
    c->props.is_integrated = attribute(c, CUDA_ATTRIBUTE_integrated) != 0;
    if (answer == CUD_SUCCESS)
        return LARDER_OK;
    (void)larder__cuda_result(c, NULL, answer);
    return larder__fail(LARDER_ERR_DEVICE, "device '%s': %s", text,
                        larder__cuda_error_text(NULL));
}

/* Reject an export type that the device does not support now, not when the
 * first page is created.  HIP does not report support for any of them. */
static larder_result check_export(const struct cuda *c, const char *text)
{
    enum cuda_attribute which = c->handle_type == CUD_HANDLE_FABRIC
                                    ? CUDA_ATTRIBUTE_export_fabric
                                    : CUDA_ATTRIBUTE_export_fd;
    bool is_told = larder__cuda_attribute(c->family, which) >= 0;

    if (c->handle_type == CUD_HANDLE_NONE ||
        (!is_told && c->handle_type == CUD_HANDLE_FD) ||
        attribute(c, which) != 0)
        return LARDER_OK;
    return larder__fail(LARDER_ERR_UNSUPPORTED,
                        "device '%s': it cannot export memory in this way",
                        text);
}

static void add_access(struct cuda *c, cud_device device)
{
    c->access[c->access_count++] = (cud_access){
        .location = {.type = CUD_ON_DEVICE, .id = device},
        .flags = CUD_READ_WRITE,
    };
}

/* Collect every device that can reach this one: each mapping must give it
 * access, because a copy from a device without access may hang. */
static void find_peers(struct cuda *c)
{
    int count = 0;
    int reaches;
    cud_device other;

    add_access(c, c->device);
    if (c->call.device_reaches == NULL ||
        c->call.device_count(&count) != CUD_SUCCESS)
        return;
    for (int i = 0; i < count && c->access_count < CUDA_DEVICES_MAX; i++) {
        if (c->call.device_get(&other, i) == CUD_SUCCESS &&
            other != c->device &&
            c->call.device_reaches(&reaches, other, c->device) == CUD_SUCCESS &&
            reaches != 0)
            add_access(c, other);
    }
}

/* ---- specs ---------------------------------------------------------------- */

/* "cuda:0,export=fd": which device of a driver to open, and how. */
struct cuda_spec {
    int number;
    int handle_type; /* CUD_HANDLE_*: how pages are exported */
};

struct part {
    const char *text;
    int length;
};

/* Take the part up to the next comma. */
static struct part part_next(const char **at)
{
    struct part p = {.text = *at, .length = (int)strcspn(*at, ",")};

    *at += p.length;
    return p;
}

static bool part_is(const struct part *p, const char *word)
{
    return (size_t)p->length == strlen(word) &&
           memcmp(p->text, word, (size_t)p->length) == 0;
}

static bool number_read(const struct part *p, int *out)
{
    int n = 0;

    if (p->length < 1 || p->length > 2)
        return false;
    for (int i = 0; i < p->length; i++) {
        if (p->text[i] < '0' || p->text[i] > '9')
            return false;
        n = n * 10 + (p->text[i] - '0');
    }
    *out = n;
    return n < CUDA_DEVICES_MAX;
}

static bool setting_read(const struct part *p, struct cuda_spec *out)
{
    static const struct {
        const char *text;
        int type;
    } exports[] = {{"export=none", CUD_HANDLE_NONE},
                   {"export=fd", CUD_HANDLE_FD},
                   {"export=fabric", CUD_HANDLE_FABRIC}};

    for (size_t i = 0; i < sizeof exports / sizeof exports[0]; i++) {
        if (part_is(p, exports[i].text)) {
            out->handle_type = exports[i].type;
            return true;
        }
    }
    return false;
}

/* `text` begins with `family` and a colon.  ERR_INVALID names the wrong part
 * and what is accepted. */
static larder_result spec_parse(const char *text, const char *family,
                                struct cuda_spec *out)
{
    const char *at = text + strlen(family) + 1;
    struct part p = part_next(&at);
    bool seen = false;

    *out = (struct cuda_spec){.handle_type = CUD_HANDLE_NONE};
    if (!number_read(&p, &out->number))
        return larder__fail(LARDER_ERR_INVALID,
                            "device '%s': '%.*s' is not a device: expected a "
                            "number from 0 to %d",
                            text, p.length, p.text, CUDA_DEVICES_MAX - 1);
    while (*at == ',') {
        at++;
        p = part_next(&at);
        if (!setting_read(&p, out))
            return larder__fail(LARDER_ERR_INVALID,
                                "device '%s': '%.*s' is not a setting: "
                                "expected export=none, export=fd or "
                                "export=fabric",
                                text, p.length, p.text);
        if (seen)
            return larder__fail(LARDER_ERR_INVALID,
                                "device '%s': 'export' is given twice", text);
        seen = true;
    }
    return LARDER_OK;
}

/* ---- opening -------------------------------------------------------------- */

static larder_result cuda_find(struct cuda *c, const char *text,
                               const struct cuda_spec *spec, int ordinal)
{
    larder_result r = larder__cuda_load(c->family, &c->call);

    c->handle_type = spec->handle_type;
    c->props.ordinal = spec->number + ordinal;
    if (r == LARDER_OK)
        r = find_device(c, text, spec->number + ordinal);
    if (r == LARDER_OK)
        r = check_export(c, text);
    if (r == LARDER_OK)
        r = find_props(c, text);
    if (r == LARDER_OK)
        find_peers(c);
    return r;
}

larder_result larder__cuda_open(const char *text, int ordinal,
                                larder_device **out)
{
    const struct cuda_family *family = larder__cuda_family(text);
    struct cuda_spec spec;
    struct cuda *c;
    larder_result r = spec_parse(text, family->name, &spec);

    if (r != LARDER_OK)
        return r;
    if (ordinal < 0 || ordinal >= CUDA_DEVICES_MAX)
        return larder__fail(LARDER_ERR_INVALID, "device '%s' has no number %d",
                            text, ordinal);
    c = larder__host_alloc(1, sizeof *c);
    if (c == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    c->family = family;
    if (pthread_mutex_init(&c->lock, NULL) != 0) {
        larder__host_free(c);
        return larder__fail_plain(LARDER_ERR_SYSTEM);
    }
    r = cuda_find(c, text, &spec, ordinal);
    if (r == LARDER_OK)
        r = cuda_wrap(c, out);
    if (r != LARDER_OK)
        op_close(c);
    return r;
}
