/* parallel.c - loops on all cores. */
#include "tensor/parallel.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "tensor/host_memory.h"

enum { THREADS_MAX = 256, PIECES_A_THREAD = 4 };

/* The current loop.  Pieces are taken one by one, so that slow threads process
 * fewer. */
struct job {
    void (*fn)(void *context, int64_t begin, int64_t end);
    void *context;
    int64_t count, piece; /* in elements */
    int64_t next;         /* where the next piece begins */
};

struct lab__pool {
    unsigned wanted;  /* threads, including the caller */
    unsigned started; /* worker threads, without the caller */
    bool tried;
    bool ends;
    bool is_busy; /* written only by the caller's thread, between jobs */
    pid_t owner;
    pthread_mutex_t lock; /* guards the job and the following */
    pthread_cond_t work, idle;
    struct job job;
    uint64_t round; /* counts jobs */
    unsigned active;
    pthread_t thread[THREADS_MAX];
};

static bool piece_take(struct lab__pool *p, int64_t *begin, int64_t *end)
{
    struct job *job = &p->job;
    int64_t left = job->count - job->next;

    if (left <= 0)
        return false;
    *begin = job->next;
    /* A short rest is joined to the last piece. */
    *end = left < 2 * job->piece ? job->count : job->next + job->piece;
    job->next = *end;
    return true;
}

/* The lock is held on entry and on return. */
static void job_work(struct lab__pool *p)
{
    int64_t begin, end;

    while (piece_take(p, &begin, &end)) {
        struct job job = p->job;

        pthread_mutex_unlock(&p->lock);
        job.fn(job.context, begin, end);
        pthread_mutex_lock(&p->lock);
    }
}

static void *worker_main(void *context)
{
    struct lab__pool *p = context;
    uint64_t seen = 0;

    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (p->round == seen && !p->ends)
            pthread_cond_wait(&p->work, &p->lock);
        if (p->ends)
            break;
        seen = p->round;
        p->active++;
        job_work(p);
        if (--p->active == 0)
            pthread_cond_signal(&p->idle);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* The program's own threads handle signals. */
static void threads_start(struct lab__pool *p)
{
    sigset_t all, before;

    p->tried = true;
    p->owner = getpid();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (p->started + 1 < p->wanted &&
           pthread_create(&p->thread[p->started], NULL, worker_main, p) == 0)
        p->started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static bool pool_ready(struct lab__pool *p)
{
    if (p->wanted <= 1 || p->is_busy)
        return false;
    if (!p->tried)
        threads_start(p);
    return p->started > 0 && p->owner == getpid();
}

static void pool_run(struct lab__pool *p, const struct job *job)
{
    pthread_mutex_lock(&p->lock);
    p->is_busy = true;
    p->job = *job;
    p->round++;
    pthread_cond_broadcast(&p->work);
    job_work(p);
    while (p->active != 0)
        pthread_cond_wait(&p->idle, &p->lock);
    p->is_busy = false;
    pthread_mutex_unlock(&p->lock);
}

void lab__parallel(lab *l, int64_t count, int64_t grain,
                   void (*fn)(void *context, int64_t begin, int64_t end),
                   void *context)
{
    int64_t piece = count / ((int64_t)lab__threads(l) * PIECES_A_THREAD);
    struct job job = {fn, context, count, piece > grain ? piece : grain, 0};

    if (count <= 0)
        return;
    if (count < 2 * grain || !pool_ready(l->pool))
        fn(context, 0, count);
    else
        pool_run(l->pool, &job);
}

struct each {
    void (*fn)(void *context, int64_t i);
    void *context;
};

static void each_call(void *context, int64_t begin, int64_t end)
{
    const struct each *each = context;

    for (int64_t i = begin; i < end; i++)
        each->fn(each->context, i);
}

void lab__parallel_each(lab *l, int64_t count, int64_t grain,
                        void (*fn)(void *context, int64_t i), void *context)
{
    struct each each = {fn, context};

    lab__parallel(l, count, grain, each_call, &each);
}

unsigned lab__threads(const lab *l)
{
    return l->pool->wanted;
}

/* ---- creating ----------------------------------------------------------- */

static unsigned processors(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n > 0 ? (unsigned)n : 1;
}

struct lab__pool *lab__pool_new(unsigned threads)
{
    struct lab__pool *p = lab__host_zeroed(sizeof *p);

    if (p == NULL)
        return NULL;
    p->wanted = threads != 0 ? threads : processors();
    if (p->wanted > THREADS_MAX)
        p->wanted = THREADS_MAX;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->idle, NULL);
    return p;
}

static void threads_end(struct lab__pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->ends = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->started; i++)
        pthread_join(p->thread[i], NULL);
}

void lab__pool_destroy(struct lab__pool *p)
{
    if (p == NULL)
        return;
    /* A child process has no such threads, and destroying what they waited for
     * would block. */
    if (p->started == 0 || p->owner == getpid()) {
        threads_end(p);
        pthread_cond_destroy(&p->idle);
        pthread_cond_destroy(&p->work);
        pthread_mutex_destroy(&p->lock);
    }
    lab__host_free(p);
}
