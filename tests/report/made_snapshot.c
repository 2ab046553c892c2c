/* made_snapshot.c - builds snapshots for tests from short texts. */
#include "made_snapshot.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <larder/larder.h>

#include "support/snapshot_bytes.h"

enum { FRESH_MIB = 1 << 16, FRESH_STEP = 4 };
enum { WORDS_MAX = 6, LINE_MAX_BYTES = 1024, TEXT_MAX = 1 << 20 };

struct making {
    char *events;
    char *segments;
    char *marks;
    uint64_t at; /* address of the next block of the segment */
    bool in_segment;
    int device;
    int64_t time;
    uint64_t fresh; /* addresses used for "+" */
};

static uint64_t bytes_of(const char *word)
{
    uint64_t bytes = 0;

    assert_int_equal(larder_parse_size(word, &bytes), LARDER_OK);
    return bytes;
}

static void add(char *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(char *text, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + used, TEXT_MAX - used, format, args);
    va_end(args);
}

/* "model.py:10:forward", or several separated by |.  The file's name ends
 * before a number between colons. */
static void add_frames(char *text, const char *frames)
{
    const char *at = frames;

    add(text, "\"frames\": [");
    while (at != NULL && *at != '\0') {
        const char *colon = at;
        char name[128];
        int line;

        while (sscanf(colon, ":%d:%127[^|]", &line, name) != 2) {
            colon++;
            assert_true(*colon != '\0' && *colon != '|');
        }
        add(text, "%s{\"filename\": \"%.*s\", \"line\": %d, \"name\": \"%s\"}",
            at > frames ? ", " : "", (int)(colon - at), at, line, name);
        at = strchr(at, '|');
        if (at != NULL)
            at++;
    }
    add(text, "]");
}

/* Whether the next entry is the first of a list. */
static bool begins_list(const char *text)
{
    return text[0] == '\0' || text[strlen(text) - 1] == '[';
}

/* Devices come in order. */
static void next_device(struct making *m, int number)
{
    assert_int_equal(number, m->device + 1);
    m->device = number;
    add(m->events, "], [");
}

static void close_segment(struct making *m)
{
    if (m->in_segment)
        add(m->segments, "]}");
    m->in_segment = false;
}

static void add_segment(struct making *m, char **words, int count)
{
    const char *type = count > 4 ? words[4] : "large";
    bool expandable = strcmp(type, "expandable") == 0;

    close_segment(m);
    m->at = (uint64_t)strtoull(words[1], NULL, 10) << 20;
    add(m->segments,
        "%s{\"device\": %d, \"address\": %" PRIu64 ", \"total_size\": %" PRIu64
        ", \"allocated_size\": 0, \"active_size\": 0, \"requested_size\": 0, "
        "\"stream\": %s, \"segment_type\": \"%s\", \"segment_pool_id\": [0, "
        "0], \"is_expandable\": %s, \"frames\": [], \"blocks\": [",
        begins_list(m->segments) ? "" : ", ", m->device, m->at,
        bytes_of(words[2]), count > 3 ? words[3] : "0",
        expandable ? "large" : type, expandable ? "true" : "false");
    m->in_segment = true;
}

static void add_block(struct making *m, char **words, int count)
{
    uint64_t size = bytes_of(words[1]);
    add(m->segments,
        "%s{\"address\": %" PRIu64 ", \"size\": %" PRIu64
        ", \"requested_size\": %" PRIu64 ", \"state\": \"%s\", ",
        begins_list(m->segments) ? "" : ", ", m->at, size, size, words[2]);
    add_frames(m->segments, count > 3 ? words[3] : NULL);
    add(m->segments, "}");
    m->at += size;
}

/* "+" is an address that no other line has. */
static uint64_t address_of(struct making *m, const char *word)
{
    uint64_t mib = strcmp(word, "+") == 0 ? FRESH_MIB + FRESH_STEP * m->fresh++
                                          : strtoull(word, NULL, 10);

    return mib << 20;
}

static void add_event(struct making *m, char **words, int count)
{
    bool oom = strcmp(words[0], "oom") == 0;

    m->time += 10;
    add(m->events, "%s{\"action\": \"%s\", ",
        begins_list(m->events) ? "" : ", ", words[0]);
    if (oom)
        add(m->events, "\"device_free\": %" PRIu64, bytes_of(words[1]));
    else
        add(m->events, "\"addr\": %" PRIu64, address_of(m, words[1]));
    add(m->events,
        ", \"size\": %" PRIu64 ", \"stream\": %s, \"time_us\": %" PRId64 ", ",
        bytes_of(words[2]), count > 3 ? words[3] : "0", m->time);
    add_frames(m->events, count > 4 ? words[4] : NULL);
    add(m->events, "}");
}

/* At the time of the next event. */
static void add_mark(struct making *m, char **words)
{
    add(m->marks,
        "%s{\"name\": \"%s\", \"stage\": \"%s\", \"device\": %d, "
        "\"time_us\": %" PRId64 "}",
        begins_list(m->marks) ? "" : ", ", words[1], words[2], m->device,
        m->time + 10);
}

static void add_line(struct making *m, char *line)
{
    char *words[WORDS_MAX];
    char *rest = line;
    int count = 0;

    while (count < WORDS_MAX && (words[count] = strtok_r(rest, " ", &rest)))
        count++;
    if (count == 0)
        return;
    assert_true(count >= 3);
    if (strcmp(words[0], "segment") == 0)
        add_segment(m, words, count);
    else if (strcmp(words[0], "block") == 0)
        add_block(m, words, count);
    else if (strcmp(words[0], "mark") == 0)
        add_mark(m, words);
    else
        add_event(m, words, count);
}

/* Lines up to the end, or up to an "end" line; returns the text after that. */
static char *add_lines(struct making *m, char *text)
{
    while (*text != '\0') {
        char line[LINE_MAX_BYTES];
        size_t length = strcspn(text, "\n");
        char *next = text + length + (text[length] == '\n');
        int times = 0;
        int device;

        assert_true(length < sizeof line);
        memcpy(line, text, length);
        line[length] = '\0';
        if (strcmp(line, "end") == 0)
            return next;
        if (sscanf(line, "repeat %d", &times) == 1) {
            char *body = next;

            assert_true(times > 0);
            for (int i = 0; i < times; i++)
                next = add_lines(m, body);
        } else if (sscanf(line, "device %d", &device) == 1) {
            next_device(m, device);
        } else if (line[0] != '#') {
            add_line(m, line);
        }
        text = next;
    }
    return text;
}

struct snapshot *made_snapshot(const char *lines, const char *settings)
{
    struct making m = {.events = calloc(1, TEXT_MAX),
                       .segments = calloc(1, TEXT_MAX),
                       .marks = calloc(1, TEXT_MAX),
                       .time = INT64_C(1600000000000000)};
    char *copy = strdup(lines);
    const size_t room = 4 * (size_t)TEXT_MAX;
    char *text = malloc(room);
    struct tool_error error;
    struct snapshot *s;

    assert_true(m.events != NULL && m.segments != NULL && m.marks != NULL &&
                copy != NULL && text != NULL);
    add_lines(&m, copy);
    close_segment(&m);
    snprintf(text, room,
             "{\"segments\": [%s], \"device_traces\": [[%s]], "
             "\"external_annotations\": [%s], \"allocator_settings\": {%s}}",
             m.segments, m.events, m.marks, settings != NULL ? settings : "");
    if (!snapshot_read_bytes(text, strlen(text), NULL, &s, &error))
        fail_msg("%s", error.text);
    free(text);
    free(copy);
    free(m.events);
    free(m.segments);
    free(m.marks);
    return s;
}
