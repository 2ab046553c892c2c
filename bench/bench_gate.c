/* bench_gate.c - what the preload library's gate adds to a launch, compared
 * with a reader-writer lock shared by all threads, by the number of threads
 * that launch at once; and a launch through the gate compared with the driver's
 * own, on the driver that is found (the simulated one:
 * LD_LIBRARY_PATH=BUILD/fakecuda).
 *
 * CPU nanoseconds per launch and thread; the median of several runs. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "work.h"

enum { RUNS = 11, LAUNCHES = 500000, THREADS_MAX = 4 };

static pthread_rwlock_t readers = PTHREAD_RWLOCK_INITIALIZER;

static void *pass_gate(void *out)
{
    double began = now_ns(CLOCK_THREAD_CPUTIME_ID);

    for (int i = 0; i < LAUNCHES; i++)
        preload_work_leave(preload_work_enter());
    *(double *)out = (now_ns(CLOCK_THREAD_CPUTIME_ID) - began) / LAUNCHES;
    return NULL;
}

static void *pass_lock(void *out)
{
    double began = now_ns(CLOCK_THREAD_CPUTIME_ID);

    for (int i = 0; i < LAUNCHES; i++) {
        pthread_rwlock_rdlock(&readers);
        pthread_rwlock_unlock(&readers);
    }
    *(double *)out = (now_ns(CLOCK_THREAD_CPUTIME_ID) - began) / LAUNCHES;
    return NULL;
}

/* ---- whole launches ----------------------------------------------------- */

enum { KERNELS = 1000, WARM_UP = 10, TIMES = 101 };

static cud_context context;
static void *kernel;

static const char code[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                           ".visible .entry nothing() { ret; }\n";

typedef cud_result load_fn(void **, const void *);
typedef cud_result find_fn(void **, void *, const char *);
typedef cud_result init_fn(unsigned);
typedef __typeof__(cuLaunchKernel) launch_fn;

static bool get(void *out, const char *symbol)
{
    void *found = preload_driver_symbol(symbol);

    memcpy(out, &found, sizeof found);
    return found != NULL;
}

/* False: there is no driver, or no GPU. */
static bool kernel_make(void)
{
    const struct preload_calls *real = preload_driver();
    init_fn *init;
    load_fn *load;
    find_fn *find;
    void *module;

    return real != NULL && get(&init, "cuInit") &&
           get(&load, "cuModuleLoadData") &&
           get(&find, "cuModuleGetFunction") && init(0) == CUD_SUCCESS &&
           real->cuDevicePrimaryCtxRetain(&context, 0) == CUD_SUCCESS &&
           real->cuCtxPushCurrent_v2(context) == CUD_SUCCESS &&
           load(&module, code) == CUD_SUCCESS &&
           find(&kernel, module, "nothing") == CUD_SUCCESS;
}

/* Few at a time, so that the driver's queue is never full. */
static double launches_ns(launch_fn *launch)
{
    double began;
    double ns;

    (void)preload_driver()->cuCtxSynchronize();
    began = now_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < KERNELS; i++) {
        if (launch(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) !=
            CUD_SUCCESS)
            exit(1);
    }
    ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - began;
    return ns / KERNELS;
}

static void compare_launches(void)
{
    launch_fn *real = preload_driver()->cuLaunchKernel;
    double held[TIMES];
    double own[TIMES];
    double h;
    double o;

    for (int i = 0; i < WARM_UP; i++)
        (void)launches_ns(cuLaunchKernel);
    for (int i = 0; i < TIMES; i++) {
        held[i] = launches_ns(cuLaunchKernel);
        own[i] = launches_ns(real);
    }
    h = median(held, TIMES);
    o = median(own, TIMES);
    printf("a launch through the gate %.1f ns, the driver's own %.1f ns: "
           "ratio %.3f\n",
           h, o, h / o);
}

/* ---- the gate alone ----------------------------------------------------- */

/* The mean of the threads. */
static double run(void *(*fn)(void *), int count)
{
    pthread_t threads[THREADS_MAX];
    double ns[THREADS_MAX];
    double sum = 0;

    for (int i = 0; i < count; i++) {
        if (pthread_create(&threads[i], NULL, fn, &ns[i]) != 0)
            exit(1);
    }
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        sum += ns[i];
    }
    return sum / count;
}

int main(void)
{
    if (setenv("LARDER_PRELOAD", "cache,migrate", 1) != 0)
        return 1;
    printf("threads  gate, ns  shared lock, ns  ratio\n");
    for (int count = 1; count <= THREADS_MAX; count *= 2) {
        double gate[RUNS];
        double lock[RUNS];
        double g;
        double l;

        for (int i = 0; i < RUNS; i++) {
            gate[i] = run(pass_gate, count);
            lock[i] = run(pass_lock, count);
        }
        g = median(gate, RUNS);
        l = median(lock, RUNS);
        printf("%7d  %8.1f  %15.1f  %5.2f\n", count, g, l, g / l);
    }
    if (kernel_make())
        compare_launches();
    else
        printf("no driver with a GPU: launches are not compared\n");
    return 0;
}
