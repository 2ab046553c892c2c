/* test_newfile.c - files that the library writes: complete or absent, in the
 * right place, with the right mode. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <larder/file.h>

#include "support/rig.h"

static char folder[] = "/tmp/larder-newfile-XXXXXX";
static char paths[4][512];

static const char *in_folder(const char *name)
{
    static unsigned turn;
    char *out = paths[turn++ % 4];

    snprintf(out, sizeof paths[0], "%s/%s", folder, name);
    return out;
}

static int set_up(void **state)
{
    (void)state;
    umask(022);
    return mkdtemp(folder) == NULL;
}

static int entries(void)
{
    DIR *dir = opendir(folder);
    int count = 0;

    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        count += e->d_name[0] != '.';
    closedir(dir);
    return count;
}

static int empty_folder(void **state)
{
    DIR *dir = opendir(folder);

    (void)state;
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        unlink(in_folder(e->d_name));
    closedir(dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(folder);
}

static void put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (int)strlen(text));
    close(fd);
}

static void expect_text(const char *path, const char *text)
{
    char got[64] = "";
    int fd = open(path, O_RDONLY);

    assert_true(fd >= 0);
    assert_true(read(fd, got, sizeof got - 1) >= 0);
    close(fd);
    assert_string_equal(got, text);
}

static void write_new(const char *path, const char *text, int keep)
{
    larder_file *f;

    assert_ok(larder_file_create(path, &f));
    assert_ok(larder_file_write(f, text, strlen(text)));
    assert_ok(larder_file_close(f, keep));
}

static mode_t mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

static void a_file_appears_whole_or_not_at_all(void **state)
{
    larder_file *f;

    (void)state;
    assert_ok(larder_file_create(in_folder("a"), &f));
    assert_ok(larder_file_write(f, "new", 3));
    assert_int_equal(access(in_folder("a"), F_OK), -1);
    assert_ok(larder_file_close(f, 1));
    expect_text(in_folder("a"), "new");
    assert_int_equal(mode_of(in_folder("a")), 0644);
    write_new(in_folder("a"), "other", 0);
    expect_text(in_folder("a"), "new");
    assert_int_equal(entries(), 1);
}

static void an_old_file_keeps_its_mode_and_its_links(void **state)
{
    (void)state;
    put(in_folder("real"), "old");
    assert_int_equal(chmod(in_folder("real"), 0600), 0);
    assert_int_equal(symlink("real", in_folder("one")), 0);
    assert_int_equal(symlink(in_folder("one"), in_folder("two")), 0);
    write_new(in_folder("two"), "new", 1);
    expect_text(in_folder("real"), "new");
    assert_int_equal(mode_of(in_folder("real")), 0600);
    assert_int_equal(entries(), 3);
    assert_int_equal(unlink(in_folder("real")), 0);
    write_new(in_folder("two"), "again", 1); /* a dangling link */
    expect_text(in_folder("real"), "again");
    assert_int_equal(entries(), 3);
}

static void links_in_a_ring_are_refused(void **state)
{
    larder_file *f;

    (void)state;
    assert_int_equal(symlink("b", in_folder("a")), 0);
    assert_int_equal(symlink("a", in_folder("b")), 0);
    assert_refused(LARDER_ERR_SYSTEM, larder_file_create(in_folder("a"), &f),
                   "cannot be written");
}

enum { SOMEBODY = 65534, SOMEBODY_ELSE = 65533 };

static void give_to(const char *path, uid_t owner)
{
    assert_int_equal(lchown(path, owner, owner), 0);
}

static void an_old_file_keeps_its_owner_but_no_set_id_bits(void **state)
{
    struct stat st;

    (void)state;
    if (geteuid() != 0) /* only root may change a file's owner */
        skip();
    put(in_folder("a"), "old");
    give_to(in_folder("a"), SOMEBODY);
    assert_int_equal(chmod(in_folder("a"), 06755), 0);
    write_new(in_folder("a"), "new", 1);
    assert_int_equal(stat(in_folder("a"), &st), 0);
    assert_int_equal(st.st_uid, SOMEBODY);
    assert_int_equal(st.st_gid, SOMEBODY);
    assert_int_equal(st.st_mode & 07777, 0755);
}

/* As in /tmp: the link may point to any file of the writing user. */
static void a_link_of_somebody_elses_where_all_may_write_is_refused(
    void **state)
{
    larder_file *f;

    (void)state;
    if (geteuid() != 0)
        skip();
    put(in_folder("mine"), "old");
    assert_int_equal(symlink("mine", in_folder("page")), 0);
    give_to(in_folder("page"), SOMEBODY);
    assert_int_equal(chmod(folder, 01777), 0);
    assert_refused(LARDER_ERR_SYSTEM, larder_file_create(in_folder("page"), &f),
                   "Permission denied");
    expect_text(in_folder("mine"), "old");

    give_to(in_folder("page"), geteuid()); /* one's own link is followed, */
    write_new(in_folder("page"), "own", 1);
    expect_text(in_folder("mine"), "own");
    give_to(in_folder("page"), SOMEBODY); /* so is the folder's owner's, */
    give_to(folder, SOMEBODY);
    write_new(in_folder("page"), "folder", 1);
    expect_text(in_folder("mine"), "folder");
    give_to(in_folder("page"), SOMEBODY_ELSE); /* and any in other folders */
    assert_int_equal(chmod(folder, 0700), 0);
    write_new(in_folder("page"), "private", 1);
    expect_text(in_folder("mine"), "private");
    give_to(folder, geteuid());
}

/* Like /dev/stdout: a link to a descriptor of the process that opens it. */
static void a_descriptor_is_written_where_it_is(void **state)
{
    char target[64];
    int fd = open(in_folder("log"), O_RDWR | O_CREAT | O_APPEND, 0600);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "1", 1), 1);
    snprintf(target, sizeof target, "/proc/self/fd/%d", fd);
    assert_int_equal(symlink(target, in_folder("stdout")), 0);
    write_new(in_folder("stdout"), "2", 1);
    snprintf(target, sizeof target, "/dev/fd/%d", fd);
    write_new(target, "3", 1);
    expect_text(in_folder("log"), "123");
    assert_int_equal(entries(), 2);
    assert_int_equal(readlink(in_folder("stdout"), target, sizeof target) > 0,
                     1);
    close(fd);
}

static void a_pipe_that_nobody_reads_is_refused_at_once(void **state)
{
    larder_file *f;

    (void)state;
    alarm(20);
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    assert_refused(LARDER_ERR_SYSTEM, larder_file_create(in_folder("pipe"), &f),
                   "nobody reads this pipe");
    alarm(0);
}

static void a_pipe_that_is_read_is_written(void **state)
{
    char got[8] = "";
    int fd;

    (void)state;
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    fd = open(in_folder("pipe"), O_RDONLY | O_NONBLOCK);
    assert_true(fd >= 0);
    write_new(in_folder("pipe"), "text", 1);
    assert_int_equal(read(fd, got, sizeof got), 4);
    assert_string_equal(got, "text");
    close(fd);
}

static void prices_from_a_pipe_that_nobody_writes_are_refused(void **state)
{
    larder_prices prices;

    (void)state;
    alarm(20);
    larder_prices_init(&prices);
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    assert_refused(LARDER_ERR_SYSTEM,
                   larder_prices_read(in_folder("pipe"), &prices),
                   "no process writes to this pipe");
    alarm(0);
}

static void paths_that_cannot_be_written_are_refused(void **state)
{
    larder_file *f;

    (void)state;
    assert_refused(LARDER_ERR_SYSTEM,
                   larder_file_create(in_folder("no/file"), &f),
                   "No such file");
    assert_refused(LARDER_ERR_SYSTEM, larder_file_create(folder, &f),
                   "Is a directory");
}

/* A file half written when a signal arrives is removed, whatever the signal,
 * and no other file is touched. */
static void a_killed_writer_leaves_nothing(void **state)
{
    static const int signals[] = {SIGKILL, SIGTERM};

    (void)state;
    put(in_folder("a"), "old");
    for (int i = 0; i < 2; i++) {
        int up[2];
        int status;
        char word;
        pid_t pid;

        assert_int_equal(pipe(up), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            larder_file *f;

            if (larder_file_create(in_folder("a"), &f) != LARDER_OK ||
                larder_file_write(f, "half", 4) != LARDER_OK ||
                write(up[1], "y", 1) != 1)
                _exit(1);
            for (;;)
                pause();
        }
        assert_int_equal(read(up[0], &word, 1), 1);
        assert_int_equal(kill(pid, signals[i]), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        expect_text(in_folder("a"), "old");
        assert_int_equal(entries(), 1);
        close(up[0]);
        close(up[1]);
    }
}

#define TEST(name) cmocka_unit_test_teardown(name, empty_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_appears_whole_or_not_at_all),
        TEST(an_old_file_keeps_its_mode_and_its_links),
        TEST(links_in_a_ring_are_refused),
        TEST(an_old_file_keeps_its_owner_but_no_set_id_bits),
        TEST(a_link_of_somebody_elses_where_all_may_write_is_refused),
        TEST(a_descriptor_is_written_where_it_is),
        TEST(a_pipe_that_nobody_reads_is_refused_at_once),
        TEST(a_pipe_that_is_read_is_written),
        TEST(prices_from_a_pipe_that_nobody_writes_are_refused),
        TEST(paths_that_cannot_be_written_are_refused),
        TEST(a_killed_writer_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
