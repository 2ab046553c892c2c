/* top_answer.c - one request over HTTP, and the answer to it. */
#include "top.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "top_page.h"

enum {
    READ_SECONDS = 2,
    ANSWER_SECONDS = 120,
    DRAIN_SECONDS = 2,
    HEADERS_MAX = 1024
};

/* The page runs its own script, and embeds the requested content of a run: a
 * page of larder view, which specifies its own script policy, or the reason why
 * there is none. */
#define PAGE_POLICY                                                            \
    "default-src 'none'; script-src 'self'; style-src 'self'; "                \
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; "                  \
    "form-action 'none'; frame-ancestors 'none'"
#define VIEW_POLICY "frame-ancestors 'self'"

static bool send_all(int fd, const void *bytes, size_t size)
{
    const char *at = bytes;

    while (size > 0) {
        ssize_t n = send(fd, at, size, MSG_NOSIGNAL);

        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

static const char *words_of(int status)
{
    static const struct {
        int status;
        const char *words;
    } known[] = {
        {TOP_FOUND, "OK"},
        {TOP_MALFORMED, "Bad Request"},
        {TOP_FORBIDDEN, "Forbidden"},
        {TOP_NOT_ALLOWED, "Method Not Allowed"},
        {TOP_TOO_LARGE, "Request Header Fields Too Large"},
        {TOP_NOT_NOW, "Service Unavailable"},
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i].status == status)
            return known[i].words;
    }
    return "Not Found";
}

/* The token is in the address, which must be neither cached nor sent to
 * others. */
static void send_answer(int fd, int status, const char *type,
                        const char *policy, const void *body, size_t size)
{
    char headers[HEADERS_MAX];
    int n = snprintf(headers, sizeof headers,
                     "HTTP/1.1 %d %s\r\n"
                     "Content-Type: %s; charset=utf-8\r\n"
                     "Content-Length: %zu\r\n"
                     "Content-Security-Policy: %s\r\n"
                     "Cache-Control: no-store\r\n"
                     "Referrer-Policy: no-referrer\r\n"
                     "X-Content-Type-Options: nosniff\r\n"
                     "Cross-Origin-Resource-Policy: same-origin\r\n"
                     "%s"
                     "Connection: close\r\n\r\n",
                     status, words_of(status), type, size, policy,
                     status == TOP_NOT_ALLOWED ? "Allow: GET\r\n" : "");

    if (send_all(fd, headers, (size_t)n))
        send_all(fd, body, size);
}

static void send_words(int fd, int status, const char *policy,
                       const char *words)
{
    send_answer(fd, status, "text/plain", policy, words, strlen(words));
}

static void send_file(int fd, const char *type, const unsigned char *text)
{
    send_answer(fd, TOP_FOUND, type, PAGE_POLICY, text,
                strlen((const char *)text));
}

/* ---- the last minutes --------------------------------------------------- */

/* {"n":7,"ms":...,"devices":[...]} */
static char *look_text(uint64_t number, const struct top_data *data)
{
    char *devices = top_json(data);
    char *text = NULL;

    if (devices != NULL &&
        asprintf(&text, "{\"n\":%" PRIu64 ",\"ms\":%" PRIu64 ",\"devices\":%s}",
                 number, clock_ms(), devices) < 0)
        text = NULL;
    free(devices);
    return text;
}

void top_past_add(struct top_past *past, const struct top_data *data)
{
    char *text = look_text(past->count + 1, data);
    char **place = &past->looks[past->count % TOP_PAST_LOOKS];

    if (text == NULL)
        return;
    free(*place);
    *place = text;
    past->count++;
}

/* Print the samples after the first `after` ones, as elements of an array. */
static void top_past_print(const struct top_past *past, uint64_t after,
                           FILE *out)
{
    uint64_t first =
        past->count > TOP_PAST_LOOKS ? past->count - TOP_PAST_LOOKS : 0;

    if (after > first)
        first = after;
    for (uint64_t i = first; i < past->count; i++)
        fprintf(out, "%s%s", i > first ? "," : "",
                past->looks[i % TOP_PAST_LOOKS]);
}

/* ---- requested contents ------------------------------------------------- */

static void send_data(const struct top_served *s, int fd, uint64_t after)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (out == NULL)
        return;
    fprintf(out, "{\"period_ms\":%" PRIu64 ",\"looks\":[",
            s->settings->period_ms);
    top_past_print(&s->past, after, out);
    fputs("],\"recorded\":[", out);
    top_recorded_print(out);
    fputs("]}\n", out);
    if (fclose(out) == 0)
        send_answer(fd, TOP_FOUND, "application/json", PAGE_POLICY, text, size);
    free(text);
}

static void send_view(int fd, int64_t pid)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct tool_error error;
    bool ok = out != NULL && top_recorded_view(pid, out, &error);

    if (out == NULL || fclose(out) != 0)
        return;
    if (ok)
        send_answer(fd, TOP_FOUND, "text/html", VIEW_POLICY, text, size);
    else
        send_words(fd, TOP_NOT_NOW, VIEW_POLICY, error.text);
    free(text);
}

/* The number that makes up the rest of `text` after `name`.  False: it is not a
 * number. */
static bool number_after(const char *text, const char *name, uint64_t *out)
{
    size_t n = strlen(name);
    int end = -1;

    return strncmp(text, name, n) == 0 && text[n] >= '0' && text[n] <= '9' &&
           sscanf(text + n, "%18" SCNu64 "%n", out, &end) == 1 &&
           text[n + (size_t)end] == '\0';
}

static void send_what(const struct top_served *s, int fd, const char *what)
{
    uint64_t number = 0;

    if (what[0] == '\0')
        send_file(fd, "text/html", top_page_html);
    else if (strcmp(what, "page.css") == 0)
        send_file(fd, "text/css", top_page_css);
    else if (strcmp(what, "page.js") == 0)
        send_file(fd, "text/javascript", top_page_js);
    else if (number_after(what, "data?after=", &number))
        send_data(s, fd, number);
    else if (number_after(what, "recorded/", &number))
        send_view(fd, (int64_t)number);
    else
        send_words(fd, TOP_NOT_FOUND, PAGE_POLICY, "not found\n");
}

/* ---- a connection ------------------------------------------------------- */

/* Read the head of a request.  False: it is too large, or nothing arrived. */
static bool read_head(int fd, char head[TOP_HEAD_MAX + 1], bool *is_too_large)
{
    size_t size = 0;

    *is_too_large = false;
    head[0] = '\0';
    while (!top_request_is_whole(head)) {
        ssize_t n;

        *is_too_large = size == TOP_HEAD_MAX;
        if (*is_too_large)
            return false;
        n = recv(fd, head + size, TOP_HEAD_MAX - size, 0);
        if (n <= 0)
            return false;
        size += (size_t)n;
        head[size] = '\0';
        if (memchr(head, '\0', size) != NULL)
            return false;
    }
    return true;
}

/* Unread data, such as a body, would make the other end lose the answer when
 * the connection is closed. */
static void drain(int fd)
{
    char ignored[1024];

    alarm(DRAIN_SECONDS);
    shutdown(fd, SHUT_WR);
    while (recv(fd, ignored, sizeof ignored, 0) > 0)
        ;
}

void top_answer(const struct top_served *served, int fd)
{
    char head[TOP_HEAD_MAX + 1];
    char what[TOP_WHAT_MAX];
    bool is_too_large;
    int status;

    alarm(READ_SECONDS);
    if (read_head(fd, head, &is_too_large)) {
        alarm(ANSWER_SECONDS);
        status = top_request_judge(head, served->token, served->port, what);
        if (status == TOP_FOUND)
            send_what(served, fd, what);
        else
            send_words(fd, status, PAGE_POLICY, "no\n");
    } else {
        send_words(fd, is_too_large ? TOP_TOO_LARGE : TOP_MALFORMED,
                   PAGE_POLICY, "no\n");
    }
    drain(fd);
}
