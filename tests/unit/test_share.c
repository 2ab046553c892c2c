/* test_share.c - memory shared by two processes. */
#include "support/share_rig.h"
#include "support/unique_name.h"

#include <larder/region.h>

#include <stdbool.h>
#include <sys/time.h>

/* Unique to this run, and the same in both processes. */
static char shared_spec[128];

static const char *spec_of(const char *size)
{
    snprintf(shared_spec, sizeof shared_spec, "sim:%s,shared=%s,export=fd",
             size, unique_name("share"));
    return shared_spec;
}

static struct rig share_up(const char *spec, const char *conf)
{
    return rig_up_policy(spec,
                         strcmp(conf, "larder") == 0 ? LARDER_POLICY_LARDER
                                                     : LARDER_POLICY_PYTORCH,
                         /* one page per handle: the maximum number of
                          * handles */
                         strcmp(conf, "larder") == 0 ? "handle_mib:2" : conf);
}

static larder_export *export_of(struct rig *rig, larder_addr addr)
{
    larder_export *e = NULL;

    assert_ok(larder_export_open(rig->a, addr, &e));
    return e;
}

/* ---- the other process ------------------------------------------------------ */

enum { BYTES = 5 << 20, SEED = 77, ANSWER = 99, MORE = 140 << 20 };

/* Receives memory, checks it, writes an answer to it, and closes it when
 * told. */
static void part_take(larder_device *dev, int socket, uint64_t bytes)
{
    larder_import *m = NULL;
    larder_import_info info;

    assert_ok(larder_import_receive(dev, socket, &m));
    info = import_info(m);
    assert_int_equal(info.bytes, bytes);
    pattern_is(info.addr, info.bytes, SEED);
    pattern_put(info.addr, info.bytes, ANSWER);
    send_byte(socket, 'w');
    expect_byte(socket, 'k'); /* check it again */
    pattern_is(info.addr, info.bytes, ANSWER);
    assert_ok(larder_import_close(m));
    send_byte(socket, 'c');
}

/* Sends memory and ends without a word. */
static void part_give_and_die(larder_device *dev, int socket)
{
    larder_export *e = NULL;
    larder_addr addr = 0;
    larder_options opt;
    larder_allocator *a;

    larder_options_init(&opt);
    opt.policy = LARDER_POLICY_LARDER;
    opt.conf = "handle_mib:2";
    assert_ok(larder_create(dev, &opt, &a));
    assert_ok(larder_alloc(a, BYTES, 0, &addr));
    pattern_put(addr, BYTES, SEED);
    assert_ok(larder_export_open(a, addr, &e));
    assert_ok(larder_export_send(e, socket));
    expect_byte(socket, 'd');
    _exit(0);
}

static int peer_main(char **argv)
{
    int socket = atoi(argv[2]);
    larder_device *dev;

    assert_ok(larder_device_open(argv[4], 0, &dev));
    if (strcmp(argv[3], "take") == 0)
        part_take(dev, socket, BYTES);
    else if (strcmp(argv[3], "take more") == 0)
        part_take(dev, socket, MORE);
    else
        part_give_and_die(dev, socket);
    assert_ok(larder_device_close(dev));
    return 0;
}

/* ---- between two processes --------------------------------------------------- */

/* The peer sees our bytes, and we see the peer's. */
static void exchange(struct rig *rig, const char *part, uint64_t bytes)
{
    struct peer peer = peer_start(part, shared_spec);
    larder_addr before = rig_alloc(rig, 70000);
    larder_addr addr = rig_alloc(rig, bytes);
    larder_export *e = export_of(rig, addr);

    pattern_put(before, 70000, 1);
    pattern_put(addr, bytes, SEED);
    assert_ok(larder_export_send(e, peer.socket));
    expect_byte(peer.socket, 'w');
    pattern_is(addr, bytes, ANSWER);
    pattern_is(before, 70000, 1);
    send_byte(peer.socket, 'k');
    expect_byte(peer.socket, 'c');
    peer_end(&peer);
    assert_ok(larder_export_close(e));
    rig_free(rig, addr);
    rig_free(rig, before);
}

static void two_processes_see_one_memory(void **state)
{
    const char *const ways[] = {"larder", "expandable_segments:True"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig rig = share_up(spec_of("64MiB"), ways[i]);

        exchange(&rig, "take", BYTES);
        rig_down(&rig);
    }
}

/* Descriptors come in batches. */
static void memory_of_many_pages_arrives_whole(void **state)
{
    struct rig rig = share_up(spec_of("256MiB"), "larder");

    (void)state;
    exchange(&rig, "take more", MORE);
    assert_true(rig_calls(&rig, LARDER_CALL_page_export) >= 70);
    rig_down(&rig);
}

/* The exporter frees it, allocates all there is, and releases everything: the
 * importer still has it. */
static void memory_freed_while_exported_stays(void **state)
{
    struct rig rig = share_up(spec_of("64MiB"), "larder");
    struct peer peer = peer_start("take", shared_spec);
    larder_addr addr = rig_alloc(&rig, BYTES);
    larder_export *e = export_of(&rig, addr);
    larder_addr other[64];
    int count = 0;

    (void)state;
    pattern_put(addr, BYTES, SEED);
    assert_ok(larder_export_send(e, peer.socket));
    expect_byte(peer.socket, 'w');
    rig_free(&rig, addr);
    assert_refused(LARDER_ERR_DOUBLE_FREE, larder_free(rig.a, addr),
                   "was freed before");
    assert_ok(larder_empty_cache(rig.a));
    while (larder_alloc(rig.a, BYTES, 0, &other[count]) == LARDER_OK) {
        assert_int_not_equal(other[count], addr);
        pattern_put(other[count++], BYTES, 5);
    }
    assert_true(count >= 10);
    assert_ok(larder_check(rig.a));
    while (count > 0)
        rig_free(&rig, other[--count]);
    pattern_is(addr, BYTES, ANSWER);
    send_byte(peer.socket, 'k');
    expect_byte(peer.socket, 'c');
    peer_end(&peer);
    assert_ok(larder_export_close(e));
    assert_int_equal(rig_stats(&rig).active.all.current, 0);
    rig_down(&rig);
}

/* Closed, freed, released: the device keeps it until the importer is done. */
static void memory_is_held_as_long_as_the_importer_has_it(void **state)
{
    struct rig rig = share_up(spec_of("64MiB"), "larder");
    struct peer peer = peer_start("take", shared_spec);
    larder_addr addr = rig_alloc(&rig, BYTES);
    larder_export *e = export_of(&rig, addr);

    (void)state;
    pattern_put(addr, BYTES, SEED);
    assert_ok(larder_export_send(e, peer.socket));
    expect_byte(peer.socket, 'w');
    assert_ok(larder_export_close(e));
    rig_free(&rig, addr);
    assert_ok(larder_empty_cache(rig.a));
    assert_int_equal(rig_reserved(&rig), 0);
    assert_int_equal(rig_usage(rig.dev).self_bytes, 6 << 20);
    send_byte(peer.socket, 'k'); /* its contents are unchanged */
    expect_byte(peer.socket, 'c');
    peer_end(&peer);
    assert_int_equal(rig_usage(rig.dev).self_bytes, 0);
    rig_down(&rig);
}

static void memory_outlives_who_exported_it(void **state)
{
    struct peer peer = peer_start("give", spec_of("64MiB"));
    larder_device *dev;
    larder_import *m = NULL;
    larder_import_info info;

    (void)state;
    assert_ok(larder_device_open(shared_spec, 0, &dev));
    assert_ok(larder_import_receive(dev, peer.socket, &m));
    send_byte(peer.socket, 'd');
    peer_end(&peer);
    info = import_info(m);
    assert_int_equal(info.mapped_bytes, 6 << 20);
    pattern_is(info.addr, info.bytes, SEED);
    assert_refused(LARDER_ERR_BUSY, larder_device_close(dev), "import");
    assert_ok(larder_import_close(m));
    assert_device_empty(dev);
    assert_ok(larder_device_close(dev));
}

/* ---- within one process ------------------------------------------------------- */

static void importing_twice_and_closing_once_leaves_the_other(void **state)
{
    struct rig rig = share_up(spec_of("64MiB"), "larder");
    struct pair p = pair_up(SOCK_SEQPACKET);
    larder_addr addr = rig_alloc(&rig, BYTES);
    larder_export *e = export_of(&rig, addr);
    larder_import *m[2];

    (void)state;
    pattern_put(addr, BYTES, SEED);
    for (int i = 0; i < 2; i++) {
        assert_ok(larder_export_send(e, p.near));
        assert_ok(larder_import_receive(rig.dev, p.far, &m[i]));
    }
    assert_int_not_equal(import_info(m[0]).addr, import_info(m[1]).addr);
    assert_ok(larder_import_close(m[0]));
    assert_ok(larder_export_close(e));
    rig_free(&rig, addr);
    assert_ok(larder_empty_cache(rig.a));
    pattern_is(import_info(m[1]).addr, BYTES, SEED);
    assert_int_equal(rig_usage(rig.dev).self_bytes, 6 << 20);
    assert_ok(larder_import_close(m[1]));
    pair_down(&p);
    rig_down(&rig);
}

/* Two exports of one allocation, on a page shared with others. */
static void each_export_holds_memory_on_its_own(void **state)
{
    struct rig rig = share_up(spec_of("64MiB"), "larder");
    larder_addr addr = rig_alloc(&rig, 4096);
    larder_addr next = rig_alloc(&rig, 4096);
    larder_export *e[3] = {export_of(&rig, addr), export_of(&rig, addr),
                           export_of(&rig, next)};

    (void)state;
    assert_ok(larder_record_stream(rig.a, addr, 3));
    assert_ok(larder_export_close(e[0]));
    rig_free(&rig, addr);
    assert_ok(larder_empty_cache(rig.a));
    assert_int_equal(rig_stats(&rig).active.all.current, 2);
    assert_ok(larder_check(rig.a));
    assert_ok(larder_export_close(e[1]));
    assert_int_equal(rig_stats(&rig).active.all.current, 1);
    assert_ok(larder_export_close(e[2])); /* live: nothing happens */
    assert_int_equal(rig_stats(&rig).active.all.current, 1);
    rig_free(&rig, next);
    assert_ok(larder_export_close(NULL));
    rig_down(&rig);
}

/* Released while a pool is begun, when no event may be recorded. */
static void an_export_ends_while_a_pool_is_begun(void **state)
{
    struct rig rig = share_up(spec_of("64MiB"), "larder");
    larder_pool_id id = {7, 0};
    larder_addr addr = rig_alloc(&rig, BYTES);
    larder_export *e = export_of(&rig, addr);

    (void)state;
    assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
    rig_free(&rig, addr);
    assert_ok(larder_check(rig.a));
    assert_ok(larder_export_close(e));
    assert_ok(larder_check(rig.a));
    assert_ok(larder_pool_end(rig.a, id));
    assert_ok(larder_pool_release(rig.a, id));
    assert_ok(larder_empty_cache(rig.a));
    assert_int_equal(rig_stats(&rig).active.all.current, 0);
    rig_down(&rig);
}

static void an_export_that_is_impossible_says_why(void **state)
{
    struct rig rig = share_up(spec_of("64MiB"), "");
    larder_addr addr = rig_alloc(&rig, BYTES);
    larder_export *e = NULL;

    (void)state;
    assert_refused(LARDER_ERR_UNSUPPORTED, larder_export_open(rig.a, addr, &e),
                   "expandable_segments");
    assert_refused(LARDER_ERR_UNKNOWN_ADDRESS,
                   larder_export_open(rig.a, addr + 512, &e), "begins at");
    assert_result(LARDER_ERR_INVALID, larder_export_open(rig.a, addr, NULL));
    rig_free(&rig, addr);
    rig_down(&rig);

    rig = share_up("sim:64MiB", "larder");
    addr = rig_alloc(&rig, BYTES);
    assert_refused(LARDER_ERR_UNSUPPORTED, larder_export_open(rig.a, addr, &e),
                   "export=fd");
    rig_free(&rig, addr);
    rig_down(&rig);
    assert_null(e);
}

/* A sleeping region has no pages to send; an exported one keeps them. */
static void a_region_is_either_exported_or_asleep(void **state)
{
    struct rig rig = share_up(spec_of("64MiB"), "larder");
    larder_region_info info = {.size = sizeof info};
    larder_export *e = NULL;
    larder_region *kv;

    (void)state;
    assert_ok(larder_region_create(rig.a, MIB(8), NULL, &kv));
    assert_ok(larder_region_commit(kv, 0, MIB(8)));
    assert_ok(larder_region_get_info(kv, &info));
    assert_ok(larder_region_pause(kv, LARDER_PAUSE_DROP));
    assert_refused(LARDER_ERR_PAUSED, larder_export_open(rig.a, info.addr, &e),
                   "no pages");
    assert_ok(larder_region_resume(kv));
    e = export_of(&rig, info.addr);
    assert_result(LARDER_ERR_BUSY, larder_region_pause(kv, LARDER_PAUSE_DROP));
    assert_result(LARDER_ERR_BUSY, larder_region_decommit(kv, MIB(2), MIB(2)));
    assert_ok(larder_export_close(e));
    assert_ok(larder_region_destroy(kv));
    rig_down(&rig);
}

static void an_export_outlives_its_allocator_harmlessly(void **state)
{
    struct rig rig = share_up(spec_of("64MiB"), "larder");
    struct pair p = pair_up(SOCK_STREAM);
    larder_export *e = export_of(&rig, rig_alloc(&rig, BYTES));

    (void)state;
    assert_ok(larder_destroy(rig.a));
    assert_result(LARDER_ERR_DESTROYED, larder_export_send(e, p.near));
    assert_ok(larder_export_close(e));
    assert_device_empty(rig.dev);
    assert_ok(larder_device_close(rig.dev));
    pair_down(&p);
}

static bool is_refused(larder_result r)
{
    return r == LARDER_ERR_FORKED &&
           strstr(larder_last_error(), "before a fork") != NULL;
}

static void a_child_is_refused_what_its_parent_shares(void **state)
{
    struct rig rig = share_up(spec_of("64MiB"), "larder");
    struct pair p = pair_up(SOCK_STREAM);
    larder_export *e = export_of(&rig, rig_alloc(&rig, BYTES));
    larder_import_info info = {.size = sizeof info};
    larder_import *m = NULL;
    int status = 0;
    pid_t pid;

    (void)state;
    assert_ok(larder_export_send(e, p.near));
    assert_ok(larder_import_receive(rig.dev, p.far, &m));
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(!is_refused(larder_export_send(e, p.near)) +
              !is_refused(larder_export_close(e)) +
              !is_refused(larder_import_get(m, &info)) +
              !is_refused(larder_import_close(m)));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_ok(larder_export_close(e));
    assert_ok(larder_import_close(m));
    rig_down(&rig);
    pair_down(&p);
}

/* ---- wrong messages ------------------------------------------------------------- */

enum { HEADER = 64, BATCH = 16 + 4 * 64 };

/* A batch of the pages 0, 1 and 2, each a handle. */
static void batch_of_three(unsigned char *out)
{
    memset(out, 0, BATCH);
    memcpy(out, "BACH\3\0\0\0\0\0\0\0\0\0\0\0", 16);
    for (int i = 0; i < 3; i++)
        out[16 + 4 * i] = 1;
}

/* The header of an export's message, to be changed and sent again. */
static void message_header(struct rig *rig, larder_addr addr,
                           unsigned char *out)
{
    struct pair p = pair_up(SOCK_STREAM);
    larder_export *e = export_of(rig, addr);

    assert_ok(larder_export_send(e, p.near));
    assert_int_equal(read(p.far, out, HEADER), HEADER);
    pair_down(&p);
    assert_ok(larder_export_close(e));
}

static void receive_refused(larder_device *dev, const unsigned char *bytes,
                            size_t count, larder_result want, const char *words)
{
    struct pair p = pair_up(SOCK_STREAM);
    larder_import *m = NULL;

    assert_int_equal(write(p.near, bytes, count), (ssize_t)count);
    close(p.near);
    p.near = -1;
    assert_refused(want, larder_import_receive(dev, p.far, &m), words);
    assert_null(m);
    pair_down(&p);
}

static void a_wrong_message_is_named(void **state)
{
    static const struct {
        size_t at;
        unsigned char value;
        const char *words;
    } wrong[] = {
        {0, 'X', "not a message of larder_export_send()"},
        {8, 9, "version 9: expected version 2"},
        {12, 7, "handles of kind 7"},
        {16, 0xEE, "on another device"},
        {32 + 6, 1, "it does not fit"},
        {40 + 6, 1, "it does not fit"},
        {48, 1, "expected a multiple of 2097152"},
        {48 + 6, 1, "expected a multiple of 2097152"},
        {56 + 3, 1, "pages: expected 1 to 32"},
        {56, 0, "pages: expected 1 to 32"},
    };
    struct rig rig = share_up(spec_of("64MiB"), "larder");
    larder_addr addr = rig_alloc(&rig, BYTES);
    unsigned char bytes[HEADER + BATCH];

    (void)state;
    message_header(&rig, addr, bytes);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        unsigned char copy[sizeof bytes];

        memcpy(copy, bytes, sizeof copy);
        /* A byte of the device's identity may have any value. */
        copy[wrong[i].at] = copy[wrong[i].at] == wrong[i].value
                                ? (unsigned char)~wrong[i].value
                                : wrong[i].value;
        receive_refused(rig.dev, copy, HEADER, LARDER_ERR_INVALID,
                        wrong[i].words);
    }
    receive_refused(rig.dev, bytes, 63, LARDER_ERR_SYSTEM,
                    "1 bytes are missing");
    receive_refused(rig.dev, bytes, 64, LARDER_ERR_SYSTEM,
                    "272 bytes are missing");
    memset(bytes + 64, 0x5A, 16);
    receive_refused(rig.dev, bytes, sizeof bytes, LARDER_ERR_INVALID,
                    "ends early");
    batch_of_three(bytes + 64);
    receive_refused(rig.dev, bytes, sizeof bytes, LARDER_ERR_INVALID,
                    "with 0 descriptors: expected 3");
    bytes[64 + 16 + 4] = 0;
    receive_refused(rig.dev, bytes, sizeof bytes, LARDER_ERR_INVALID,
                    "a handle of 0 pages where 2 are missing");
    bytes[64 + 16 + 4] = 2;
    receive_refused(rig.dev, bytes, sizeof bytes, LARDER_ERR_INVALID,
                    "a handle of 1 pages where 0 are missing");
    bytes[64 + 4] = 4;
    receive_refused(rig.dev, bytes, sizeof bytes, LARDER_ERR_INVALID,
                    "3 are missing");
    rig_free(&rig, addr);
    rig_down(&rig);
}

/* Three descriptors of something else. */
static void descriptors_that_are_no_pages_are_refused(void **state)
{
    struct rig rig = share_up(spec_of("64MiB"), "larder");
    larder_addr addr = rig_alloc(&rig, BYTES);
    struct pair p = pair_up(SOCK_STREAM);
    unsigned char bytes[HEADER + BATCH];
    char control[CMSG_SPACE(3 * sizeof(int))] = {0};
    struct iovec part = {.iov_base = bytes + 64, .iov_len = BATCH};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    int fds[3] = {p.near, p.near, p.near};
    larder_import *m = NULL;

    (void)state;
    message_header(&rig, addr, bytes);
    batch_of_three(bytes + 64);
    *c = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof fds),
                          .cmsg_level = SOL_SOCKET,
                          .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(c), fds, sizeof fds);
    assert_int_equal(write(p.near, bytes, 64), 64);
    assert_int_equal(sendmsg(p.near, &message, 0), BATCH);
    assert_refused(LARDER_ERR_DEVICE, larder_import_receive(rig.dev, p.far, &m),
                   "page_import");
    assert_null(m);
    pair_down(&p);
    rig_free(&rig, addr);
    rig_down(&rig);
}

static void an_import_on_another_device_is_refused(void **state)
{
    struct rig rig = share_up(spec_of("64MiB"), "larder");
    struct pair p = pair_up(SOCK_STREAM);
    larder_addr addr = rig_alloc(&rig, BYTES);
    larder_export *e = export_of(&rig, addr);
    larder_import *m = NULL;
    larder_device *other;

    (void)state;
    assert_ok(larder_device_open("sim:64MiB,count=2", 1, &other));
    assert_ok(larder_export_send(e, p.near));
    assert_refused(LARDER_ERR_INVALID, larder_import_receive(other, p.far, &m),
                   "on another device");
    assert_ok(larder_device_close(other));
    assert_ok(larder_export_close(e));
    pair_down(&p);
    rig_free(&rig, addr);
    rig_down(&rig);
}

/* ---- sockets ---------------------------------------------------------------------- */

static void a_socket_that_does_not_work_is_named(void **state)
{
    struct rig rig = share_up(spec_of("64MiB"), "larder");
    struct pair p = pair_up(SOCK_STREAM);
    larder_addr addr = rig_alloc(&rig, BYTES);
    larder_export *e = export_of(&rig, addr);
    struct timeval soon = {.tv_usec = 20000};
    larder_import *m = NULL;
    int pipe_fds[2];

    (void)state;
    assert_int_equal(
        setsockopt(p.far, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon), 0);
    assert_refused(LARDER_ERR_SYSTEM, larder_import_receive(rig.dev, p.far, &m),
                   "timed out");
    close(p.far);
    p.far = -1;
    assert_refused(LARDER_ERR_SYSTEM, larder_export_send(e, p.near),
                   "the peer has closed the socket");
    assert_int_equal(pipe(pipe_fds), 0);
    assert_refused(LARDER_ERR_INVALID, larder_export_send(e, pipe_fds[1]),
                   "expected a connected UNIX socket");
    assert_refused(LARDER_ERR_INVALID, larder_export_send(e, -1),
                   "expected a connected UNIX socket");
    assert_refused(LARDER_ERR_INVALID,
                   larder_import_receive(rig.dev, pipe_fds[0], &m),
                   "expected a connected UNIX socket");
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    assert_result(LARDER_ERR_INVALID, larder_export_send(NULL, p.near));
    assert_result(LARDER_ERR_INVALID, larder_import_receive(NULL, p.near, &m));
    assert_result(LARDER_ERR_INVALID, larder_import_get(NULL, NULL));
    assert_ok(larder_import_close(NULL));
    assert_ok(larder_export_close(e));
    pair_down(&p);
    rig_free(&rig, addr);
    rig_down(&rig);
}

static void a_device_without_pages_cannot_import(void **state)
{
    struct pair p = pair_up(SOCK_STREAM);
    larder_import *m = NULL;
    larder_device *dev;

    (void)state;
    assert_ok(larder_device_open("sim:64MiB,vmm=off", 0, &dev));
    assert_refused(LARDER_ERR_UNSUPPORTED,
                   larder_import_receive(dev, p.far, &m),
                   "cannot import memory");
    assert_ok(larder_device_close(dev));
    pair_down(&p);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_processes_see_one_memory),
        cmocka_unit_test(memory_of_many_pages_arrives_whole),
        cmocka_unit_test(memory_freed_while_exported_stays),
        cmocka_unit_test(memory_is_held_as_long_as_the_importer_has_it),
        cmocka_unit_test(memory_outlives_who_exported_it),
        cmocka_unit_test(importing_twice_and_closing_once_leaves_the_other),
        cmocka_unit_test(each_export_holds_memory_on_its_own),
        cmocka_unit_test(an_export_ends_while_a_pool_is_begun),
        cmocka_unit_test(an_export_that_is_impossible_says_why),
        cmocka_unit_test(a_region_is_either_exported_or_asleep),
        cmocka_unit_test(an_export_outlives_its_allocator_harmlessly),
        cmocka_unit_test(a_child_is_refused_what_its_parent_shares),
        cmocka_unit_test(a_wrong_message_is_named),
        cmocka_unit_test(descriptors_that_are_no_pages_are_refused),
        cmocka_unit_test(an_import_on_another_device_is_refused),
        cmocka_unit_test(a_socket_that_does_not_work_is_named),
        cmocka_unit_test(a_device_without_pages_cannot_import),
    };

    if (argc > 4 && strcmp(argv[1], "--peer") == 0)
        return peer_main(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
