/* settings.c - settings from the environment.  Invalid settings are reported on
 * the standard error because nobody could receive a result, and every
 * allocation is rejected: a limit that is silently ignored is worse than
 * none. */
#include "preload_state.h"
#include "once.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct preload_settings settings;

static void wrong(const char *name, const char *value, const char *expected)
{
    settings.is_wrong = true;
    dprintf(STDERR_FILENO, "liblarder_preload: %s: '%.200s' is not %s\n", name,
            value, expected);
}

/* NULL: unset or empty. */
static const char *variable(const char *name)
{
    const char *value = secure_getenv(name);

    return value == NULL || *value == '\0' ? NULL : value;
}

/* ---- LARDER_PRELOAD ------------------------------------------------------- */

static bool word_is(const char *at, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(at, word, length) == 0;
}

static bool read_word(const char *at, size_t length)
{
    if (word_is(at, length, "cache"))
        settings.mode = PRELOAD_CACHE;
    else if (word_is(at, length, "limit"))
        settings.mode = PRELOAD_LIMIT;
    else if (word_is(at, length, "off"))
        settings.mode = PRELOAD_OFF;
    else if (word_is(at, length, "pause"))
        settings.can_pause = true;
    else if (word_is(at, length, "migrate"))
        settings.can_migrate = true;
    else if (word_is(at, length, "gate"))
        settings.is_gate = true;
    else
        return false;
    return true;
}

static void read_mode(const char *text)
{
    const char *at = text;

    settings.mode = PRELOAD_CACHE;
    while (at != NULL && *at != '\0') {
        size_t length = strcspn(at, ",");

        if (!read_word(at, length))
            wrong("LARDER_PRELOAD", text,
                  "one of cache, limit, gate, off, and pause or migrate after "
                  "a comma");
        at += length + (at[length] == ',');
    }
    if (settings.can_migrate &&
        (settings.mode != PRELOAD_CACHE || settings.can_pause))
        wrong("LARDER_PRELOAD", text,
              "cache,migrate, which cannot be combined with others");
    if (settings.is_gate && strcmp(text, "gate") != 0)
        wrong("LARDER_PRELOAD", text,
              "gate, which cannot be combined with others");
    if (settings.is_gate)
        settings.mode = PRELOAD_OFF;
}

/* ---- LARDER_CONF ---------------------------------------------------------- */

/* Copy without blanks, which have no meaning.  False: it does not fit. */
static bool drop_blanks(const char *conf, char *out, size_t room)
{
    size_t n = 0;

    for (; *conf != '\0'; conf++) {
        if (isspace((unsigned char)*conf))
            continue;
        if (n + 1 == room)
            return false;
        out[n++] = *conf;
    }
    out[n] = '\0';
    return true;
}

/* The last value of a key, without blanks.  Larder has already checked the
 * syntax. */
static bool find_value(const char *plain, const char *key, char *out,
                       size_t room)
{
    size_t length = strlen(key);
    bool found = false;

    for (const char *at = plain; at != NULL; at = strchr(at, ',')) {
        size_t value;

        at += *at == ',';
        if (strncmp(at, key, length) != 0 || at[length] != ':')
            continue;
        value = strcspn(at + length + 1, ",");
        found = value < room;
        if (found) {
            memcpy(out, at + length + 1, value);
            out[value] = '\0';
        }
    }
    return found;
}

static void read_conf(const char *conf)
{
    char plain[4096] = "";
    char value[64];

    if (conf == NULL)
        return;
    if (!drop_blanks(conf, plain, sizeof plain)) {
        wrong("LARDER_CONF", conf, "shorter than 4096 characters");
        return;
    }
    if (larder_conf_check(conf) != LARDER_OK) {
        settings.is_wrong = true;
        dprintf(STDERR_FILENO, "liblarder_preload: LARDER_CONF: %s\n",
                larder_last_error());
        return;
    }
    if (find_value(plain, "limit", value, sizeof value))
        (void)larder_parse_size(value, &settings.limit_bytes);
    if (find_value(plain, "per_process_memory_fraction", value, sizeof value))
        settings.fraction = strtod(value, NULL);
}

/* ---- LARDER_PRELOAD_SIGNAL ------------------------------------------------ */

static void read_signal(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } signals[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP}};

    if (name == NULL)
        return;
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        if (strcmp(name, signals[i].name) == 0)
            settings.signal = signals[i].number;
    }
    if (settings.signal == 0)
        wrong("LARDER_PRELOAD_SIGNAL", name, "one of USR1, USR2, HUP");
    else if (settings.snapshot == NULL)
        wrong("LARDER_PRELOAD_SIGNAL", name,
              "useful without LARDER_PRELOAD_SNAPSHOT");
}

static void read_all(void)
{
    settings.limit_bytes = PRELOAD_UNLIMITED;
    settings.fraction = 1;
    settings.stats = variable("LARDER_PRELOAD_STATS");
    settings.snapshot = variable("LARDER_PRELOAD_SNAPSHOT");
    read_mode(variable("LARDER_PRELOAD"));
    if (settings.mode != PRELOAD_OFF) {
        read_conf(variable("LARDER_CONF"));
        read_signal(variable("LARDER_PRELOAD_SIGNAL"));
        preload_report_start(settings.signal);
    }
}

const struct preload_settings *preload_settings_get(void)
{
    static struct preload_once once = PRELOAD_ONCE;

    preload_once(&once, read_all);
    return &settings;
}
