/* test_peer_storm.c - eight processes share a GPU through its ledger, do random
 * work, and are killed and restarted at random.  A request succeeds if it fits
 * beside what all processes use and keep, however much others cache; each
 * process gets its minimum; no byte is lost, and the ledger recovers at once.
 *
 *   test_peer_storm [SECONDS [SEED]]
 */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "device/device.h"
#include "ledger/ledger_name.h"
#include "support/clock.h"
#include "support/storm.h"
#include "support/unique_name.h"

enum { WORKERS = 8, KEEPERS = 3, SLOTS = 6, SECONDS_QUICK = 3 };

#define CAPACITY MIB(256)
#define CONTEXT MIB(1)
#define MINIMUM MIB(16) /* of each keeper */

/* Live blocks may be longer than requested, each by up to a 64th of the
 * device. */
#define SLACK (WORKERS * (CAPACITY / 64 + MIB(2)))
/* What all processes may use together beyond their minimums. */
#define POOL (CAPACITY - WORKERS * CONTEXT - KEEPERS * MINIMUM - SLACK)

/* What the processes know of each other besides the ledger, to recognise a
 * failure. */
struct board {
    _Atomic uint64_t beyond[WORKERS]; /* used or requested beyond its minimum */
    _Atomic unsigned long requests;
    _Atomic unsigned long kept;    /* those within a minimum */
    _Atomic unsigned long refused; /* because all together used too much */
    _Atomic unsigned long slow;    /* took more than a second */
    unsigned long late;            /* dead, and named for more than a second */
    _Atomic bool is_over;
};

static struct board *board;

/* ---- a worker; it ends with the line that went wrong -------------------------- */

struct worker {
    struct rig rig;
    int number;
    uint64_t minimum;
    uint64_t live;
    struct held held[SLOTS];
};

static uint64_t beyond(const struct worker *w, uint64_t live)
{
    return live > w->minimum ? live - w->minimum : 0;
}

/* Whether all processes together may use that much; if so, it is counted. */
static bool board_allows(struct worker *w, uint64_t live)
{
    uint64_t before = beyond(w, w->live);
    uint64_t sum = 0;

    board->beyond[w->number] = beyond(w, live);
    if (beyond(w, live) == before)
        return true;
    for (int i = 0; i < WORKERS; i++)
        sum += board->beyond[i];
    if (sum <= POOL)
        return true;
    board->beyond[w->number] = before;
    board->refused++;
    return false;
}

static void allocate(struct worker *w, struct held *h)
{
    uint64_t bytes = MIB(2) * (1 + below(12));
    uint64_t begin_ms = now_ms();

    if (!board_allows(w, w->live + bytes))
        return;
    MUST(larder_alloc(w->rig.a, bytes, below(2), &h->addr) == LARDER_OK);
    board->slow += now_ms() - begin_ms > 1000;
    board->requests++;
    board->kept += w->live + bytes <= w->minimum;
    w->live += bytes;
    h->bytes = bytes;
    h->value = (unsigned char)below(256);
    held_mark(h);
}

static void release(struct worker *w, struct held *h)
{
    MUST(*ends_of(h, 0) == h->value && *ends_of(h, 1) == h->value);
    MUST(larder_free(w->rig.a, h->addr) == LARDER_OK);
    h->addr = 0;
    w->live -= h->bytes;
    board->beyond[w->number] = beyond(w, w->live);
}

static void work(struct worker *w)
{
    while (!board->is_over) {
        struct held *h = &w->held[below(SLOTS)];

        if (h->addr == 0)
            allocate(w, h);
        else
            release(w, h);
        if (below(64) == 0)
            nap_ms((long)below(5));
        if (below(400) == 0)
            MUST(larder_check(w->rig.a) == LARDER_OK);
    }
    for (int i = 0; i < SLOTS; i++) {
        if (w->held[i].addr != 0)
            release(w, &w->held[i]);
    }
}

/* Every second one also has a thread that answers.  A handle goes to another
 * process only whole: on this small device each page has its own. */
static void worker_main(int number, uint64_t seed)
{
    struct worker w = {.number = number,
                       .minimum = number < KEEPERS ? MINIMUM : 0};
    larder_options opt;
    char conf[128];

    MUST(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0); /* if the storm fails */
    random_state = random_begin(seed);
    snprintf(conf, sizeof conf,
             "handle_mib:2,ask_budget_ms:60000,minimum:%llu,ledger_thread:%s",
             (unsigned long long)w.minimum, number % 2 ? "True" : "False");
    larder_options_init(&opt);
    opt.policy = below(4) == 0 ? LARDER_POLICY_DIRECT : LARDER_POLICY_LARDER;
    opt.conf = conf;
    MUST(larder_device_open(spec, 0, &w.rig.dev) == LARDER_OK);
    MUST(larder_create(w.rig.dev, &opt, &w.rig.a) == LARDER_OK);
    work(&w);
    for (;;) { /* it keeps what it caches; a call that finds nothing answers */
        (void)larder_free(w.rig.a, 1);
        nap_ms(50);
    }
}

static pid_t start(int number, uint64_t seed)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        worker_main(number, seed);
    return pid;
}

/* ---- the ledger, looked at ------------------------------------------------------ */

static struct ledger *look(void)
{
    struct ledger_spec which = {.total_bytes = CAPACITY};
    larder_device_props props = {.size = sizeof props};
    char path[SHARED_NAME_MAX + 1];
    larder_device *dev;
    struct ledger *l;

    assert_ok(larder_device_open(spec, 0, &dev));
    assert_ok(larder_device_get_props(dev, &props));
    assert_ok(larder_device_close(dev));
    memcpy(which.uuid, props.uuid, sizeof which.uuid);
    larder__ledger_name(&which, path);
    return larder__ledger_inspect(path + 1, &l) == LARDER_OK ? l : NULL;
}

/* Whether the ledger lists the process. */
static bool names(struct ledger *l, pid_t pid)
{
    bool is_named = false;

    assert_true(larder__ledger_lock(l));
    larder__ledger_sweep(l);
    for (int i = 0; i < LEDGER_SLOTS; i++)
        is_named = is_named || l->page->slots[i].pid == pid;
    larder__ledger_unlock(l);
    return is_named;
}

struct process_bytes {
    uint32_t pid;
    uint64_t bytes;
};

static void add_process(void *ctx, const larder_device_process *process)
{
    struct process_bytes *of = ctx;

    if (process->pid == of->pid)
        of->bytes += process->bytes;
}

/* Whether the ledger agrees with the device about a process; one that has not
 * used the device yet has no context there. */
static bool slot_is_right(const struct ledger_slot *s, larder_device *dev,
                          uint64_t *sum)
{
    struct process_bytes of = {.pid = (uint32_t)s->pid};

    assert_ok(larder__device_processes(dev, add_process, &of));
    *sum += of.bytes;
    if (word_get(&s->pending_bytes) != 0)
        return false;
    if (of.bytes == 0)
        return word_get(&s->reserved_bytes) == 0;
    return of.bytes ==
           word_get(&s->reserved_bytes) + word_get(&s->context_bytes);
}

static bool all_is_right(struct ledger *l, larder_device *dev)
{
    bool is_right = true;
    uint64_t sum = 0;

    assert_true(larder__ledger_lock(l));
    larder__ledger_sweep(l);
    for (int i = 0; i < LEDGER_SLOTS; i++) {
        if (l->page->slots[i].pid != 0)
            is_right = slot_is_right(&l->page->slots[i], dev, &sum) && is_right;
    }
    larder__ledger_unlock(l);
    return is_right && sum == rig_usage(dev).used_bytes;
}

/* Within a minute, if the machine is busy, the ledger has forgotten the dead. */
static void expect_forgotten(pid_t pid)
{
    uint64_t begin_ms = now_ms();
    struct ledger *l = look();

    if (l == NULL)
        return;
    while (names(l, pid)) {
        assert_true(now_ms() - begin_ms < 60000);
        nap_ms(1);
    }
    board->late += now_ms() - begin_ms > 1000;
    larder__ledger_close(l);
}

/* ---- the storm ------------------------------------------------------------------ */

/* The process was killed; it did not fail. */
static void reap(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void expect_no_failure(void)
{
    int status;
    pid_t gone = waitpid(-1, &status, WNOHANG);

    if (gone > 0)
        fail_msg("process %ld failed with status %d", (long)gone, status);
}

static unsigned long storm(larder_device *dev, pid_t *pids, uint64_t *seed)
{
    uint64_t end_ms = now_ms() + (uint64_t)seconds * 1000;
    unsigned long kills = 0;

    for (int i = 0; i < WORKERS; i++)
        pids[i] = start(i, ++*seed);
    while (now_ms() < end_ms) {
        int i = (int)below(WORKERS);

        nap_ms(2 + (long)below(40));
        expect_no_failure();
        kill(pids[i], SIGKILL);
        reap(pids[i]);
        kills++;
        expect_forgotten(pids[i]);
        board->beyond[i] = 0;
        assert_true(rig_usage(dev).used_bytes <= CAPACITY);
        pids[i] = start(i, ++*seed);
    }
    return kills;
}

/* When all are idle, the ledger agrees with the device. */
static void expect_the_books_are_right(larder_device *dev)
{
    uint64_t begin_ms = now_ms();
    struct ledger *l = look();

    assert_non_null(l);
    while (!all_is_right(l, dev)) {
        assert_true(now_ms() - begin_ms < 60000);
        nap_ms(10);
    }
    larder__ledger_close(l);
}

static void memory_cached_by_one_process_serves_all(void **state)
{
    larder_device *dev;
    pid_t pids[WORKERS];
    uint64_t seed = random_state;
    unsigned long kills;

    (void)state;
    assert_ok(larder_device_open(spec, 0, &dev));
    kills = storm(dev, pids, &seed);
    board->is_over = true;
    expect_the_books_are_right(dev);
    expect_no_failure();
    for (int i = 0; i < WORKERS; i++) {
        kill(pids[i], SIGKILL);
        reap(pids[i]);
    }
    assert_int_equal(rig_usage(dev).used_bytes, 0);
    larder__ledger_close(look()); /* the last reader removes it */
    assert_null(look());
    assert_ok(larder_device_close(dev));
    print_message(
        "%ld s: %lu requests, %lu within a minimum, %lu not made, %lu "
        "slow, %lu kills, %lu forgotten late\n",
        seconds, board->requests, board->kept, board->refused, board->slow,
        kills, board->late);
    assert_true(board->requests > 0 && board->kept > 0 && kills > 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_cached_by_one_process_serves_all),
    };

    snprintf(spec, sizeof spec, "sim:256MiB,context=1MiB,shared=%s",
             unique_name("peers"));
    board = storm_begin(argc, argv, SECONDS_QUICK, sizeof *board);
    if (board == NULL)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
