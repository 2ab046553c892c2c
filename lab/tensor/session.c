/* session.c - opens and closes sessions, reads their options, and answers about
 * them. */
#include "tensor/tensor.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <larder/sim.h>

#include "tensor/host_memory.h"
#include "tensor/parallel.h"
#include "tensor/rng.h"
#include "tensor/sized_struct.h"

/* ---- options ------------------------------------------------------------ */

void lab_options_init_sized(lab_options *opt, size_t size)
{
    lab__sized_init(opt, size);
}

static larder_result session_options_read(const lab_options *in,
                                          lab_options *opt)
{
    lab_options_init(opt);
    if (in != NULL)
        LAB__TRY(lab__sized_read(opt, sizeof *opt, in));
    if (opt->device == NULL)
        opt->device = LAB_DEVICE_DEFAULT;
    if (opt->seed == 0)
        opt->seed = 1;
    return LARDER_OK;
}

/* ---- opening ------------------------------------------------------------ */

/* No device property tells whether there is memory behind its addresses, so the
 * spec is searched; its syntax was checked before. */
static bool spec_computes(const char *spec)
{
    return strstr(spec, ",backing=none") == NULL;
}

static larder_result device_take(lab *l, const char *spec)
{
    if (strncmp(spec, "sim:", 4) != 0)
        return lab__fail(LARDER_ERR_UNSUPPORTED,
                         "device '%s': the lab computes on the CPU, on the "
                         "memory of a simulated device: expected sim:SIZE",
                         spec);
    LAB__TRY(lab__of_larder(larder_device_open(spec, 0, &l->device)));
    l->computes = spec_computes(spec);
    return LARDER_OK;
}

static larder_result allocator_take(lab *l, const lab_options *opt)
{
    larder_options own;

    larder_options_init(&own);
    /* The figures that people know are PyTorch's. */
    own.policy = opt->policy == LARDER_POLICY_DEFAULT ? LARDER_POLICY_PYTORCH
                                                      : opt->policy;
    own.conf = opt->conf;
    return lab__of_larder(larder_create(l->device, &own, &l->allocator));
}

static larder_result host_take(lab *l, const lab_options *opt)
{
    l->pool = lab__pool_new(opt->threads);
    l->rng = lab__host_zeroed(sizeof *l->rng);
    if (l->pool == NULL || l->rng == NULL)
        return lab__fail_host(sizeof *l->rng);
    l->grad_enabled = true;
    lab_seed(l, opt->seed);
    return LARDER_OK;
}

/* Free everything that exists so far. */
static void session_free(lab *l)
{
    larder_destroy(l->allocator);
    larder_device_close(l->device);
    lab__pool_destroy(l->pool);
    lab__host_free(l->rng);
    lab__host_free(l->stack);
    lab__host_free(l);
}

static larder_result session_open(lab *l, const lab_options *opt)
{
    LAB__TRY(host_take(l, opt));
    LAB__TRY(device_take(l, opt->device));
    return allocator_take(l, opt);
}

larder_result lab_open(const lab_options *opt, lab **out)
{
    lab_options own;
    larder_result r;
    lab *l;

    LAB__TRY(session_options_read(opt, &own));
    l = lab__host_zeroed(sizeof *l);
    if (l == NULL)
        return lab__fail_host(sizeof *l);
    l->process = getpid();
    r = session_open(l, &own);
    if (r != LARDER_OK) {
        session_free(l);
        return r;
    }
    *out = l;
    return LARDER_OK;
}

larder_result lab_close(lab *l)
{
    if (l == NULL)
        return LARDER_OK;
    LAB__TRY(lab__check_session("close", l));
    if (l->storages != 0)
        return lab__fail(LARDER_ERR_BUSY,
                         "the session still has tensors in %" PRIu64
                         " storages",
                         l->storages);
    session_free(l);
    return LARDER_OK;
}

/* ---- accessors ---------------------------------------------------------- */

larder_device *lab_device(lab *l)
{
    return l->device;
}

larder_allocator *lab_allocator(lab *l)
{
    return l->allocator;
}

bool lab_computes(lab *l)
{
    return l->computes;
}

bool lab_grad_enabled(lab *l)
{
    return l->grad_enabled;
}

bool lab_set_grad_enabled(lab *l, bool on)
{
    bool was = l->grad_enabled;

    l->grad_enabled = on;
    return was;
}

void lab_seed(lab *l, uint64_t seed)
{
    *l->rng = (struct lab__rng){.seed = seed};
}

void lab_random_state_get(lab *l, lab_random_state *state)
{
    *state = (lab_random_state){l->rng->seed, l->rng->next};
}

void lab_random_state_set(lab *l, const lab_random_state *state)
{
    *l->rng = (struct lab__rng){state->seed, state->next};
}

void lab_set_observer(lab *l, lab_observer fn, void *context)
{
    l->observer = fn;
    l->observer_context = context;
}

/* ---- memory ------------------------------------------------------------- */

void lab_memory_init_sized(lab_memory *m, size_t size)
{
    lab__sized_init(m, size);
}

static larder_result memory_of_allocator(lab *l, lab_memory *m)
{
    larder_stats st;

    larder_stats_init(&st);
    LAB__TRY(lab__of_larder(larder_stats_get(l->allocator, &st)));
    m->reserved_bytes = (uint64_t)st.reserved_bytes.all.current;
    m->reserved_peak = (uint64_t)st.reserved_bytes.all.peak;
    m->allocated_bytes = (uint64_t)st.allocated_bytes.all.current;
    m->allocated_peak = (uint64_t)st.allocated_bytes.all.peak;
    m->requested_bytes = (uint64_t)st.requested_bytes.all.current;
    return LARDER_OK;
}

/* Not by mem_info, which counts as a use of the device and would create the
 * context. */
static larder_result memory_of_device(lab *l, lab_memory *m)
{
    larder_sim_usage usage = {.size = sizeof usage};

    LAB__TRY(lab__of_larder(larder_sim_get_usage(l->device, &usage)));
    m->context_bytes = usage.context_bytes;
    m->device_bytes = usage.capacity_bytes;
    m->free_bytes = usage.capacity_bytes - usage.used_bytes;
    return LARDER_OK;
}

larder_result lab_memory_get(lab *l, lab_memory *out)
{
    lab_memory m = {.size = sizeof m,
                    .host_bytes = l->host_bytes,
                    .host_peak = l->host_peak,
                    .tensors = l->storages};

    LAB__TRY(memory_of_allocator(l, &m));
    LAB__TRY(memory_of_device(l, &m));
    m.smi_bytes = m.context_bytes + m.reserved_bytes;
    return lab__sized_write(out, &m, sizeof m);
}
