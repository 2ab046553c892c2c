/* peers_rig.h - processes that share a device: this one, and others that
 * execute commands.  Header only, for cmocka programs. */
#pragma once

#include "support/rig.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "device/device.h"
#include "ledger/ledger_name.h"
#include "support/unique_name.h"

static char name[UNIQUE_NAME_MAX]; /* of this run's device */

static inline void peers_begin(void)
{
    unsetenv("LARDER_CONF");
    snprintf(name, sizeof name, "%s", unique_name("peers"));
}

static inline const char *spec_of(const char *size)
{
    static char spec[128];

    snprintf(spec, sizeof spec, "sim:%s,shared=%s", size, name);
    return spec;
}

static inline struct rig rig_on(const char *size, larder_policy policy,
                                const char *conf)
{
    return rig_up_pages(spec_of(size), policy, conf);
}

static inline void rig_end(struct rig *rig)
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

static inline char other_step(struct rig *rig, char letter)
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

static inline void other_main(const char *size, const char *conf, int hear,
                              int say)
{
    struct rig rig = {0};
    larder_options opt;
    char word = 'y';
    struct rig_conf pages = rig_conf_pages(conf);

    larder_options_init(&opt);
    opt.conf = pages.words;
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

static inline char other_hear(struct other *o)
{
    char word = 0;

    assert_int_equal(read(o->hear, &word, 1), 1);
    return word;
}

static inline struct other other_start(const char *size, const char *conf)
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

static inline void other_tell(struct other *o, char letter)
{
    assert_int_equal(write(o->tell, &letter, 1), 1);
}

/* Whether it has answered. */
static inline bool is_heard(const struct other *o)
{
    struct pollfd p = {.fd = o->hear, .events = POLLIN};

    return poll(&p, 1, 0) == 1;
}

static inline char other_do(struct other *o, const char *letters)
{
    char word = 'y';

    for (; *letters != '\0' && word == 'y'; letters++) {
        other_tell(o, *letters);
        word = other_hear(o);
    }
    return word;
}

static inline void other_leave(struct other *o)
{
    int status;

    other_tell(o, 'c');
    assert_int_equal(waitpid(o->pid, &status, 0), o->pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(o->tell);
    close(o->hear);
}

static inline void other_kill(struct other *o)
{
    assert_int_equal(kill(o->pid, SIGKILL), 0);
    assert_int_equal(waitpid(o->pid, NULL, 0), o->pid);
    close(o->tell);
    close(o->hear);
}

/* ---- the ledger -------------------------------------------------------------- */

/* The name of the ledger of this run's device. */
static inline void ledger_path(char out[SHARED_NAME_MAX + 1],
                               const gid_t *group)
{
    struct ledger_spec spec = {.is_of_group = group != NULL,
                               .group = group != NULL ? *group : getegid()};
    larder_device_props props = {.size = sizeof props};
    larder_device *dev;

    assert_ok(larder_device_open(spec_of("64MiB"), 0, &dev));
    assert_ok(larder_device_get_props(dev, &props));
    memcpy(spec.uuid, props.uuid, sizeof spec.uuid);
    larder__ledger_name(&spec, out);
    assert_ok(larder_device_close(dev));
}
