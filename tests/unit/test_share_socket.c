/* test_share_socket.c - bytes and descriptors over a socket that interrupts,
 * takes a message in pieces, fails, or ends. */
#include "support/share_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/syscall.h>

#include "core/share/share_message.h"

/* ---- a socket with moods
 * ----------------------------------------------------- */

enum { CALLS = 16, FDS_MAX = 253 };

/* What the next calls do: 0: all of it, above 0: at most so many bytes, below:
 * they fail with this error. */
static struct {
    int moods[CALLS];
    int calls;
    size_t control[CALLS]; /* bytes beside the message that a call sent */
} socket_plan;

static void socket_plans(const int *moods, size_t count)
{
    memset(&socket_plan, 0, sizeof socket_plan);
    memcpy(socket_plan.moods, moods, count * sizeof *moods);
}

#define PLAN(...)                                                              \
    socket_plans((const int[]){__VA_ARGS__},                                   \
                 sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

/* The call's mood; the message is cut down to it. */
static int socket_mood(struct msghdr *m)
{
    int call = socket_plan.calls++;
    int mood = call < CALLS ? socket_plan.moods[call] : 0;

    if (call < CALLS)
        socket_plan.control[call] = m->msg_controllen;
    if (mood > 0 && m->msg_iov->iov_len > (size_t)mood)
        m->msg_iov->iov_len = (size_t)mood;
    return mood;
}

ssize_t sendmsg(int socket, const struct msghdr *message, int flags)
{
    struct iovec part = *message->msg_iov;
    struct msghdr m = *message;
    int mood;

    m.msg_iov = &part;
    mood = socket_mood(&m);
    if (mood >= 0)
        return syscall(SYS_sendmsg, socket, &m, flags);
    errno = -mood;
    return -1;
}

ssize_t recvmsg(int socket, struct msghdr *m, int flags)
{
    int mood = socket_mood(m);

    if (mood >= 0)
        return syscall(SYS_recvmsg, socket, m, flags);
    errno = -mood;
    return -1;
}

/* ---- descriptors
 * --------------------------------------------------------------- */

/* How many of them are open. */
static int open_count(void)
{
    int count = 0;

    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* One end of a pipe that nothing else has, to be told from others. */
struct witness {
    int given;
    int other;
};

static struct witness witness_up(void)
{
    int fds[2];

    assert_int_equal(pipe(fds), 0);
    return (struct witness){.given = fds[1], .other = fds[0]};
}

/* What is written to the descriptor arrives; closes it. */
static void assert_is_of(const struct witness *w, int fd)
{
    assert_int_not_equal(fd, w->given);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    send_byte(fd, 'w');
    expect_byte(w->other, 'w');
    close(fd);
}

static void witness_down(struct witness *w)
{
    close(w->given);
    close(w->other);
}

/* ---- what arrives
 * ---------------------------------------------------------------- */

static const char text[] = "twelve bytes";

enum { TEXT = sizeof text - 1 };

/* The text with its descriptors, as many as there are witnesses, goes over. */
static void crosses(struct pair *p, const struct witness *w, size_t count)
{
    char bytes[TEXT + 1] = {0};
    int fds[3] = {-1, -1, -1};
    int given[3] = {-1, -1, -1};
    size_t got = 99;

    for (size_t i = 0; i < count; i++)
        given[i] = w[i].given;
    assert_ok(larder__socket_send(p->near, text, TEXT, given, count));
    assert_ok(larder__socket_receive(p->far, bytes, TEXT, fds, 3, &got));
    assert_string_equal(bytes, text);
    assert_int_equal(got, count);
    for (size_t i = 0; i < count; i++)
        assert_is_of(&w[i], fds[i]);
    assert_int_equal(recv(p->far, bytes, 1, MSG_DONTWAIT), -1);
}

static void messages_in_pieces_arrive_whole_with_their_descriptors(void **state)
{
    struct pair p = pair_up(SOCK_STREAM);
    struct witness w[3] = {witness_up(), witness_up(), witness_up()};
    int before = open_count();

    (void)state;
    for (size_t count = 0; count <= 3; count++) {
        PLAN(0);
        crosses(&p, w, count);
        assert_int_equal(socket_plan.calls, 2);
        PLAN(5, TEXT - 5 - 1, 1, 3, TEXT - 3 - 1, 1);
        crosses(&p, w, count);
        assert_int_equal(socket_plan.calls, 6);
        PLAN(-EINTR, 1, -EINTR, -EINTR, 0, -EINTR, 4, -EINTR, 0);
        crosses(&p, w, count);
        assert_int_equal(socket_plan.calls, 9);
    }
    assert_int_equal(open_count(), before);
    for (int i = 0; i < 3; i++)
        witness_down(&w[i]);
    pair_down(&p);
}

/* With each of them the kernel would open a descriptor. */
static void descriptors_are_sent_with_the_first_byte_only(void **state)
{
    struct pair p = pair_up(SOCK_STREAM);
    struct witness w = witness_up();

    (void)state;
    PLAN(2, 2, 0);
    assert_ok(larder__socket_send(p.near, text, TEXT, &w.given, 1));
    assert_int_equal(socket_plan.control[0], CMSG_SPACE(sizeof(int)));
    assert_int_equal(socket_plan.control[1], 0);
    assert_int_equal(socket_plan.control[2], 0);
    PLAN(0);
    assert_ok(larder__socket_send(p.near, text, TEXT, NULL, 0));
    assert_int_equal(socket_plan.control[0], 0);
    witness_down(&w);
    pair_down(&p);
}

/* As many as a message can have. */
static void a_message_carries_253_descriptors(void **state)
{
    struct pair p = pair_up(SOCK_STREAM);
    struct witness w = witness_up();
    int given[FDS_MAX];
    int fds[FDS_MAX];
    char bytes[TEXT];
    size_t got = 0;

    (void)state;
    PLAN(0);
    for (int i = 0; i < FDS_MAX; i++)
        given[i] = w.given;
    assert_ok(larder__socket_send(p.near, text, TEXT, given, FDS_MAX));
    assert_ok(larder__socket_receive(p.far, bytes, TEXT, fds, FDS_MAX, &got));
    assert_int_equal(got, FDS_MAX);
    for (int i = 0; i < FDS_MAX; i++)
        assert_is_of(&w, fds[i]);
    witness_down(&w);
    pair_down(&p);
}

static void only_the_descriptors_given_are_closed(void **state)
{
    struct witness w[2] = {witness_up(), witness_up()};
    int fds[3] = {dup(w[0].given), dup(w[1].given), w[0].given};
    int before = open_count();

    (void)state;
    larder__fds_close(fds, 0);
    assert_int_equal(open_count(), before);
    larder__fds_close(fds, 2);
    assert_int_equal(open_count(), before - 2);
    assert_int_equal(fcntl(fds[0], F_GETFD), -1);
    assert_int_equal(fcntl(fds[1], F_GETFD), -1);
    witness_down(&w[0]);
    witness_down(&w[1]);
}

/* Who sends can say more than descriptors: its process and user. */
static void other_control_messages_are_ignored(void **state)
{
    struct pair p = pair_up(SOCK_STREAM);
    struct witness w = witness_up();
    int before = open_count();
    char bytes[TEXT];
    int fds[3];
    int on = 1;
    size_t got = 99;

    (void)state;
    PLAN(0);
    assert_int_equal(setsockopt(p.far, SOL_SOCKET, SO_PASSCRED, &on, sizeof on),
                     0);
    assert_ok(larder__socket_send(p.near, text, TEXT, &w.given, 1));
    assert_ok(larder__socket_receive(p.far, bytes, TEXT, fds, 3, &got));
    assert_int_equal(got, 1);
    assert_is_of(&w, fds[0]);
    assert_int_equal(open_count(), before);
    witness_down(&w);
    pair_down(&p);
}

/* ---- what fails
 * -------------------------------------------------------------------- */

/* The whole message, for either direction. */
static void assert_says(const char *what, const char *words, int number)
{
    char whole[200];

    (void)snprintf(whole, sizeof whole, "%s memory failed: %s%s", what, words,
                   number != 0 ? strerror(number) : "");
    assert_string_equal(larder_last_error(), whole);
}

static void each_error_is_named(void **state)
{
    static const char closed[] = "the peer has closed the socket";
    static const char wrong[] = "expected a connected UNIX socket: ";
    static const struct {
        int number;
        larder_result result;
        const char *words;
        bool is_described; /* by the system's words too */
    } errors[] = {
        {EPIPE, LARDER_ERR_SYSTEM, closed, false},
        {ECONNRESET, LARDER_ERR_SYSTEM, closed, false},
        {EAGAIN, LARDER_ERR_SYSTEM, "the socket timed out", false},
        {EBADF, LARDER_ERR_INVALID, wrong, true},
        {ENOTSOCK, LARDER_ERR_INVALID, wrong, true},
        {ENOTCONN, LARDER_ERR_INVALID, wrong, true},
        {ENOBUFS, LARDER_ERR_SYSTEM, "", true},
    };
    struct pair p = pair_up(SOCK_STREAM);
    char bytes[TEXT];
    int fds[1];
    size_t got = 99;

    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        int number = errors[i].is_described ? errors[i].number : 0;

        PLAN(-errors[i].number);
        assert_result(errors[i].result,
                      larder__socket_send(p.near, text, TEXT, NULL, 0));
        assert_says("sending", errors[i].words, number);
        PLAN(-errors[i].number);
        assert_result(errors[i].result,
                      larder__socket_receive(p.far, bytes, 1, fds, 1, &got));
        assert_says("receiving", errors[i].words, number);
    }
    assert_int_equal(got, 99);
    pair_down(&p);
}

/* The end is told from an error, though an interruption came before it. */
static void an_early_end_says_what_is_missing(void **state)
{
    for (size_t missing = 1; missing <= 3; missing++) {
        struct pair p = pair_up(SOCK_STREAM);
        struct witness w = witness_up();
        int before = open_count();
        char bytes[TEXT + 3];
        char words[64];
        int fds[3];
        size_t got = 99;

        (void)state;
        PLAN(0, 7, 0, -EINTR);
        assert_ok(larder__socket_send(p.near, text, TEXT, &w.given, 1));
        close(p.near);
        (void)snprintf(words, sizeof words,
                       "the peer closed the socket, %zu bytes are missing",
                       missing);
        assert_refused(
            LARDER_ERR_SYSTEM,
            larder__socket_receive(p.far, bytes, TEXT + missing, fds, 3, &got),
            words);
        assert_int_equal(got, 99);
        assert_int_equal(open_count(), before - 1);
        p.near = -1;
        witness_down(&w);
        pair_down(&p);
    }
}

static void descriptors_beyond_those_expected_are_closed(void **state)
{
    struct witness w[3] = {witness_up(), witness_up(), witness_up()};
    int given[3] = {w[0].given, w[1].given, w[2].given};

    (void)state;
    PLAN(0);
    for (size_t capacity = 0; capacity < 3; capacity++) {
        struct pair p = pair_up(SOCK_STREAM);
        int before = open_count();
        char bytes[TEXT];
        char words[64];
        int fds[3] = {-1, -1, -1};
        size_t got = 99;

        assert_ok(larder__socket_send(p.near, text, TEXT, given, 3));
        (void)snprintf(words, sizeof words, "more than %zu descriptors",
                       capacity);
        assert_refused(
            LARDER_ERR_INVALID,
            larder__socket_receive(p.far, bytes, TEXT, fds, capacity, &got),
            words);
        assert_int_equal(got, 99);
        assert_int_equal(fds[capacity], -1);
        assert_int_equal(open_count(), before);
        pair_down(&p);
    }
    for (int i = 0; i < 3; i++)
        witness_down(&w[i]);
}

static void a_packet_that_is_too_long_is_no_message(void **state)
{
    struct pair p = pair_up(SOCK_SEQPACKET);
    struct witness w = witness_up();
    int before = open_count();
    char bytes[TEXT];
    int fds[1];
    size_t got = 99;

    (void)state;
    PLAN(0);
    assert_ok(larder__socket_send(p.near, text, TEXT, &w.given, 1));
    assert_refused(LARDER_ERR_INVALID,
                   larder__socket_receive(p.far, bytes, TEXT - 1, fds, 1, &got),
                   "a packet is too long");
    assert_int_equal(open_count(), before);
    assert_ok(larder__socket_send(p.near, text, TEXT, NULL, 0));
    assert_ok(larder__socket_receive(p.far, bytes, TEXT, fds, 1, &got));
    assert_int_equal(got, 0);
    witness_down(&w);
    pair_down(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            messages_in_pieces_arrive_whole_with_their_descriptors),
        cmocka_unit_test(descriptors_are_sent_with_the_first_byte_only),
        cmocka_unit_test(a_message_carries_253_descriptors),
        cmocka_unit_test(only_the_descriptors_given_are_closed),
        cmocka_unit_test(other_control_messages_are_ignored),
        cmocka_unit_test(each_error_is_named),
        cmocka_unit_test(an_early_end_says_what_is_missing),
        cmocka_unit_test(descriptors_beyond_those_expected_are_closed),
        cmocka_unit_test(a_packet_that_is_too_long_is_no_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
