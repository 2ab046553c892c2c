/* bench_gate.c - what the preload library's gate adds to a launch, beside a
 * reader's lock that all threads share, by the number of threads that launch at
 * once.
 *
 * Nanoseconds of the processor for each launch and thread; the median of several
 * runs. */
#include <pthread.h>
#include <stdlib.h>

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
    return 0;
}
