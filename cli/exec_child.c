/* exec_child.c - runs the program of `larder exec`. */
#include "exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "complain.h"

/* Exit statuses as in a shell, for a program that cannot be started. */
enum { EXIT_NOT_STARTED = 126, EXIT_NOT_FOUND = 127, EXIT_SIGNAL = 128 };

static const int handed_on[] = {SIGINT, SIGQUIT, SIGTERM,
                                SIGHUP, SIGUSR1, SIGUSR2};
enum { HANDED_ON = sizeof handed_on / sizeof handed_on[0] };

static volatile sig_atomic_t child; /* 0: it has ended */

/* Signals from the terminal reach all processes of the group, so only others
 * are forwarded. */
static void hand_on(int number, siginfo_t *info, void *context)
{
    int error = errno;

    (void)context;
    if (child > 0 && info->si_code <= 0)
        (void)kill(child, number);
    errno = error;
}

/* Signals that this process ignores are ignored by the program too, and not
 * forwarded. */
static void heed_signals(void)
{
    struct sigaction action = {.sa_sigaction = hand_on,
                               .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigaction now;

    sigfillset(&action.sa_mask);
    for (int i = 0; i < HANDED_ON; i++) {
        if (sigaction(handed_on[i], NULL, &now) == 0 &&
            now.sa_handler != SIG_IGN)
            sigaction(handed_on[i], &action, NULL);
    }
}

/* `told` is closed when the program begins, and gets a byte if it cannot. */
static void become(char **words, const sigset_t *mask, int told)
{
    int error;

    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(words[0], words);
    error = errno;
    cli_complain("exec", "%s cannot be started: %s", words[0], strerror(error));
    (void)!write(told, "", 1);
    _exit(error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_STARTED);
}

/* Wait until the program begins.  False: it cannot. */
static bool has_begun(int told)
{
    char byte;
    ssize_t got;

    do
        got = read(told, &byte, 1);
    while (got < 0 && errno == EINTR);
    return got <= 0;
}

/* The process number is not reused before waitpid().  Signals are blocked
 * between that and clearing `child`. */
static int wait_for_child(const sigset_t *all)
{
    siginfo_t ended;
    int status = 0;

    while (waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT) != 0 &&
           errno == EINTR)
        continue;
    sigprocmask(SIG_BLOCK, all, NULL);
    (void)waitpid(child, &status, 0);
    child = 0;
    return WIFSIGNALED(status) ? EXIT_SIGNAL + WTERMSIG(status)
                               : WEXITSTATUS(status);
}

int exec_child_run(char **words, bool *began)
{
    sigset_t all;
    sigset_t before;
    int told[2];
    pid_t pid;
    int status;

    *began = false;
    if (pipe2(told, O_CLOEXEC) != 0) {
        cli_complain("exec", "cannot create a pipe: %s", strerror(errno));
        return EXIT_NOT_STARTED;
    }
    fflush(NULL);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before); /* until `child` is set */
    pid = fork();
    if (pid == 0)
        become(words, &before, told[1]);
    child = (sig_atomic_t)pid;
    heed_signals();
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(told[1]);
    if (pid < 0) {
        cli_complain("exec", "cannot start a process: %s", strerror(errno));
        close(told[0]);
        return EXIT_NOT_STARTED;
    }
    *began = has_begun(told[0]);
    close(told[0]);
    status = wait_for_child(&all);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}
