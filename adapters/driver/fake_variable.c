/* fake_variable.c - the memory of device code's variables: one copy for each
 * GPU, allocated on request, with the initial values from the code.  Managed
 * variables are host memory, because no kernel uses them. */
#include "driver/fake_module.h"

#include <stdlib.h>
#include <string.h>

static larder_result place(struct fake_device *d, struct fake_variable *v)
{
    cud_addr *at = &v->addr[fake_number(d)];
    larder_addr addr = 0;
    larder_result r;

    if (*at != 0)
        return LARDER_OK;
    r = larder__device_mem_alloc(d->dev, v->bytes, &addr);
    if (r != LARDER_OK)
        return r;
    *at = addr;
    if (!d->sim->backing.is_real)
        return LARDER_OK;
    if (v->values != NULL)
        memcpy((void *)(uintptr_t)addr, v->values, v->bytes);
    else
        memset((void *)(uintptr_t)addr, 0, v->bytes);
    return LARDER_OK;
}

void fake_variables_release(struct fake_module *m)
{
    for (struct fake_variable *v = m->image.variables; v != NULL; v = v->next) {
        for (int i = 0; i < FAKE_DEVICES; i++) {
            struct fake_device *d = fake_device_get(i);

            if (v->addr[i] != 0 && d != NULL)
                (void)larder__device_mem_free(d->dev, v->addr[i]);
        }
        if (v->managed != NULL)
            fake_managed_drop_host(v->managed);
    }
}

void fake_variables_forget(struct fake_module *m, const struct fake_device *d)
{
    for (struct fake_variable *v = m->image.variables; v != NULL; v = v->next)
        v->addr[fake_number(d)] = 0;
}

/* Begin a call about a variable.  NULL: the call ends with *answer. */
static struct fake_variable *begin(const char *symbol, void *module,
                                   const char *name, bool is_sure,
                                   cud_result *answer)
{
    struct fake_module *m;
    struct fake_variable *v;

    *answer = fake_begin_handle(symbol, FAKE_MODULE, module, &m);
    if (*answer != CUD_SUCCESS)
        return NULL;
    if (name == NULL) {
        *answer = fake_end(
            fake_broken(symbol, CUD_INVALID_VALUE, "the name is NULL"));
        return NULL;
    }
    v = fake_image_find(&m->image, name, is_sure);
    if (v == NULL)
        *answer = fake_end(CUD_NOT_FOUND);
    return v;
}

static cud_result end(const struct fake_variable *v, uint64_t addr,
                      cud_addr *out, size_t *bytes)
{
    if (out != NULL)
        *out = addr;
    if (bytes != NULL)
        *bytes = v->bytes;
    return fake_end(CUD_SUCCESS);
}

static cud_result get(const char *symbol, cud_addr *out, size_t *bytes,
                      void *module, const char *name, bool is_sure)
{
    cud_result answer;
    struct fake_variable *v = begin(symbol, module, name, is_sure, &answer);
    struct fake_device *d;
    larder_result r;

    if (v == NULL)
        return answer;
    d = fake_current();
    if (d == NULL)
        return fake_end(fake_no_context(symbol));
    r = place(d, v);
    return r == LARDER_OK ? end(v, v->addr[fake_number(d)], out, bytes)
                          : fake_end_sim(symbol, d, r);
}

cud_result cuModuleGetGlobal_v2(cud_addr *out, size_t *bytes, void *module,
                                const char *name)
{
    return get(__func__, out, bytes, module, name, false);
}

/* A runtime requests variables that the program has registered. */
cud_result cuLibraryGetGlobal(cud_addr *out, size_t *bytes, void *library,
                              const char *name)
{
    return get(__func__, out, bytes, library, name, true);
}

static void *managed_make(const struct fake_variable *v)
{
    void *ptr = calloc(1, v->bytes);

    if (ptr == NULL || !fake_managed_keep_host(ptr, v->bytes)) {
        free(ptr);
        return NULL;
    }
    if (v->values != NULL)
        memcpy(ptr, v->values, v->bytes);
    return ptr;
}

cud_result cuLibraryGetManaged(cud_addr *out, size_t *bytes, void *library,
                               const char *name)
{
    cud_result answer;
    struct fake_variable *v = begin(__func__, library, name, true, &answer);

    if (v == NULL)
        return answer;
    if (v->managed == NULL)
        v->managed = managed_make(v);
    return v->managed != NULL ? end(v, (uintptr_t)v->managed, out, bytes)
                              : fake_end(CUD_OUT_OF_MEMORY);
}
