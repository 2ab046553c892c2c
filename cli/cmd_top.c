/* cmd_top.c - `larder top`. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "terminal.h"
#include "top.h"

enum {
    PERIOD_MS = 1000,
    PERIOD_MIN_MS = 100,
    PERIOD_MAX_MS = 60000,
    PORT_MAX = 65535
};

static bool take_order(struct cli_args *a, void *out)
{
    for (size_t i = 0; top_order_name(i) != NULL; i++) {
        if (strcmp(a->value, top_order_name(i)) == 0) {
            *(enum top_order *)out = (enum top_order)i;
            return true;
        }
    }
    return cli_refuse(a,
                      "--sort '%s' is not accepted: expected held, in-use, "
                      "cached, pid or name",
                      a->value);
}

static bool take_serve(struct cli_args *a, void *out)
{
    struct top_settings *s = out;

    s->is_served = true;
    return a->value == NULL || cli_take_number(a, &s->port);
}

static const struct cli_option top_table[] = {
    {"once", NULL, "print the table once (the default without a\nterminal)",
     CLI_INTO(struct top_settings, is_once)},
    {"json", NULL, "print it once, as JSON: one line for each device",
     CLI_INTO(struct top_settings, is_json)},
    {"sort", "held|in-use|cached|pid|name", "the order of the processes (held)",
     CLI_TAKE(take_order, struct top_settings, order)},
    {"filter", "WORDS",
     "show only processes with these in their name\nor number",
     CLI_INTO(struct top_settings, filter)},
    {"period", "MS", "milliseconds between updates (1000)",
     CLI_NUMBER(struct top_settings, period_ms, PERIOD_MIN_MS, PERIOD_MAX_MS)},
    {"serve", "[=PORT]",
     "serve it as a page, for browsers on this\n"
     "machine; its address is printed",
     .take = take_serve, .low = 1, .high = PORT_MAX},
    {.name = NULL},
};

static int print_once(const struct top_settings *s)
{
    struct top_data data;
    bool ok;

    top_data_read(&data);
    top_data_arrange(&data, s->order, s->filter);
    ok = s->is_json ? top_print_json(&data) : top_print_table(&data);
    top_data_free(&data);
    return ok ? CLI_EXIT_OK
              : cli_fail("top",
                         "out of host memory: the display is incomplete");
}

static bool check(const struct cli_command *self, void *settings)
{
    const struct top_settings *s = settings;

    if (s->is_served && (s->is_once || s->is_json))
        return cli_wrong(self, "--serve with --%s: expected one of them",
                         s->is_once ? "once" : "json");
    return true;
}

static int run_top(const struct cli_args *a)
{
    const struct top_settings *s = a->command->settings;

    if (s->is_served)
        return top_serve_run(s);
    if (s->is_once || s->is_json || !terminal_is_smart(stdout) ||
        !isatty(STDIN_FILENO))
        return print_once(s);
    return top_screen_run(s);
}

const struct cli_command cli_command_top = {
    .name = "top",
    .summary = "Watch the processes that share a device, and their memory.",
    .operands = "",
    .text = "Keys: arrows select a process, s sorts, / filters, t asks the "
            "process to release what\n"
            "it caches, l sets its limit, q quits.\n",
    .options = top_table,
    .settings = &(struct top_settings){.filter = "", .period_ms = PERIOD_MS},
    .check = check,
    .run = run_top,
};
