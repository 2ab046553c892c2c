/* nccl_room.c - the room in which a communicator's ranks meet. */
#include "nccl_room.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "nccl_process.h"
#include "nccl_reason.h"

/* A box is overwritten two numbers later; of messages a few wait. */
enum { ROOM_BOXES = 2, ROOM_MESSAGES = 4 };

static const uint64_t room_magic = UINT64_C(0x316d6f6f72726472);

/* The beginning of an identity. */
struct id_words {
    uint64_t magic;
    int64_t pid;
    uint64_t start; /* of the process */
    int64_t file;
    uint64_t inode;
    uint64_t chance; /* no two identities are the same */
};

_Static_assert(sizeof(struct id_words) <= ROOM_ID_BYTES, "an identity");

struct box {
    _Atomic uint64_t number; /* what is in it; set last */
    struct room_call call;
    _Alignas(64) char data[ROOM_SMALL];
};

struct seat {
    atomic_int presence;
    int64_t pid;
    uint64_t start;
    struct box boxes[ROOM_BOXES];
};

/* From one rank to another. */
struct pipe {
    _Atomic uint64_t sent;
    _Atomic uint64_t received;
    struct box messages[ROOM_MESSAGES];
};

struct shared {
    atomic_int ranks; /* 0: nobody has been here */
    _Atomic uint32_t clock;
    struct seat seats[];
};

/* The pipes follow the seats. */
struct room {
    struct shared *shared;
    size_t bytes;
    struct pipe *pipes;
    int ranks;
    int rank;
};

/* ---- identities ----------------------------------------------------------- */

/* Files of the identities made here. */
struct made {
    struct made *next;
    struct room_id id;
    int file;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct made *made;

static void made_keep(struct made *m)
{
    pthread_mutex_lock(&lock);
    m->next = made;
    made = m;
    pthread_mutex_unlock(&lock);
}

void room_drop_id(const struct room_id *id)
{
    struct made **at = &made;
    struct made *m;

    pthread_mutex_lock(&lock);
    while (*at != NULL && memcmp(&(*at)->id, id, sizeof *id) != 0)
        at = &(*at)->next;
    m = *at;
    if (m != NULL)
        *at = m->next;
    pthread_mutex_unlock(&lock);
    if (m != NULL)
        close(m->file);
    free(m);
}

static int refused(const char *what)
{
    return nccl_fail(NCCL_SYSTEM_ERROR, "%s: %s", what, strerror(errno));
}

static int id_fill(struct made *m)
{
    struct id_words words = {.magic = room_magic, .pid = getpid()};
    struct stat st;

    m->file = memfd_create("larder-nccl", MFD_CLOEXEC);
    if (m->file < 0)
        return refused("a group's memory file cannot be created");
    if (fstat(m->file, &st) != 0 ||
        ftruncate(m->file, (off_t)sizeof(struct shared)) != 0 ||
        getrandom(&words.chance, sizeof words.chance, 0) < 0) {
        close(m->file);
        return refused("a group's unique ID cannot be created");
    }
    words.start = nccl_process_start(words.pid);
    words.file = m->file;
    words.inode = st.st_ino;
    memcpy(&m->id, &words, sizeof words);
    return NCCL_SUCCESS;
}

int room_make_id(struct room_id *out)
{
    struct made *m = calloc(1, sizeof *m);
    int result = m == NULL ? refused("a group's unique ID") : id_fill(m);

    if (result != NCCL_SUCCESS) {
        free(m);
        return result;
    }
    *out = m->id;
    made_keep(m);
    return NCCL_SUCCESS;
}

static struct id_words words_of(const struct room_id *id)
{
    struct id_words words;

    memcpy(&words, id, sizeof words);
    return words;
}

bool room_is_id(const struct room_id *id)
{
    return words_of(id).magic == room_magic;
}

/* ---- joining -------------------------------------------------------------- */

static int file_open(const struct room_id *id)
{
    struct id_words words = words_of(id);
    struct stat st;
    char path[64];
    int fd;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/fd/%" PRId64, words.pid,
             words.file);
    fd = nccl_process_start(words.pid) == words.start
             ? open(path, O_RDWR | O_CLOEXEC)
             : -1;
    if (fd >= 0 && (fstat(fd, &st) != 0 || st.st_ino != words.inode)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static size_t seats_bytes(int ranks)
{
    size_t bytes = sizeof(struct shared) + (size_t)ranks * sizeof(struct seat);

    return (bytes + 63) / 64 * 64;
}

/* Only what is touched takes memory. */
static int room_map(struct room *room, int fd)
{
    size_t ranks = (size_t)room->ranks;

    room->bytes =
        seats_bytes(room->ranks) + ranks * ranks * sizeof(struct pipe);
    if (ftruncate(fd, (off_t)room->bytes) != 0)
        return refused("a group's memory file has no room");
    room->shared = mmap(NULL, room->bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (room->shared == MAP_FAILED)
        return refused("a group's memory file cannot be mapped");
    room->pipes =
        (struct pipe *)((char *)room->shared + seats_bytes(room->ranks));
    return NCCL_SUCCESS;
}

/* The size of the file depends on it, so it is agreed on first. */
static int ranks_agree(int fd, int ranks)
{
    struct shared *head =
        mmap(NULL, sizeof *head, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int before = 0;
    bool is_same;

    if (head == MAP_FAILED)
        return refused("a group's memory file cannot be mapped");
    is_same = atomic_compare_exchange_strong(&head->ranks, &before, ranks) ||
              before == ranks;
    munmap(head, sizeof *head);
    return is_same
               ? NCCL_SUCCESS
               : nccl_fail(
                     NCCL_INVALID_USAGE,
                     "one process says that a group has %d ranks, another %d",
                     before, ranks);
}

static void clock_advance(struct shared *shared)
{
    atomic_fetch_add(&shared->clock, 1);
    syscall(SYS_futex, &shared->clock, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static int seat_take(struct room *room)
{
    struct seat *seat = &room->shared->seats[room->rank];
    int64_t nobody = 0;

    if (!__atomic_compare_exchange_n(&seat->pid, &nobody, (int64_t)getpid(),
                                     false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        return nccl_fail(NCCL_INVALID_USAGE,
                         "two processes are rank %d of one group, %" PRId64
                         " and %d",
                         room->rank, nobody, (int)getpid());
    seat->start = nccl_process_start(getpid());
    atomic_store(&seat->presence, ROOM_IN);
    clock_advance(room->shared);
    return NCCL_SUCCESS;
}

static int room_enter(struct room *room, int fd)
{
    int result = ranks_agree(fd, room->ranks);

    if (result == NCCL_SUCCESS)
        result = room_map(room, fd);
    if (result != NCCL_SUCCESS)
        return result;
    result = seat_take(room);
    if (result != NCCL_SUCCESS)
        munmap(room->shared, room->bytes);
    return result;
}

int room_join(const struct room_id *id, int ranks, int rank, struct room **out)
{
    struct room *room;
    int result;
    int fd;

    if (ranks > ROOM_RANKS)
        return nccl_fail(NCCL_SYSTEM_ERROR,
                         "%d ranks cannot communicate here, only %d: with "
                         "LARDER_NCCL=alone each runs on its own",
                         ranks, ROOM_RANKS);
    fd = file_open(id);
    if (fd < 0)
        return nccl_fail(NCCL_REMOTE_ERROR,
                         "process %" PRId64
                         ", which created the group's unique ID, has ended or "
                         "is not visible from here",
                         words_of(id).pid);
    room = calloc(1, sizeof *room);
    if (room != NULL)
        *room = (struct room){.ranks = ranks, .rank = rank};
    result = room == NULL ? refused("a group") : room_enter(room, fd);
    close(fd);
    if (result == NCCL_SUCCESS)
        *out = room;
    else
        free(room);
    return result;
}

void room_leave(struct room *room)
{
    atomic_store(&room->shared->seats[room->rank].presence, ROOM_LEFT);
    clock_advance(room->shared);
    munmap(room->shared, room->bytes);
    free(room);
}

enum room_presence room_presence(const struct room *room, int rank)
{
    const struct seat *seat = &room->shared->seats[rank];
    int presence = atomic_load(&seat->presence);

    if (presence != ROOM_IN || nccl_process_start(seat->pid) == seat->start)
        return (enum room_presence)presence;
    return ROOM_DIED;
}

uint32_t room_clock(const struct room *room)
{
    return atomic_load(&room->shared->clock);
}

void room_wait(struct room *room, uint32_t seen, int ms)
{
    struct timespec limit = {.tv_sec = ms / 1000,
                             .tv_nsec = (long)(ms % 1000) * 1000000};

    syscall(SYS_futex, &room->shared->clock, FUTEX_WAIT, seen, &limit, NULL, 0);
}

/* ---- collectives ---------------------------------------------------------- */

static struct box *box_of(const struct room *room, int rank, uint64_t number)
{
    return &room->shared->seats[rank].boxes[number % ROOM_BOXES];
}

void *room_place(struct room *room, uint64_t number)
{
    return box_of(room, room->rank, number)->data;
}

void room_post(struct room *room, uint64_t number, const struct room_call *call)
{
    struct box *box = box_of(room, room->rank, number);

    box->call = *call;
    atomic_store(&box->number, number);
    clock_advance(room->shared);
}

const struct room_call *room_posted(const struct room *room, int rank,
                                    uint64_t number)
{
    const struct box *box = box_of(room, rank, number);

    return atomic_load(&box->number) == number ? &box->call : NULL;
}

const void *room_data(const struct room *room, int rank, uint64_t number)
{
    return box_of(room, rank, number)->data;
}

/* ---- messages ------------------------------------------------------------- */

static struct pipe *pipe_of(const struct room *room, int from, int to)
{
    return &room->pipes[(size_t)from * (size_t)room->ranks + (size_t)to];
}

void *room_message_place(struct room *room, int to)
{
    struct pipe *p = pipe_of(room, room->rank, to);
    uint64_t sent = atomic_load(&p->sent);

    return sent - atomic_load(&p->received) < ROOM_MESSAGES
               ? p->messages[sent % ROOM_MESSAGES].data
               : NULL;
}

void room_send(struct room *room, int to, const struct room_call *call)
{
    struct pipe *p = pipe_of(room, room->rank, to);

    p->messages[atomic_load(&p->sent) % ROOM_MESSAGES].call = *call;
    atomic_fetch_add(&p->sent, 1);
    clock_advance(room->shared);
}

static const struct box *message_of(const struct room *room, int from)
{
    const struct pipe *p = pipe_of(room, from, room->rank);
    uint64_t received = atomic_load(&p->received);

    return atomic_load(&p->sent) == received
               ? NULL
               : &p->messages[received % ROOM_MESSAGES];
}

const struct room_call *room_message(const struct room *room, int from)
{
    const struct box *box = message_of(room, from);

    return box == NULL ? NULL : &box->call;
}

const void *room_message_data(const struct room *room, int from)
{
    return message_of(room, from)->data;
}

void room_received(struct room *room, int from)
{
    atomic_fetch_add(&pipe_of(room, from, room->rank)->received, 1);
    clock_advance(room->shared);
}
