/* top_request.c - reading and judging the head of an HTTP request. */
#include "top.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { HOST_MAX = 32, HTTP_PORT = 80 };

bool top_request_is_whole(const char *head)
{
    return strstr(head, "\r\n\r\n") != NULL;
}

/* The length of the line, and where the next one begins. */
static size_t line_length(const char *line, const char **next)
{
    const char *end = strstr(line, "\r\n");

    *next = end + 2;
    return (size_t)(end - line);
}

/* The value of a header line of that name; NULL: it has another. */
static const char *value_of(const char *line, size_t length, const char *name,
                            size_t *value_length)
{
    size_t n = strlen(name);
    const char *value = line + n + 1;

    if (length <= n || strncasecmp(line, name, n) != 0 || line[n] != ':')
        return NULL;
    while (value < line + length && (*value == ' ' || *value == '\t'))
        value++;
    length = (size_t)(line + length - value);
    while (length > 0 &&
           (value[length - 1] == ' ' || value[length - 1] == '\t'))
        length--;
    *value_length = length;
    return value;
}

static bool is_same(const char *value, size_t length, const char *wanted)
{
    return length == strlen(wanted) && strncasecmp(value, wanted, length) == 0;
}

/* Clients omit HTTP's default port. */
static bool is_host(const char *value, size_t length, const char *name,
                    unsigned port)
{
    char wanted[HOST_MAX];

    snprintf(wanted, sizeof wanted, "%s:%u", name, port);
    return is_same(value, length, wanted) ||
           (port == HTTP_PORT && is_same(value, length, name));
}

/* There is exactly one Host header, and it names this server. */
static int judge_host(const char *line, unsigned port)
{
    int hosts = 0;

    while (strncmp(line, "\r\n", 2) != 0) {
        const char *next;
        size_t length = line_length(line, &next);
        size_t value_length = 0;
        const char *value = value_of(line, length, "Host", &value_length);

        if (value != NULL && !is_host(value, value_length, "127.0.0.1", port) &&
            !is_host(value, value_length, "localhost", port))
            return TOP_FORBIDDEN;
        hosts += value != NULL;
        line = next;
    }
    return hosts == 1 ? TOP_FOUND : TOP_MALFORMED;
}

/* Takes the same time for any token, so that the token cannot be guessed digit
 * by digit. */
static bool is_token(const char *text, const char *token)
{
    unsigned char differs = 0;

    for (size_t i = 0; i < TOP_TOKEN_BYTES - 1; i++)
        differs |= (unsigned char)(text[i] ^ token[i]);
    return differs == 0;
}

/* "/TOKEN/WHAT" */
static int judge_path(const char *path, size_t length, const char *token,
                      char what[TOP_WHAT_MAX])
{
    const size_t before = 1 + (TOP_TOKEN_BYTES - 1) + 1;

    if (length < before || path[0] != '/' || path[before - 1] != '/' ||
        !is_token(path + 1, token) || length - before >= TOP_WHAT_MAX)
        return TOP_NOT_FOUND;
    memcpy(what, path + before, length - before);
    what[length - before] = '\0';
    return TOP_FOUND;
}

int top_request_judge(const char *head, const char *token, unsigned port,
                      char what[TOP_WHAT_MAX])
{
    const char *headers;
    size_t length = line_length(head, &headers);
    const char *path = memchr(head, ' ', length);
    const char *version;
    int host;

    if (path == NULL)
        return TOP_MALFORMED;
    path++;
    version = memchr(path, ' ', (size_t)(head + length - path));
    if (version == NULL || strncmp(version, " HTTP/1.", 8) != 0)
        return TOP_MALFORMED;
    host = judge_host(headers, port);
    if (host != TOP_FOUND)
        return host;
    if (strncmp(head, "GET ", 4) != 0)
        return TOP_NOT_ALLOWED;
    return judge_path(path, (size_t)(version - path), token, what);
}
