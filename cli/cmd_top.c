/* cmd_top.c - `larder top`. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "terminal.h"
#include "top_data.h"
#include "top_screen.h"
#include "top_serve.h"
#include "top_text.h"

enum row { ROW_ONCE, ROW_JSON, ROW_SORT, ROW_FILTER, ROW_PERIOD, ROW_SERVE };

enum {
    PERIOD_MS = 1000,
    PERIOD_MIN_MS = 100,
    PERIOD_MAX_MS = 60000,
    PORT_MAX = 65535
};

static const struct cli_option top_table[] = {
    [ROW_ONCE] = {"once", NULL,
                  "print the table once (the default without a\nterminal)"},
    [ROW_JSON] = {"json", NULL,
                  "print it once, as JSON: one line for each device"},
    [ROW_SORT] = {"sort", "held|in-use|cached|pid|name",
                  "the order of the processes (held)"},
    [ROW_FILTER] = {"filter", "WORDS",
                    "show only processes with these in their name\nor number"},
    [ROW_PERIOD] = {"period", "MS", "milliseconds between updates (1000)"},
    [ROW_SERVE] = {"serve", "[=PORT]",
                   "as a page, for browsers on this machine; its\n"
                   "address is printed"},
    {NULL, NULL, NULL},
};

struct top_settings {
    bool is_once;
    bool is_json;
    enum top_order order;
    const char *filter;
    uint64_t period_ms;
    bool is_served;
    uint64_t port;
};

static bool take_order(struct top_settings *s, const struct cli_args *a)
{
    for (size_t i = 0; top_order_name(i) != NULL; i++) {
        if (strcmp(a->value, top_order_name(i)) == 0) {
            s->order = (enum top_order)i;
            return true;
        }
    }
    cli_bad_usage(a->command,
                  "--sort '%s' is not accepted: expected held, in-use, cached, "
                  "pid or name",
                  a->value);
    return false;
}

static bool take(void *ctx, const struct cli_args *a, int got)
{
    struct top_settings *s = ctx;

    switch (got) {
    case ROW_ONCE:
        s->is_once = true;
        return true;
    case ROW_JSON:
        s->is_json = true;
        return true;
    case ROW_SORT:
        return take_order(s, a);
    case ROW_FILTER:
        s->filter = a->value;
        return true;
    case ROW_PERIOD:
        return cli_number(a, ROW_PERIOD, PERIOD_MIN_MS, PERIOD_MAX_MS,
                          &s->period_ms);
    case ROW_SERVE:
        s->is_served = true;
        return a->value == NULL ||
               cli_number(a, ROW_SERVE, 1, PORT_MAX, &s->port);
    default:
        cli_bad_usage(a->command, "unexpected '%s'", a->value);
        return false;
    }
}

static int print_once(const struct top_settings *s)
{
    struct top_data data;
    bool ok;

    top_data_read(&data);
    top_data_arrange(&data, s->order, s->filter);
    ok = s->is_json ? top_print_json(&data) : top_print_table(&data);
    top_data_free(&data);
    if (!ok)
        fputs("larder top: out of host memory: something is missing\n", stderr);
    return ok ? CLI_EXIT_OK : CLI_EXIT_BAD;
}

static int run_top(const struct cli_command *self, int argc, char **argv)
{
    struct top_settings s = {.filter = "", .period_ms = PERIOD_MS};
    int status = cli_read(self, argc, argv, take, &s);

    if (status >= 0)
        return status;
    if (s.is_served && (s.is_once || s.is_json))
        return cli_bad_usage(self, "--serve with --%s: expected one of them",
                             s.is_once ? "once" : "json");
    if (s.is_served)
        return top_serve_run((unsigned)s.port, (unsigned)s.period_ms, s.order,
                             s.filter);
    if (s.is_once || s.is_json || !terminal_is_smart(stdout) ||
        !isatty(STDIN_FILENO))
        return print_once(&s);
    return top_screen_run(s.order, s.filter, (unsigned)s.period_ms);
}

const struct cli_command cli_command_top = {
    .name = "top",
    .summary = "Watch the processes that share a device, and their memory.",
    .operands = "",
    .text = "Keys: arrows select a process, s sorts, / filters, t asks the "
            "process to release what\n"
            "it caches, l sets its limit, q quits.\n",
    .options = top_table,
    .run = run_top,
};
