/* top_screen.c - the live table, with ncurses.
 *
 * The memory that each process had in the past minute is kept here, by process
 * number and ledger, in a list that drops processes not seen for that long. */
#include "top.h"

#include <locale.h>
#include <ncurses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "option.h"
#include "terminal.h"
#include "snapshot/units.h"

enum {
    SAMPLES = 60,
    TRACKS = 512,
    BAR_WIDTH = 20,
    SPARK_WIDTH = 15,
    TEXT_MAX = 64,
    ESCAPE = 27,
    DELETE = 127
};

struct track {
    struct top_key of;
    uint64_t samples[SAMPLES]; /* oldest first */
    size_t count;
    unsigned seen; /* the last update that showed it */
};

struct screen {
    struct top_data data;
    enum top_order order;
    char filter[TEXT_MAX];
    struct top_pick pick;
    int top; /* first line of the list that is shown */
    char message[160];
    bool is_unicode;
    unsigned looks;
    size_t track_count;
    struct track tracks[TRACKS];
};

/* ---- the past minute ---------------------------------------------------- */

static struct track *track_of(struct screen *s, const struct top_device *d,
                              int64_t pid)
{
    struct track *t;

    for (size_t i = 0; i < s->track_count; i++) {
        t = &s->tracks[i];
        if (top_key_is(&t->of, d, pid))
            return t;
    }
    if (s->track_count == TRACKS)
        return NULL;
    t = &s->tracks[s->track_count++];
    memset(t, 0, sizeof *t);
    t->of = top_key_of(d, pid);
    return t;
}

static void track_add(struct screen *s, const struct top_device *d, int64_t pid,
                      uint64_t bytes)
{
    struct track *t = track_of(s, d, pid);

    if (t == NULL)
        return;
    if (t->count == SAMPLES)
        memmove(t->samples, t->samples + 1, (SAMPLES - 1) * sizeof *t->samples);
    else
        t->count++;
    t->samples[t->count - 1] = bytes;
    t->seen = s->looks;
}

static void tracks_forget(struct screen *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->track_count; i++) {
        if (s->looks - s->tracks[i].seen < SAMPLES)
            s->tracks[kept++] = s->tracks[i];
    }
    s->track_count = kept;
}

/* ---- reading the data --------------------------------------------------- */

/* Keep the selection, or report that its process is gone. */
static void arrange(struct screen *s, const char *filter)
{
    long long pid = (long long)s->pick.key.pid;

    top_data_arrange(&s->data, s->order, filter);
    if (!top_pick_find(&s->pick, &s->data))
        snprintf(s->message, sizeof s->message, "%lld is no longer shown", pid);
}

static void look(struct screen *s)
{
    top_data_free(&s->data);
    top_data_read(&s->data);
    s->looks++;
    for (size_t i = 0; i < s->data.count; i++) {
        const struct top_device *d = &s->data.devices[i];

        track_add(s, d, 0, d->used_bytes);
        for (size_t k = 0; k < d->count; k++)
            track_add(s, d, d->processes[k].p.pid, top_held(&d->processes[k]));
    }
    tracks_forget(s);
    arrange(s, s->filter);
}

/* ---- drawing ------------------------------------------------------------ */

/* The maximum of each part of the minute. */
static void draw_spark(const struct screen *s, const struct track *t,
                       uint64_t max)
{
    static const char *const fine[] = {" ", "▁", "▂", "▃", "▄",
                                       "▅", "▆", "▇", "█"};
    static const char *const plain[] = {" ", ".", ".", ":", ":",
                                        "-", "=", "+", "#"};
    enum { STEPS = 8, PER_CELL = SAMPLES / SPARK_WIDTH };

    for (size_t cell = 0; cell < SPARK_WIDTH; cell++) {
        uint64_t high = 0;

        for (size_t i = 0; t != NULL && i < PER_CELL; i++) {
            size_t at = cell * PER_CELL + i + t->count;

            if (at >= SAMPLES && t->samples[at - SAMPLES] > high)
                high = t->samples[at - SAMPLES];
        }
        if (high > max)
            high = max;
        size_t step =
            high == 0 || max == 0
                ? 0
                : 1 + (size_t)((double)high / (double)max * (STEPS - 1));

        addstr((s->is_unicode ? fine : plain)[step]);
    }
}

/* In use, then cached, as fractions of the total. */
static void draw_bar(const struct screen *s, uint64_t in_use, uint64_t cached,
                     uint64_t total)
{
    const char *const marks[] = {s->is_unicode ? "█" : "#",
                                 s->is_unicode ? "▒" : "=",
                                 s->is_unicode ? "░" : "."};
    double each = total == 0 ? 1 : (double)total / BAR_WIDTH;

    for (int i = 0; i < BAR_WIDTH; i++) {
        double from = each * i;
        int mark = 2;

        if (from < (double)in_use)
            mark = 0;
        else if (from < (double)in_use + (double)cached)
            mark = 1;
        addstr(marks[mark]);
    }
}

static void draw_bytes(uint64_t bytes, bool is_known)
{
    printw("%10s", is_known ? units_bytes(bytes) : "-");
}

static void draw_device(struct screen *s, const struct top_device *d, int row)
{
    attron(A_BOLD);
    mvprintw(row, 0, "%-20.20s ", d->d.name[0] != '\0' ? d->d.name : "GPU");
    attroff(A_BOLD);
    draw_bar(s, d->used_bytes, 0, d->d.total_bytes);
    printw(" %s of %s  ", units_bytes(d->used_bytes),
           units_bytes(d->d.total_bytes));
    draw_spark(s, track_of(s, d, 0), d->d.total_bytes);
}

static void draw_process(struct screen *s, const struct top_device *d,
                         const struct top_process *p, int row, bool selected)
{
    if (selected)
        attron(A_REVERSE);
    mvprintw(row, 0, "  %-16.16s %8lld", p->p.name, (long long)p->p.pid);
    draw_bytes(top_held(p), true);
    draw_bytes(p->p.in_use_bytes, p->has_ledger);
    draw_bytes(top_cached(p), p->has_ledger);
    draw_bytes(p->p.minimum_bytes, p->p.minimum_bytes != 0);
    draw_bytes(p->p.limit_bytes, p->p.limit_bytes != 0);
    addch(' ');
    draw_bar(s, p->has_ledger ? p->p.in_use_bytes : top_held(p), top_cached(p),
             d->d.total_bytes);
    addch(' ');
    draw_spark(s, track_of(s, d, p->p.pid), d->d.total_bytes);
    if (selected)
        attroff(A_REVERSE);
}

/* The list has one line for each device and each of its processes.  Make the
 * selected one visible, with the line above it, which may be its device's. */
static void scroll_to_pick(struct screen *s)
{
    int shown = LINES - 3;
    int line = (int)s->pick.row;

    if (s->pick.process == NULL) {
        s->top = 0;
        return;
    }
    line += (int)(s->pick.device - s->data.devices) + 1;
    if (s->top > line - 1)
        s->top = line - 1;
    if (s->top < line + 1 - shown)
        s->top = line + 1 - shown;
}

/* The row where the line is shown; 0: it is not visible. */
static int row_of(const struct screen *s, int line)
{
    int row = 1 + line - s->top;

    return row >= 1 && row < LINES - 2 ? row : 0;
}

static void draw_list(struct screen *s)
{
    int line = 0;

    scroll_to_pick(s);
    for (size_t i = 0; i < s->data.count; i++) {
        const struct top_device *d = &s->data.devices[i];
        int row = row_of(s, line++);

        if (row > 0)
            draw_device(s, d, row);
        for (size_t k = 0; k < d->count; k++) {
            const struct top_process *p = &d->processes[k];

            row = row_of(s, line++);
            if (row > 0)
                draw_process(s, d, p, row, p == s->pick.process);
        }
    }
    if (s->data.count == 0)
        mvaddstr(1, 0, "No process shares a device through Larder.");
}

/* Trimming is offered for what a process of this user caches. */
static void draw_keys(const struct screen *s)
{
    const struct top_process *p = s->pick.process;
    bool is_own = p != NULL && p->has_ledger && p->p.is_own;

    mvaddstr(LINES - 2, 0, "arrows select  s sort  / filter");
    if (is_own && top_cached(p) > 0)
        printw("  t release %s", units_bytes(top_cached(p)));
    if (is_own)
        addstr("  l limit");
    addstr("  q quit");
}

/* The last lines show the keys, and the effect of the last one pressed. */
static void draw(struct screen *s)
{
    erase();
    mvprintw(0, 0, "  %-16s %8s%10s%10s%10s%10s%10s", "process", "pid", "held",
             "in use", "cached", "minimum", "limit");
    draw_list(s);
    mvprintw(LINES - 1, 0, "by %s%s%s  %s", top_order_name(s->order),
             s->filter[0] != '\0' ? ", with " : "", s->filter, s->message);
    draw_keys(s);
    refresh();
}

/* ---- key commands ------------------------------------------------------- */

/* Read a line of text at the bottom.  False: it was cancelled. */
static bool ask(const char *question, char *out, size_t room)
{
    size_t n = 0;

    timeout(-1);
    out[0] = '\0';
    for (;;) {
        int key;

        move(LINES - 1, 0);
        clrtoeol();
        printw("%s %s", question, out);
        refresh();
        key = getch();
        if (key == '\n' || key == '\r' || key == KEY_ENTER)
            return true;
        if (key == ESCAPE)
            return false;
        if ((key == KEY_BACKSPACE || key == DELETE || key == '\b') && n > 0)
            out[--n] = '\0';
        else if (key >= ' ' && key < DELETE && n + 1 < room) {
            out[n++] = (char)key;
            out[n] = '\0';
        }
    }
}

static bool is_ours(struct screen *s)
{
    if (s->pick.process == NULL)
        snprintf(s->message, sizeof s->message, "no process is selected");
    else if (!s->pick.process->has_ledger)
        snprintf(s->message, sizeof s->message,
                 "%lld does not use Larder, or another's ledger",
                 (long long)s->pick.process->p.pid);
    else if (!s->pick.process->p.is_own)
        snprintf(s->message, sizeof s->message, "%lld belongs to another user",
                 (long long)s->pick.process->p.pid);
    else
        return true;
    return false;
}

static void show_result(struct screen *s, larder_result r, const char *done)
{
    long long pid = (long long)s->pick.process->p.pid;

    if (r == LARDER_OK)
        snprintf(s->message, sizeof s->message, "%lld %s", pid, done);
    else if (r == LARDER_ERR_INVALID)
        snprintf(s->message, sizeof s->message, "%lld has ended", pid);
    else
        snprintf(s->message, sizeof s->message, "%s", larder_last_error());
}

/* Only what is cached: what is live stays. */
static void trim(struct screen *s)
{
    const struct top_process *p = s->pick.process;

    if (!is_ours(s))
        return;
    if (top_cached(p) == 0)
        snprintf(s->message, sizeof s->message,
                 "%lld has no cached memory: all it holds is in use",
                 (long long)p->p.pid);
    else
        show_result(
            s,
            larder_ledger_trim(s->pick.device->d.id, p->p.pid, top_cached(p)),
            "releases it at its next request");
}

/* For the process that was selected at the beginning: nothing is updated until
 * the text is complete.  If the process has ended by then its ledger reports
 * it. */
static void set_limit(struct screen *s)
{
    char question[TEXT_MAX];
    char text[TEXT_MAX];
    uint64_t bytes;

    if (!is_ours(s))
        return;
    snprintf(question, sizeof question, "limit of %lld (8GiB, 0 for none):",
             (long long)s->pick.process->p.pid);
    if (!ask(question, text, sizeof text))
        return;
    if (larder_parse_size(text, &bytes) != LARDER_OK)
        snprintf(s->message, sizeof s->message,
                 "'%s' is not a size: expected one such as 8GiB", text);
    else
        show_result(s,
                    larder_ledger_limit(s->pick.device->d.id,
                                        s->pick.process->p.pid, bytes),
                    "is held to that limit from its next request on");
}

static void set_filter(struct screen *s)
{
    char text[TEXT_MAX];

    if (ask("filter:", text, sizeof text))
        memcpy(s->filter, text, sizeof s->filter);
}

/* False: quit. */
static bool obey(struct screen *s, int key)
{
    s->message[0] = '\0';
    if (key == 'q' || key == 'Q')
        return false;
    if (key == KEY_DOWN)
        top_pick_next(&s->pick, &s->data);
    else if (key == KEY_UP)
        top_pick_previous(&s->pick, &s->data);
    else if (key == 's')
        s->order = (enum top_order)((s->order + 1) % TOP_ORDERS);
    else if (key == '/')
        set_filter(s);
    else if (key == 't')
        trim(s);
    else if (key == 'l')
        set_limit(s);
    return true;
}

/* ---- the screen --------------------------------------------------------- */

static void watch(struct screen *s, uint64_t period_ms)
{
    for (;;) {
        uint64_t next_ms = clock_ms() + period_ms;
        int key = ERR;

        look(s);
        for (;;) {
            uint64_t now = clock_ms();

            draw(s);
            if (now >= next_ms)
                break;
            timeout((int)(next_ms - now));
            key = getch();
            if (key == ERR)
                break;
            if (!obey(s, key))
                return;
            arrange(s, "");
            if (key == '/') /* data that it left out must be read again */
                break;
        }
    }
}

int top_screen_run(const struct top_settings *settings)
{
    struct screen *s = calloc(1, sizeof *s);
    SCREEN *terminal;

    if (s == NULL)
        return cli_no_memory("top");
    setlocale(LC_ALL, "");
    s->is_unicode = terminal_is_utf8();
    s->order = settings->order;
    snprintf(s->filter, sizeof s->filter, "%s", settings->filter);
    /* initscr() would print a message and exit on an error. */
    terminal = newterm(NULL, stdout, stdin);
    if (terminal != NULL) {
        cbreak();
        noecho();
        keypad(stdscr, TRUE);
        curs_set(0);
        watch(s, settings->period_ms);
        endwin();
        delscreen(terminal);
    } else {
        cli_complain(
            "top",
            "unknown terminal '%s' (TERM): expected one of terminfo's, "
            "or --once",
            getenv("TERM"));
    }
    top_data_free(&s->data);
    free(s);
    return terminal != NULL ? CLI_EXIT_OK : CLI_EXIT_BAD;
}
