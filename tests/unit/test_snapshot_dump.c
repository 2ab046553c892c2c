/* test_snapshot_dump.c - files of snapshots: they appear whole, and are written
 * when memory runs out, as often as was asked for. */
#include "snapshot_rig.h"

#include <fcntl.h>
#include <sys/stat.h>

/* ---- folders --------------------------------------------------------------- */

static int folder_count(const struct folder *f)
{
    DIR *dir = opendir(f->path);
    const struct dirent *e;
    int count = 0;

    assert_non_null(dir);
    while ((e = readdir(dir)) != NULL)
        count += e->d_name[0] != '.';
    closedir(dir);
    return count;
}

static struct bytes file_read(const char *path)
{
    struct bytes b = {0};
    char piece[4096];
    FILE *f = fopen(path, "r");
    size_t n;

    assert_non_null(f);
    while ((n = fread(piece, 1, sizeof piece, f)) > 0)
        bytes_add(&b, piece, n);
    fclose(f);
    return b;
}

/* ---- writing --------------------------------------------------------------- */

static void a_refused_write_ends_the_snapshot(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "history:9");
    struct bytes b = {.refuse_at = 1};

    (void)state;
    assert_refused(LARDER_ERR_SYSTEM,
                   larder_snapshot_write_to(rig.a, bytes_add, &b, NULL),
                   "refused");
    assert_null(b.at);
    rig_down(&rig);
}

static void the_name_says_which_format(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    struct folder f = folder_make();
    larder_snapshot_options opt;
    struct bytes b;

    (void)state;
    assert_ok(larder_snapshot_write(rig.a, folder_file(&f, "a.json"), NULL));
    b = file_read(f.file);
    assert_int_equal(b.at[0], '{');
    free(b.at);
    assert_ok(larder_snapshot_write(rig.a, folder_file(&f, "a.pickle"), NULL));
    b = file_read(f.file);
    assert_memory_equal(b.at, "\x80\x04}", 3);
    assert_int_equal(b.at[b.count - 1], '.');
    free(b.at);
    larder_snapshot_options_init(&opt);
    opt.format = LARDER_SNAPSHOT_PICKLE;
    assert_ok(larder_snapshot_write(rig.a, folder_file(&f, "a.json"), &opt));
    b = file_read(f.file);
    assert_memory_equal(b.at, "\x80\x04}", 3);
    free(b.at);
    assert_int_equal(folder_count(&f), 2);
    folder_remove(&f);
    rig_down(&rig);
}

static void a_failed_file_leaves_nothing_and_the_old_one(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    struct folder f = folder_make();

    (void)state;
    assert_refused(
        LARDER_ERR_SYSTEM,
        larder_snapshot_write(rig.a, folder_file(&f, "no/a.json"), NULL),
        "no/a.json cannot be written: No such file or directory");
    assert_int_equal(folder_count(&f), 0);
    /* The name is that of a folder: it is opened as it is, and refused. */
    assert_refused(LARDER_ERR_SYSTEM,
                   larder_snapshot_write(rig.a, f.path, NULL),
                   "Is a directory");
    folder_remove(&f);
    /* A device without space. */
    if (access("/dev/full", W_OK) == 0)
        assert_refused(LARDER_ERR_SYSTEM,
                       larder_snapshot_write(rig.a, "/dev/full", NULL),
                       "/dev/full cannot be written: No space left");
    assert_result(LARDER_ERR_INVALID, larder_snapshot_write(rig.a, NULL, NULL));
    assert_result(LARDER_ERR_INVALID,
                  larder_snapshot_write_to(rig.a, NULL, NULL, NULL));
    rig_down(&rig);
}

static void a_device_file_is_written_to_not_replaced(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    struct stat st;

    (void)state;
    assert_ok(larder_snapshot_write(rig.a, "/dev/null", NULL));
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    rig_down(&rig);
}

static void wrong_options_are_refused(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    larder_snapshot_options opt;
    struct bytes b = {0};

    (void)state;
    larder_snapshot_options_init(&opt);
    opt.format = (larder_snapshot_format)7;
    assert_refused(LARDER_ERR_INVALID,
                   larder_snapshot_write_to(rig.a, bytes_add, &b, &opt),
                   "7 is not a snapshot format");
    opt.size = 3;
    assert_refused(LARDER_ERR_INVALID,
                   larder_snapshot_write_to(rig.a, bytes_add, &b, &opt),
                   "larder_snapshot_options_init");
    rig_down(&rig);
}

/* ---- when memory runs out -------------------------------------------------- */

static void run_out(struct rig *rig)
{
    larder_addr p = 0;

    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig->a, GIB(2), 0, &p));
    assert_words("Tried to allocate 2.00 GiB");
    assert_ok(larder_check(rig->a));
}

static void a_snapshot_is_written_once_when_memory_runs_out(void **state)
{
    struct folder f = folder_make();
    char conf[256];
    struct bytes b;
    struct rig rig;

    (void)state;
    snprintf(conf, sizeof conf, "history:100,dump_on_oom:%s/oom.json", f.path);
    rig = rig_up("sim:1GiB,backing=none", conf);
    rig_alloc(&rig, 1000);
    run_out(&rig);
    b = file_read(folder_file(&f, "oom.json"));
    assert_has(&b, "{\"action\":\"oom\",\"device_free\":1071644672,"
                   "\"size\":2147483648,");
    free(b.at);
    assert_int_equal(unlink(f.file), 0);
    run_out(&rig);
    assert_int_equal(folder_count(&f), 0);
    assert_int_equal(history_info(&rig).dumps, 1);
    assert_int_equal(history_info(&rig).failed_dumps, 0);
    rig_down(&rig);
    folder_remove(&f);
}

static void a_number_in_the_name_has_it_written_each_time(void **state)
{
    struct folder f = folder_make();
    char conf[256];
    char name[64];
    struct rig rig;

    (void)state;
    snprintf(conf, sizeof conf, "dump_on_oom:%s/%%p-%%n-%%%%-%%x.pickle",
             f.path);
    rig = rig_up("sim:1GiB,backing=none", conf);
    run_out(&rig);
    run_out(&rig);
    for (int i = 1; i <= 2; i++) {
        snprintf(name, sizeof name, "%ld-%d-%%-%%x.pickle", (long)getpid(), i);
        assert_int_equal(access(folder_file(&f, name), R_OK), 0);
    }
    rig_down(&rig);
    folder_remove(&f);
}

static void a_dump_that_fails_is_counted_and_no_more(void **state)
{
    struct rig rig =
        rig_up("sim:1GiB,backing=none", "dump_on_oom:/no/such/folder/%n");

    (void)state;
    run_out(&rig);
    run_out(&rig);
    assert_int_equal(history_info(&rig).failed_dumps, 2);
    assert_int_equal(history_info(&rig).dumps, 0);
    rig_down(&rig);
}

/* ---- recursion ------------------------------------------------------------- */

static int resolve_by_running_out(void *ctx, uint64_t frame, larder_frame *out)
{
    (void)frame;
    (void)out;
    run_out(ctx);
    return 0;
}

static void running_out_while_a_dump_is_written_writes_no_other(void **state)
{
    struct folder f = folder_make();
    char conf[256];
    struct rig rig;

    (void)state;
    snprintf(conf, sizeof conf,
             "history:100,history_stacks:unwind,dump_on_oom:%s/%%n.json",
             f.path);
    rig = rig_up("sim:1GiB,backing=none", conf);
    assert_ok(larder_set_frame_resolver(rig.a, resolve_by_running_out, &rig));
    run_out(&rig);
    assert_int_equal(folder_count(&f), 1);
    assert_int_equal(history_info(&rig).dumps, 1);
    rig_down(&rig);
    folder_remove(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_write_ends_the_snapshot),
        cmocka_unit_test(the_name_says_which_format),
        cmocka_unit_test(a_failed_file_leaves_nothing_and_the_old_one),
        cmocka_unit_test(a_device_file_is_written_to_not_replaced),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(a_snapshot_is_written_once_when_memory_runs_out),
        cmocka_unit_test(a_number_in_the_name_has_it_written_each_time),
        cmocka_unit_test(a_dump_that_fails_is_counted_and_no_more),
        cmocka_unit_test(running_out_while_a_dump_is_written_writes_no_other),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
