/* test_tune_output.c - `larder tune` and `larder fit` without host memory for
 * one request: all of the output, or a failure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/libc_faults.h"

#include <sys/wait.h>

#include "commands.h"

enum { LAST = 120, OUTPUT_MAX = 1 << 16 };

static const char subject[] = "tests/data/snapshots/v2.10.pickle";

/* Runs it in a child, whose nth request from `from` on fails; 0: none. */
static int run(const struct cli_command *command, unsigned long nth,
               unsigned long *calls, char out[OUTPUT_MAX])
{
    char *words[] = {
        "--jobs", "1", "--no-progress", (char *)subject, "--capacity",
        "64MiB",  NULL};
    char path[] = "/tmp/larder-tune-XXXXXX";
    int file = mkstemp(path);
    int told[2];
    int status;
    size_t length;
    pid_t pid;
    FILE *read_back;

    assert_true(file >= 0);
    assert_int_equal(pipe(told), 0);
    pid = fork();
    if (pid == 0) {
        int result;

        dup2(file, STDOUT_FILENO);
        (void)!freopen("/dev/null", "w", stderr);
        libc_fail(nth, false);
        result = cli_run(command, 6, words);
        (void)!write(told[1], &libc_faults.calls, sizeof *calls);
        fflush(stdout);
        _exit(result);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(read(told[0], calls, sizeof *calls), sizeof *calls);
    close(told[0]);
    close(told[1]);
    read_back = fdopen(file, "r");
    rewind(read_back);
    length = fread(out, 1, OUTPUT_MAX - 1, read_back);
    out[length] = '\0';
    fclose(read_back);
    unlink(path);
    return WEXITSTATUS(status);
}

/* The last requests are those of the output. */
static void assert_whole_or_failed(const struct cli_command *command)
{
    static char whole[OUTPUT_MAX];
    static char part[OUTPUT_MAX];
    unsigned long calls;
    unsigned long ignored;
    int fine = run(command, 0, &calls, whole);

    assert_true(fine == CLI_EXIT_OK || fine == CLI_EXIT_NO);
    assert_non_null(strstr(whole, "Largest holders"));
    for (unsigned long n = calls > LAST ? calls - LAST : 1; n <= calls; n++) {
        if (run(command, n, &ignored, part) == fine && strcmp(whole, part) != 0)
            fail_msg("request %lu of %lu: %s", n, calls, part);
    }
}

static void tune_prints_all_or_fails(void **state)
{
    (void)state;
    if (LIBC_FAULTS)
        assert_whole_or_failed(&cli_command_tune);
}

static void fit_prints_all_or_fails(void **state)
{
    (void)state;
    if (LIBC_FAULTS)
        assert_whole_or_failed(&cli_command_fit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tune_prints_all_or_fails),
        cmocka_unit_test(fit_prints_all_or_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
