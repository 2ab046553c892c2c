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

/* Whether the value of a header is `wanted`, with blanks around it. */
static bool is_value(const char *value, const char *wanted)
{
    size_t length = strlen(wanted);

    value += strspn(value, " \t");
    if (strncasecmp(value, wanted, length) != 0)
        return false;
    value += length;
    value += strspn(value, " \t");
    return strncmp(value, "\r\n", 2) == 0;
}

/* Clients omit HTTP's default port. */
static bool is_host(const char *value, const char *name, unsigned port)
{
    char wanted[HOST_MAX];

    snprintf(wanted, sizeof wanted, "%s:%u", name, port);
    return is_value(value, wanted) ||
           (port == HTTP_PORT && is_value(value, name));
}

/* There is exactly one Host header, and it names this server. */
static int judge_host(const char *head, unsigned port)
{
    static const char name[] = "\r\nHost:";
    const char *end = strstr(head, "\r\n\r\n");
    const char *value = head;
    int hosts = 0;

    while ((value = strcasestr(value, name)) != NULL && value < end) {
        value += strlen(name);
        if (!is_host(value, "127.0.0.1", port) &&
            !is_host(value, "localhost", port))
            return TOP_FORBIDDEN;
        hosts++;
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
    size_t length = (size_t)(strstr(head, "\r\n") - head);
    const char *path = memchr(head, ' ', length);
    const char *version;
    int host;

    if (path == NULL)
        return TOP_MALFORMED;
    path++;
    version = memchr(path, ' ', (size_t)(head + length - path));
    if (version == NULL || strncmp(version, " HTTP/1.", 8) != 0)
        return TOP_MALFORMED;
    host = judge_host(head, port);
    if (host != TOP_FOUND)
        return host;
    if (strncmp(head, "GET ", 4) != 0)
        return TOP_NOT_ALLOWED;
    return judge_path(path, (size_t)(version - path), token, what);
}
