/* test_peers.c - processes on one device: one gets what another caches,
 * minimums are kept, limits hold, and the ledger admits nobody else. */
#include "support/clock.h"
#include "support/policies.h"
#include "support/rig.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <larder/ledger.h>
#include <larder/region.h>
#include <larder/tag.h>

#include "core/entry/handle.h"
#include "device/device.h"
#include "ledger/ledger_name.h"

/* A name unique to this run. */
static char name[32];

static const char *spec_of(const char *size)
{
    static char spec[128];

    snprintf(spec, sizeof spec, "sim:%s,shared=%s", size, name);
    return spec;
}

static struct rig rig_on(const char *size, larder_policy policy,
                         const char *conf)
{
    struct rig rig = {0};
    larder_options opt;

    larder_options_init(&opt);
    opt.policy = policy;
    opt.conf = conf;
    assert_ok(larder_device_open(spec_of(size), 0, &rig.dev));
    assert_ok(larder_create(rig.dev, &opt, &rig.a));
    return rig;
}

static void rig_end(struct rig *rig)
{
    assert_ok(larder_destroy(rig->a));
    assert_ok(larder_device_close(rig->dev));
}

/* ---- another process --------------------------------------------------------- */

/* It obeys commands of one letter and answers 'y' or 'n':
 *
 *   a   allocate 8 MiB      f   free all of it
 *   t   touch: a small request and its free, each served from the cache
 *   c   close and end */
struct other {
    pid_t pid;
    int tell;
    int hear;
};

enum { OTHER_MAX = 16 };

static char other_step(struct rig *rig, char letter)
{
    static larder_addr held[OTHER_MAX];
    static int count;
    larder_addr addr;

    if (letter == 'a')
        return larder_alloc(rig->a, MIB(8), 0, &held[count]) == LARDER_OK &&
                       ++count < OTHER_MAX
                   ? 'y'
                   : 'n';
    if (letter == 't')
        return larder_alloc(rig->a, MIB(1), 0, &addr) == LARDER_OK &&
                       larder_free(rig->a, addr) == LARDER_OK
                   ? 'y'
                   : 'n';
    while (count > 0) {
        if (larder_free(rig->a, held[--count]) != LARDER_OK)
            return 'n';
    }
    return 'y';
}

static void other_main(const char *size, const char *conf, int hear, int say)
{
    struct rig rig = {0};
    larder_options opt;
    char word = 'y';

    larder_options_init(&opt);
    opt.conf = conf;
    if (larder_device_open(spec_of(size), 0, &rig.dev) != LARDER_OK ||
        larder_create(rig.dev, &opt, &rig.a) != LARDER_OK)
        word = 'n';
    while (write(say, &word, 1) == 1 && read(hear, &word, 1) == 1) {
        if (word == 'c')
            _exit(larder_destroy(rig.a) == LARDER_OK &&
                          larder_device_close(rig.dev) == LARDER_OK
                      ? 0
                      : 1);
        word = other_step(&rig, word);
    }
    _exit(1);
}

static char other_hear(struct other *o)
{
    char word = 0;

    assert_int_equal(read(o->hear, &word, 1), 1);
    return word;
}

static struct other other_start(const char *size, const char *conf)
{
    int down[2], up[2];
    struct other o;

    assert_int_equal(pipe2(down, O_CLOEXEC), 0);
    assert_int_equal(pipe2(up, O_CLOEXEC), 0);
    o.pid = fork();
    assert_true(o.pid >= 0);
    if (o.pid == 0) {
        close(down[1]);
        close(up[0]);
        other_main(size, conf, down[0], up[1]);
    }
    close(down[0]);
    close(up[1]);
    o.tell = down[1];
    o.hear = up[0];
    assert_int_equal(other_hear(&o), 'y');
    return o;
}

static void other_tell(struct other *o, char letter)
{
    assert_int_equal(write(o->tell, &letter, 1), 1);
}

/* Whether it has answered. */
static bool is_heard(const struct other *o)
{
    struct pollfd p = {.fd = o->hear, .events = POLLIN};

    return poll(&p, 1, 0) == 1;
}

static char other_do(struct other *o, const char *letters)
{
    char word = 'y';

    for (; *letters != '\0' && word == 'y'; letters++) {
        other_tell(o, *letters);
        word = other_hear(o);
    }
    return word;
}

static void other_leave(struct other *o)
{
    int status;

    other_tell(o, 'c');
    assert_int_equal(waitpid(o->pid, &status, 0), o->pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(o->tell);
    close(o->hear);
}

static void other_kill(struct other *o)
{
    assert_int_equal(kill(o->pid, SIGKILL), 0);
    assert_int_equal(waitpid(o->pid, NULL, 0), o->pid);
    close(o->tell);
    close(o->hear);
}

/* ---- releasing for others ---------------------------------------------------- */

static void an_idle_process_gives_its_cache_by_its_thread(void **state)
{
    (void)state;
    for (int i = 0; i < CACHING; i++) {
        struct rig rig = rig_on("64MiB", policies[i], "ask_budget_ms:10000");
        struct other o = other_start("64MiB", "ledger_thread:True");
        larder_addr addr;

        assert_int_equal(other_do(&o, "aaaaaf"), 'y');
        assert_ok(larder_alloc(rig.a, MIB(48), 0, &addr));
        assert_ok(larder_free(rig.a, addr));
        other_leave(&o);
        rig_end(&rig);
    }
}

static void a_process_that_only_hits_gives_at_its_next_request(void **state)
{
    struct rig rig =
        rig_on("64MiB", LARDER_POLICY_LARDER, "ask_budget_ms:20000");
    struct other o = other_start("64MiB", "");
    larder_addr addr = 0;
    pid_t pid;
    int status;

    (void)state;
    assert_int_equal(other_do(&o, "aaaaaft"), 'y');
    /* A third process tells it to make one request, a while after it was
     * asked. */
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        nap_ms(100);
        _exit(write(o.tell, "t", 1) == 1 ? 0 : 1);
    }
    assert_ok(larder_alloc(rig.a, MIB(48), 0, &addr));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(other_hear(&o), 'y');
    assert_ok(larder_free(rig.a, addr));
    other_leave(&o);
    rig_end(&rig);
}

/* How long 48 MiB are refused. */
static uint64_t refused_ms(struct rig *rig)
{
    uint64_t begin = now_ms();
    larder_addr addr;

    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig->a, MIB(48), 0, &addr));
    return now_ms() - begin;
}

/* The budget is more than a busy machine needs for a request. */
static void a_process_that_does_not_answer_is_waited_for_once(void **state)
{
    enum { BUDGET_MS = 2000 };
    struct rig rig =
        rig_on("64MiB", LARDER_POLICY_LARDER, "ask_budget_ms:2000");
    struct other o = other_start("64MiB", "");
    larder_addr addr;

    (void)state;
    assert_int_equal(other_do(&o, "aaaaaf"), 'y');
    assert_true(refused_ms(&rig) >= BUDGET_MS);
    nap_ms(10);
    assert_true(refused_ms(&rig) < BUDGET_MS);
    assert_int_equal(other_do(&o, "t"), 'y'); /* it has answered by now */
    assert_ok(larder_alloc(rig.a, MIB(48), 0, &addr));
    assert_ok(larder_free(rig.a, addr));
    other_leave(&o);
    rig_end(&rig);
}

static void no_process_is_asked_for_more_than_the_device_has(void **state)
{
    struct rig rig =
        rig_on("64MiB", LARDER_POLICY_LARDER, "ask_budget_ms:10000");
    struct other o = other_start("64MiB", "");
    uint64_t begin = now_ms();
    larder_addr addr;

    (void)state;
    assert_int_equal(other_do(&o, "aaf"), 'y');
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(65), 0, &addr));
    assert_true(now_ms() - begin < 5000);
    other_leave(&o);
    rig_end(&rig);
}

/* ---- regions and tags -------------------------------------------------------- */

static struct other other_with_a_cache(void)
{
    struct other o = other_start("64MiB", "ledger_thread:True");

    assert_int_equal(other_do(&o, "aaaaf"), 'y');
    return o;
}

static void a_region_commits_memory_that_others_cache(void **state)
{
    struct rig rig =
        rig_on("64MiB", LARDER_POLICY_LARDER, "ask_budget_ms:10000");
    struct other o = other_with_a_cache();
    larder_region *kv;

    (void)state;
    assert_ok(larder_region_create(rig.a, MIB(64), NULL, &kv));
    assert_ok(larder_region_commit(kv, 0, MIB(24)));
    assert_int_equal(rig_stats(&rig).num_ooms, 0);
    assert_ok(larder_region_commit(kv, MIB(24), MIB(32)));
    assert_int_equal(rig_stats(&rig).num_ooms, 0);
    assert_ok(larder_region_set_limit(kv, MIB(58)));
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_region_commit(kv, MIB(56), MIB(8)));
    assert_int_equal(rig_stats(&rig).num_ooms, 1);
    assert_ok(larder_region_destroy(kv));
    other_leave(&o);
    rig_end(&rig);
}

static void a_region_wakes_with_memory_that_others_cache(void **state)
{
    struct rig rig =
        rig_on("64MiB", LARDER_POLICY_LARDER, "ask_budget_ms:10000");
    larder_region *kv;
    struct other o;

    (void)state;
    assert_ok(larder_region_create(rig.a, MIB(64), NULL, &kv));
    assert_ok(larder_region_commit(kv, 0, MIB(48)));
    assert_ok(larder_region_pause(kv, LARDER_PAUSE_DROP));
    o = other_with_a_cache();
    assert_ok(larder_region_resume(kv));
    assert_ok(larder_region_destroy(kv));
    other_leave(&o);
    rig_end(&rig);
}

static void a_tag_resumes_with_memory_that_others_cache(void **state)
{
    struct rig rig =
        rig_on("64MiB", LARDER_POLICY_LARDER, "ask_budget_ms:10000");
    larder_addr addr;
    struct other o;

    (void)state;
    assert_ok(larder_tag_begin(rig.a, "weights"));
    assert_ok(larder_alloc(rig.a, MIB(40), 0, &addr));
    assert_ok(larder_tag_end(rig.a));
    assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_DROP));
    o = other_with_a_cache();
    assert_ok(larder_resume(rig.a, "weights"));
    assert_ok(larder_free(rig.a, addr));
    other_leave(&o);
    rig_end(&rig);
}

/* A program whose only calls are commits answers too. */
static void a_commit_answers_other_processes(void **state)
{
    struct rig rig = rig_on("64MiB", LARDER_POLICY_LARDER, "");
    struct other o = other_start("64MiB", "ask_budget_ms:10000");
    larder_region *kv;

    (void)state;
    assert_ok(larder_region_create(rig.a, MIB(64), NULL, &kv));
    assert_ok(larder_region_commit(kv, 0, MIB(48)));
    assert_ok(larder_region_decommit(kv, 0, MIB(48)));
    assert_int_equal(other_do(&o, "aa"), 'y');
    other_tell(&o, 'a');
    for (int ms = 0; ms < 5000; ms++) {
        assert_ok(larder_region_commit(kv, 0, 2 << 20));
        assert_ok(larder_region_decommit(kv, 0, 2 << 20));
        nap_ms(1);
        if (is_heard(&o))
            break;
    }
    assert_int_equal(other_hear(&o), 'y');
    assert_ok(larder_region_destroy(kv));
    other_leave(&o);
    rig_end(&rig);
}

/* ---- minima ------------------------------------------------------------------ */

static void a_minimum_is_kept_for_its_process(void **state)
{
    static const int fits[] = {5, 4, 5}; /* segments of 20 MiB: two blocks */

    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        struct rig rig = rig_on("64MiB", policies[i], "ask_budget_ms:0");
        struct other o = other_start("64MiB", "minimum:24MiB");
        larder_addr addr[8];
        int count = 0;

        while (count < 8 &&
               larder_alloc(rig.a, MIB(8), 0, &addr[count]) == LARDER_OK)
            count++;
        assert_int_equal(count, fits[i]);
        if (policies[i] == LARDER_POLICY_LARDER)
            assert_words("what is kept for other processes");
        assert_int_equal(other_do(&o, "aaa"), 'y');
        assert_int_equal(other_do(&o, "a"), 'n');
        while (count > 0)
            assert_ok(larder_free(rig.a, addr[--count]));
        other_leave(&o);
        rig_end(&rig);
    }
}

static void cached_memory_within_the_minimum_is_not_released(void **state)
{
    struct rig rig =
        rig_on("64MiB", LARDER_POLICY_LARDER, "ask_budget_ms:10000");
    struct other o = other_start("64MiB", "minimum:24MiB,ledger_thread:True");
    larder_addr addr;

    (void)state;
    assert_int_equal(other_do(&o, "aaaaaf"), 'y');
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(42), 0, &addr));
    assert_ok(larder_alloc(rig.a, MIB(40), 0, &addr));
    assert_int_equal(other_do(&o, "aaa"), 'y');
    assert_ok(larder_free(rig.a, addr));
    other_leave(&o);
    rig_end(&rig);
}

static void a_killed_process_keeps_no_minimum(void **state)
{
    struct rig rig = rig_on("64MiB", LARDER_POLICY_LARDER, "");
    struct other o = other_start("64MiB", "minimum:24MiB");
    larder_addr addr;

    (void)state;
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(48), 0, &addr));
    other_kill(&o);
    assert_ok(larder_alloc(rig.a, MIB(48), 0, &addr));
    assert_ok(larder_free(rig.a, addr));
    rig_end(&rig);
}

static void *kill_soon(void *ctx)
{
    nap_ms(100);
    kill(((struct other *)ctx)->pid, SIGKILL);
    return NULL;
}

/* It dies while its answer is awaited: it released nothing, but its memory
 * became free. */
static void memory_of_a_process_killed_while_asked_is_available(void **state)
{
    struct rig rig =
        rig_on("64MiB", LARDER_POLICY_LARDER, "ask_budget_ms:60000");
    struct other o = other_start("64MiB", "");
    larder_addr addr;
    pthread_t thread;

    (void)state;
    assert_int_equal(other_do(&o, "aaaaa"), 'y');
    assert_int_equal(pthread_create(&thread, NULL, kill_soon, &o), 0);
    assert_ok(larder_alloc(rig.a, MIB(32), 0, &addr));
    assert_int_equal(pthread_join(thread, NULL), 0);
    other_kill(&o);
    assert_ok(larder_free(rig.a, addr));
    rig_end(&rig);
}

static void a_minimum_is_granted_from_a_process_killed_meanwhile(void **state)
{
    struct other o = other_start("64MiB", "");
    struct rig rig;
    larder_addr addr;
    pthread_t thread;

    (void)state;
    assert_int_equal(other_do(&o, "aaaaa"), 'y');
    assert_int_equal(pthread_create(&thread, NULL, kill_soon, &o), 0);
    rig = rig_on("64MiB", LARDER_POLICY_LARDER,
                 "minimum:48MiB,ask_budget_ms:60000");
    assert_int_equal(pthread_join(thread, NULL), 0);
    other_kill(&o);
    assert_ok(larder_alloc(rig.a, MIB(48), 0, &addr));
    assert_ok(larder_free(rig.a, addr));
    rig_end(&rig);
}

static void a_minimum_that_is_not_there_is_refused(void **state)
{
    struct rig rig = rig_on("64MiB", LARDER_POLICY_LARDER, "");
    larder_addr addr;
    larder_allocator *a = NULL;
    larder_options opt;
    struct other o;

    (void)state;
    assert_ok(larder_alloc(rig.a, MIB(40), 0, &addr));
    o = other_start("64MiB", "");
    assert_ok(larder_configure(rig.a, "minimum:60MiB"));
    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder_configure(rig.a, "minimum:66MiB"),
                   "the device lacks 2097152 bytes");
    assert_ok(larder_configure(rig.a, "minimum:0"));
    assert_int_equal(other_do(&o, "aaf"), 'y'); /* it caches 16 MiB */
    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder_configure(rig.a, "minimum:60MiB"), "lacks");
    larder_options_init(&opt);
    opt.conf = "minimum:60MiB,ask_budget_ms:50";
    assert_refused(LARDER_ERR_OUT_OF_MEMORY, larder_create(rig.dev, &opt, &a),
                   "cannot be kept");
    assert_null(a);
    assert_ok(larder_free(rig.a, addr));
    other_leave(&o);
    rig_end(&rig);
}

static void a_new_process_is_given_its_minimum_by_those_that_cache(void **state)
{
    struct other o = other_start("64MiB", "ledger_thread:True");
    struct rig rig;
    larder_addr addr;

    (void)state;
    assert_int_equal(other_do(&o, "aaaaaaf"), 'y'); /* it caches 48 MiB */
    rig = rig_on("64MiB", LARDER_POLICY_LARDER,
                 "minimum:32MiB,ask_budget_ms:10000");
    assert_int_equal(other_do(&o, "aaaa"), 'y');
    assert_int_equal(other_do(&o, "a"), 'n');
    assert_ok(larder_alloc(rig.a, MIB(32), 0, &addr));
    assert_ok(larder_free(rig.a, addr));
    other_leave(&o);
    rig_end(&rig);
}

/* ---- limits ------------------------------------------------------------------ */

static void a_process_limit_counts_all_its_allocators(void **state)
{
    struct rig rig =
        rig_on("64MiB", LARDER_POLICY_LARDER, "process_limit:24MiB");
    larder_allocator *second;
    larder_options opt;
    larder_addr addr[3];

    (void)state;
    larder_options_init(&opt);
    opt.policy = LARDER_POLICY_PYTORCH;
    opt.conf = "";
    assert_ok(larder_create(rig.dev, &opt, &second));
    assert_ok(larder_alloc(rig.a, MIB(10), 0, &addr[0]));
    assert_ok(larder_alloc(second, MIB(10), 0, &addr[1]));
    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder_alloc(rig.a, MIB(10), 0, &addr[2]), "process_limit");
    assert_ok(larder_configure(second, "process_limit:32MiB"));
    assert_ok(larder_alloc(rig.a, MIB(10), 0, &addr[2]));
    assert_ok(larder_configure(second, "process_limit:0"));
    assert_ok(larder_destroy(second));
    rig_end(&rig);
}

/* The message is the same under every policy, for each kind of limit. */
static void the_message_names_the_ledger_s_limit(void **state)
{
    static const struct {
        const char *conf;
        const char *words;
    } limits[] = {
        {"process_limit:24MiB", "Why: the limit of this process "
                                "(process_limit) leaves too little."},
        {"group_limit:24MiB,ask_budget_ms:0",
         "Why: the limit of all processes together (group_limit) leaves too "
         "little."},
    };

    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        for (int k = 0; k < 2; k++) {
            struct rig rig = rig_on("64MiB", policies[i], limits[k].conf);
            larder_addr addr;

            assert_ok(larder_alloc(rig.a, MIB(10), 0, &addr));
            assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                           larder_alloc(rig.a, MIB(20), 0, &addr),
                           limits[k].words);
            rig_end(&rig);
        }
    }
}

static void a_minimum_of_others_is_named(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        struct other o = other_start("64MiB", "minimum:48MiB");
        struct rig rig = rig_on("64MiB", policies[i], "ask_budget_ms:0");
        larder_addr addr;

        assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                       larder_alloc(rig.a, MIB(20), 0, &addr),
                       "Why: what is kept for other processes (minimum) leaves "
                       "too little.");
        rig_end(&rig);
        other_leave(&o);
    }
}

static void a_group_limit_counts_all_processes(void **state)
{
    struct rig rig = rig_on("64MiB", LARDER_POLICY_LARDER,
                            "group_limit:32MiB,ask_budget_ms:10000");
    struct other o = other_start("64MiB", "ledger_thread:True");
    larder_addr addr;

    (void)state;
    assert_int_equal(other_do(&o, "aa"), 'y');
    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder_alloc(rig.a, MIB(18), 0, &addr), "group_limit");
    assert_int_equal(other_do(&o, "f"), 'y'); /* it caches, and releases */
    assert_ok(larder_alloc(rig.a, MIB(18), 0, &addr));
    assert_int_equal(other_do(&o, "aa"), 'n');
    other_leave(&o);
    rig_end(&rig);
}

/* What a limit leaves, counting all held memory and contexts, can be allocated
 * to the last byte, and no more. */
static void take_what_is_left(struct rig *rig, uint64_t limit_bytes)
{
    larder_sim_usage usage = {.size = sizeof usage};
    uint64_t left;
    larder_addr addr;

    /* The first allocation creates the context. */
    assert_ok(larder_alloc(rig->a, MIB(2), 0, &addr));
    assert_ok(larder_sim_get_usage(rig->dev, &usage));
    left = limit_bytes - usage.used_bytes;
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig->a, left + MIB(2), 0, &addr));
    assert_ok(larder_alloc(rig->a, left, 0, &addr));
    assert_ok(larder_sim_get_usage(rig->dev, &usage));
    assert_int_equal(usage.used_bytes, limit_bytes);
}

static void limits_are_exact_and_count_contexts(void **state)
{
    struct rig rig = rig_on("64MiB,context=2MiB", LARDER_POLICY_DIRECT,
                            "process_limit:24MiB");

    (void)state;
    take_what_is_left(&rig, MIB(24));
    rig_end(&rig);
}

/* Memory released by others would not help. */
static void a_process_over_its_own_limit_asks_nobody(void **state)
{
    struct rig rig = rig_on("64MiB", LARDER_POLICY_LARDER,
                            "process_limit:8MiB,ask_budget_ms:10000");
    struct other o = other_start("64MiB", "ledger_thread:True");
    larder_sim_usage before = {.size = sizeof before};
    larder_sim_usage after = {.size = sizeof after};
    larder_addr addr;

    (void)state;
    assert_int_equal(other_do(&o, "aaf"), 'y'); /* it caches 16 MiB */
    assert_ok(larder_sim_get_usage(rig.dev, &before));
    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder_alloc(rig.a, MIB(10), 0, &addr), "process_limit");
    assert_ok(larder_sim_get_usage(rig.dev, &after));
    assert_int_equal(after.used_bytes - after.self_bytes,
                     before.used_bytes - before.self_bytes);
    other_leave(&o);
    rig_end(&rig);
}

static void the_least_group_limit_is_exact_and_counts_contexts(void **state)
{
    struct rig rig = rig_on("64MiB,context=2MiB", LARDER_POLICY_DIRECT,
                            "group_limit:32MiB,ask_budget_ms:1");
    struct other o = other_start("64MiB,context=2MiB", "group_limit:48MiB");

    (void)state;
    assert_int_equal(other_do(&o, "a"), 'y');
    take_what_is_left(&rig, MIB(32));
    other_leave(&o);
    rig_end(&rig);
}

/* ---- limits from outside ----------------------------------------------------- */

static void ledger_path(char out[SHARED_NAME_MAX + 1], bool is_of_group);

struct seen {
    const char *id;
    int64_t pid;
    larder_ledger_process process; /* with that number; pid 0: none */
};

static void see(void *ctx, const larder_ledger_device *device,
                const larder_ledger_process *processes, size_t count)
{
    struct seen *seen = ctx;

    if (strcmp(device->id, seen->id) != 0)
        return;
    assert_int_equal(device->total_bytes, MIB(64));
    assert_true(device->is_simulated);
    for (size_t i = 0; i < count; i++) {
        if (processes[i].pid == seen->pid)
            seen->process = processes[i];
    }
}

static larder_ledger_process process_of(const char *id, int64_t pid)
{
    struct seen seen = {.id = id, .pid = pid};

    assert_ok(larder_ledger_each(see, &seen));
    assert_int_equal(seen.process.pid, pid);
    return seen.process;
}

static void who_looks_can_have_a_process_give_back_and_keep_to_a_limit(
    void **state)
{
    char path[SHARED_NAME_MAX + 1];
    struct other o = other_start(
        "64MiB", "minimum:8MiB,process_limit:60MiB,group_limit:62MiB");
    larder_ledger_process p;

    (void)state;
    ledger_path(path, false);
    assert_int_equal(other_do(&o, "aaaaaft"), 'y');
    p = process_of(path + 1, o.pid);
    assert_int_equal(p.reserved_bytes, MIB(40));
    assert_int_equal(p.minimum_bytes, MIB(8));
    assert_int_equal(p.limit_bytes, MIB(60));
    assert_int_equal(p.group_limit_bytes, MIB(62));
    assert_true(p.is_own && !p.is_self);
    assert_int_equal(other_do(&o, "t"), 'y'); /* it was asked what it uses */
    assert_int_equal(process_of(path + 1, o.pid).in_use_bytes, 0);
    assert_ok(larder_ledger_trim(path + 1, o.pid, MIB(16)));
    assert_int_equal(other_do(&o, "t"), 'y');
    assert_int_equal(process_of(path + 1, o.pid).reserved_bytes, MIB(24));
    assert_ok(larder_ledger_limit(path + 1, o.pid, MIB(16)));
    assert_int_equal(other_do(&o, "t"), 'y');
    p = process_of(path + 1, o.pid);
    assert_int_equal(p.reserved_bytes, MIB(16));
    assert_int_equal(p.limit_bytes, MIB(16));
    assert_int_equal(other_do(&o, "aaa"), 'n');
    assert_ok(larder_ledger_limit(path + 1, o.pid, 0));
    assert_int_equal(other_do(&o, "ta"), 'y');
    assert_refused(LARDER_ERR_INVALID,
                   larder_ledger_trim(path + 1, getpid(), 1), "has no process");
    assert_refused(LARDER_ERR_INVALID, larder_ledger_trim("x", o.pid, 1),
                   "'x' is no ledger's id");
    other_leave(&o);
    assert_refused(LARDER_ERR_INVALID, larder_ledger_trim(path + 1, o.pid, 1),
                   "there is no");
}

/* Its context counts. */
static void a_limit_set_in_the_ledger_counts_the_context(void **state)
{
    char path[SHARED_NAME_MAX + 1];
    struct other o = other_start("64MiB,context=2MiB", "");

    (void)state;
    ledger_path(path, false);
    assert_int_equal(other_do(&o, "aaaft"), 'y');
    assert_int_equal(process_of(path + 1, o.pid).reserved_bytes, MIB(24));
    assert_ok(larder_ledger_limit(path + 1, o.pid, MIB(16)));
    assert_int_equal(other_do(&o, "t"), 'y');
    assert_int_equal(process_of(path + 1, o.pid).reserved_bytes, MIB(14));
    other_leave(&o);
}

/* A process that is asked releases what it caches, but not its minimum. */
static void a_process_asked_keeps_its_minimum(void **state)
{
    char path[SHARED_NAME_MAX + 1];
    struct other o = other_start("64MiB", "minimum:16MiB");
    larder_addr addr;
    struct rig rig;

    (void)state;
    ledger_path(path, false);
    assert_int_equal(other_do(&o, "aaaaaf"), 'y');
    assert_ok(larder_ledger_trim(path + 1, o.pid, MIB(64)));
    assert_int_equal(other_do(&o, "t"), 'y');
    assert_int_equal(process_of(path + 1, o.pid).reserved_bytes, MIB(16));
    rig = rig_on("64MiB", LARDER_POLICY_LARDER, "");
    assert_ok(larder_alloc(rig.a, MIB(48), 0, &addr));
    rig_end(&rig);
    other_leave(&o);
}

/* A dead process keeps nothing: the next request for a minimum finds its
 * share. */
static void a_minimum_of_the_dead_is_granted(void **state)
{
    struct rig rig = rig_on("64MiB", LARDER_POLICY_LARDER, "ask_budget_ms:0");
    struct other o = other_start("64MiB", "minimum:48MiB");

    (void)state;
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_configure(rig.a, "minimum:40MiB"));
    other_kill(&o);
    assert_ok(larder_configure(rig.a, "minimum:40MiB"));
    rig_end(&rig);
}

/* Others without a ledger may leave too little for all minimums: each process
 * still gets its own as far as there is memory. */
static void a_process_has_its_own_minimum_first(void **state)
{
    struct rig rig =
        rig_on("64MiB", LARDER_POLICY_LARDER, "minimum:24MiB,ask_budget_ms:0");
    struct other o = other_start("64MiB", "minimum:24MiB");
    struct other outsider = other_start("64MiB", "ledger:off");
    larder_addr addr;

    (void)state;
    assert_int_equal(other_do(&outsider, "aaaaa"), 'y');
    assert_ok(larder_alloc(rig.a, MIB(16), 0, &addr));
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(10), 0, &addr));
    other_leave(&outsider);
    other_leave(&o);
    rig_end(&rig);
}

/* ---- permissions ------------------------------------------------------------- */

/* The name of the ledger of this run's device. */
static void ledger_path(char out[SHARED_NAME_MAX + 1], bool is_of_group)
{
    struct ledger_spec spec = {.is_of_group = is_of_group, .group = getegid()};
    larder_device_props props = {.size = sizeof props};
    larder_device *dev;

    assert_ok(larder_device_open(spec_of("64MiB"), 0, &dev));
    assert_ok(larder_device_get_props(dev, &props));
    memcpy(spec.uuid, props.uuid, sizeof spec.uuid);
    larder__ledger_name(&spec, out);
    assert_ok(larder_device_close(dev));
}

static bool exists(const char *path, struct stat *st)
{
    int fd = shm_open(path, O_RDONLY, 0);
    bool is = fd >= 0 && fstat(fd, st) == 0;

    if (fd >= 0)
        close(fd);
    return is;
}

static void the_ledger_is_its_users_alone_and_goes_with_the_last(void **state)
{
    char path[SHARED_NAME_MAX + 1];
    struct stat st;
    struct rig rig;

    (void)state;
    ledger_path(path, false);
    assert_false(exists(path, &st));
    rig = rig_on("64MiB", LARDER_POLICY_LARDER, "");
    assert_true(exists(path, &st));
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(st.st_uid, geteuid());
    rig_end(&rig);
    assert_false(exists(path, &st));
}

static void a_groups_ledger_is_open_to_the_group_alone(void **state)
{
    char path[SHARED_NAME_MAX + 1];
    char conf[64];
    struct stat st;
    struct rig rig;

    (void)state;
    ledger_path(path, true);
    snprintf(conf, sizeof conf, "ledger_group:%lu", (unsigned long)getegid());
    umask(077); /* must not keep the group out */
    rig = rig_on("64MiB", LARDER_POLICY_LARDER, conf);
    umask(022);
    assert_true(exists(path, &st));
    assert_int_equal(st.st_mode & 0777, 0660);
    assert_int_equal(st.st_gid, getegid());
    rig_end(&rig);
    assert_false(exists(path, &st));
}

/* Puts a file of `bytes` bytes in the ledger's place. */
static void plant(const char *path, off_t bytes, mode_t mode, uid_t owner,
                  gid_t group)
{
    int fd = shm_open(path, O_RDWR | O_CREAT | O_EXCL, 0600);

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, bytes), 0);
    assert_int_equal(fchown(fd, owner, group), 0);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

/* If the ledger was requested this is an error; otherwise the allocator works
 * without it. */
static void expect_untrusted(const char *path, const char *conf,
                             const char *words)
{
    larder_device *dev;
    larder_allocator *a = NULL;
    larder_options opt;

    larder_options_init(&opt);
    opt.conf = conf;
    assert_ok(larder_device_open(spec_of("64MiB"), 0, &dev));
    assert_refused(LARDER_ERR_SYSTEM, larder_create(dev, &opt, &a), words);
    opt.conf = "";
    if (strcmp(conf, "ledger:on") == 0) {
        larder_addr addr;

        assert_ok(larder_create(dev, &opt, &a));
        assert_ok(larder_alloc(a, MIB(8), 0, &addr));
        assert_ok(larder_destroy(a));
    }
    assert_ok(larder_device_close(dev));
    assert_int_equal(shm_unlink(path), 0);
}

static void a_ledger_that_others_could_have_made_is_not_used(void **state)
{
    char path[SHARED_NAME_MAX + 1];
    char conf[64];
    uid_t me = geteuid();
    gid_t us = getegid();

    (void)state;
    ledger_path(path, false);
    plant(path, 0, 0660, me, us);
    expect_untrusted(path, "ledger:on", "is open to other users");
    plant(path, 0, 0604, me, us);
    expect_untrusted(path, "ledger:on", "is open to other users");
    plant(path, 100, 0600, me, us);
    expect_untrusted(path, "ledger:on", "has another size");
    plant(path, sizeof(struct ledger_page), 0600, me, us);
    if (me == 0) {
        assert_int_equal(shm_unlink(path), 0);
        plant(path, 0, 0600, 65534, us);
        expect_untrusted(path, "ledger:on", "belongs to another user");
        ledger_path(path, true);
        snprintf(conf, sizeof conf, "ledger_group:%lu", (unsigned long)us);
        plant(path, 0, 0660, me, 65534);
        expect_untrusted(path, conf, "belongs to another group");
        plant(path, 0, 0666, me, us);
        expect_untrusted(path, conf, "is open to other users");
    } else {
        assert_int_equal(shm_unlink(path), 0);
    }
}

static void an_unknown_group_is_named(void **state)
{
    larder_device *dev;
    larder_allocator *a;
    larder_options opt;

    (void)state;
    larder_options_init(&opt);
    opt.conf = "ledger_group:no-such-group";
    assert_ok(larder_device_open(spec_of("64MiB"), 0, &dev));
    assert_refused(LARDER_ERR_CONF, larder_create(dev, &opt, &a),
                   "ledger_group: 'no-such-group'");
    assert_ok(larder_device_close(dev));
}

/* ---- without a ledger --------------------------------------------------------- */

static bool has_ledger(const larder_allocator *a)
{
    return handle_allocator(a)->peers != NULL;
}

static void a_device_of_this_process_alone_has_no_ledger(void **state)
{
    larder_device_props props = {.size = sizeof props};
    struct rig rig = rig_up("sim:64MiB", "ledger:on");

    (void)state;
    assert_ok(larder_device_get_props(rig.dev, &props));
    assert_true(props.is_exclusive);
    assert_false(has_ledger(rig.a));
    rig_down(&rig);
    rig = rig_on("64MiB", LARDER_POLICY_LARDER, "ledger:on");
    assert_true(has_ledger(rig.a));
    rig_end(&rig);
}

/* A device with properties and nothing else. */
static larder_result anonymous_props(void *self, larder_device_props *out)
{
    (void)self;
    out->total_bytes = MIB(64);
    return LARDER_OK;
}

static void anonymous_close(void *self)
{
    (void)self;
}

static larder_result anonymous_alloc(void *self, uint64_t bytes,
                                     larder_addr *out)
{
    (void)self;
    (void)bytes;
    (void)out;
    return LARDER_ERR_OUT_OF_MEMORY;
}

static larder_result anonymous_info(void *self, uint64_t *free_bytes,
                                    uint64_t *total_bytes)
{
    (void)self;
    *free_bytes = *total_bytes = MIB(64);
    return LARDER_OK;
}

static larder_result anonymous_make(void *self, uint64_t *out)
{
    (void)self;
    *out = 1;
    return LARDER_OK;
}

static larder_result anonymous_call(void *self, uint64_t handle)
{
    (void)self;
    (void)handle;
    return LARDER_OK;
}

static larder_result anonymous_record(void *self, uint64_t event,
                                      larder_stream stream)
{
    (void)self;
    (void)event;
    (void)stream;
    return LARDER_OK;
}

static const larder_device_ops anonymous_ops = {
    .size = sizeof anonymous_ops,
    .name = "anonymous",
    .close = anonymous_close,
    .props = anonymous_props,
    .mem_alloc = anonymous_alloc,
    .mem_free = anonymous_call,
    .mem_info = anonymous_info,
    .event_create = anonymous_make,
    .event_destroy = anonymous_call,
    .event_record = anonymous_record,
    .event_query = anonymous_call,
    .event_sync = anonymous_call,
    .stream_sync = anonymous_call,
};

/* Other processes could not recognise it as the same device. */
static void a_device_that_does_not_say_who_it_is_has_no_ledger(void **state)
{
    larder_options opt;
    struct rig rig = {0};

    (void)state;
    larder_options_init(&opt);
    opt.conf = "ledger:on";
    assert_ok(larder_device_create(&anonymous_ops, NULL, &rig.dev));
    assert_ok(larder_create(rig.dev, &opt, &rig.a));
    assert_false(has_ledger(rig.a));
    rig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_process_gives_its_cache_by_its_thread),
        cmocka_unit_test(a_process_that_only_hits_gives_at_its_next_request),
        cmocka_unit_test(a_process_that_does_not_answer_is_waited_for_once),
        cmocka_unit_test(no_process_is_asked_for_more_than_the_device_has),
        cmocka_unit_test(a_minimum_is_kept_for_its_process),
        cmocka_unit_test(cached_memory_within_the_minimum_is_not_released),
        cmocka_unit_test(a_killed_process_keeps_no_minimum),
        cmocka_unit_test(memory_of_a_process_killed_while_asked_is_available),
        cmocka_unit_test(a_minimum_is_granted_from_a_process_killed_meanwhile),
        cmocka_unit_test(a_minimum_that_is_not_there_is_refused),
        cmocka_unit_test(
            a_new_process_is_given_its_minimum_by_those_that_cache),
        cmocka_unit_test(a_region_commits_memory_that_others_cache),
        cmocka_unit_test(a_region_wakes_with_memory_that_others_cache),
        cmocka_unit_test(a_tag_resumes_with_memory_that_others_cache),
        cmocka_unit_test(a_commit_answers_other_processes),
        cmocka_unit_test(a_process_limit_counts_all_its_allocators),
        cmocka_unit_test(the_message_names_the_ledger_s_limit),
        cmocka_unit_test(a_minimum_of_others_is_named),
        cmocka_unit_test(a_group_limit_counts_all_processes),
        cmocka_unit_test(limits_are_exact_and_count_contexts),
        cmocka_unit_test(a_process_over_its_own_limit_asks_nobody),
        cmocka_unit_test(the_least_group_limit_is_exact_and_counts_contexts),
        cmocka_unit_test(a_limit_set_in_the_ledger_counts_the_context),
        cmocka_unit_test(a_process_asked_keeps_its_minimum),
        cmocka_unit_test(a_minimum_of_the_dead_is_granted),
        cmocka_unit_test(a_process_has_its_own_minimum_first),
        cmocka_unit_test(
            who_looks_can_have_a_process_give_back_and_keep_to_a_limit),
        cmocka_unit_test(the_ledger_is_its_users_alone_and_goes_with_the_last),
        cmocka_unit_test(a_groups_ledger_is_open_to_the_group_alone),
        cmocka_unit_test(a_ledger_that_others_could_have_made_is_not_used),
        cmocka_unit_test(an_unknown_group_is_named),
        cmocka_unit_test(a_device_of_this_process_alone_has_no_ledger),
        cmocka_unit_test(a_device_that_does_not_say_who_it_is_has_no_ledger),
    };

    unsetenv("LARDER_CONF");
    /* Not that of a killed run whose process number came again. */
    snprintf(name, sizeof name, "peers-%ld-%lx", (long)getpid(),
             (long)time(NULL));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
