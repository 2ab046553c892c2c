/* snap_sink_json.c - JSON on one line, formatted as by json.dump(). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "snapshot/snap_sink.h"

/* Whether the bytes at p are a lone surrogate, which UTF-8 may not contain:
 * written as an escape, as Python does. */
static bool is_surrogate(const unsigned char *p, size_t left)
{
    return left >= 3 && p[0] == 0xed && p[1] >= 0xa0;
}

static void json_bytes(struct snap_sink *k, const char *text, size_t length)
{
    const unsigned char *p = (const unsigned char *)text;

    putc_unlocked('"', k->out);
    for (size_t i = 0; i < length; i++) {
        if (p[i] == '"' || p[i] == '\\') {
            putc_unlocked('\\', k->out);
            putc_unlocked(p[i], k->out);
        } else if (p[i] < 0x20) {
            fprintf(k->out, "\\u%04x", p[i]);
        } else if (is_surrogate(p + i, length - i)) {
            fprintf(k->out, "\\u%04x",
                    0xd000u | (p[i + 1] & 0x3fu) << 6 | (p[i + 2] & 0x3fu));
            i += 2;
        } else {
            putc_unlocked(p[i], k->out);
        }
    }
    putc_unlocked('"', k->out);
}

static void json_word(struct snap_sink *k, enum snap_word word)
{
    json_bytes(k, snap_words[word], strlen(snap_words[word]));
}

static void json_string(struct snap_sink *k, uint32_t string)
{
    json_bytes(k, snapshot_string(k->s, string),
               snapshot_string_length(k->s, string));
}

static void json_integer(struct snap_sink *k, uint64_t bits, bool is_signed)
{
    if (is_signed)
        fprintf(k->out, "%" PRId64, (int64_t)bits);
    else
        fprintf(k->out, "%" PRIu64, bits);
}

static void json_real(struct snap_sink *k, double value)
{
    char text[64];

    if (isnan(value) || isinf(value)) {
        fputs(isnan(value) ? "NaN"
              : value < 0  ? "-Infinity"
                           : "Infinity",
              k->out);
        return;
    }
    snprintf(text, sizeof text, "%.17g", value);
    /* Keep it recognisable as a float. */
    fprintf(k->out, "%s%s", text, strpbrk(text, ".e") == NULL ? ".0" : "");
}

static void json_boolean(struct snap_sink *k, bool value)
{
    fputs(value ? "true" : "false", k->out);
}

static void json_none(struct snap_sink *k)
{
    fputs("null", k->out);
}

static void json_pool(struct snap_sink *k, uint32_t pool)
{
    fprintf(k->out, "[%" PRIu64 ", %" PRIu64 "]", k->s->pools[pool].a,
            k->s->pools[pool].b);
}

/* ---- lists and dicts ------------------------------------------------------ */

static void json_begin(struct snap_sink *k, bool is_dict)
{
    putc_unlocked(is_dict ? '{' : '[', k->out);
    k->open[k->depth].is_dict = is_dict;
    k->open[k->depth].count = 0;
    k->depth++;
}

static void json_end(struct snap_sink *k)
{
    k->depth--;
    putc_unlocked(k->open[k->depth].is_dict ? '}' : ']', k->out);
}

static void json_item(struct snap_sink *k)
{
    if (k->open[k->depth - 1].count++ > 0)
        fputs(", ", k->out);
}

static void json_key(struct snap_sink *k, enum snap_word word)
{
    json_item(k);
    json_word(k, word);
    fputs(": ", k->out);
}

static void json_key_string(struct snap_sink *k, uint32_t string)
{
    json_item(k);
    json_string(k, string);
    fputs(": ", k->out);
}

static void json_key_text(struct snap_sink *k, const char *text)
{
    json_item(k);
    json_bytes(k, text, strlen(text));
    fputs(": ", k->out);
}

/* Stacks are written before everything that refers to them. */
static bool json_again(struct snap_sink *k, bool is_stack, uint32_t number)
{
    if (is_stack)
        fprintf(k->out, "%" PRIu32, k->stacks[number] - 1);
    return is_stack;
}

static void json_remember(struct snap_sink *k, bool is_stack, uint32_t number)
{
    (void)k;
    (void)is_stack;
    (void)number;
}

const struct snap_form snap_form_json = {
    .begin = json_begin,
    .end = json_end,
    .item = json_item,
    .key = json_key,
    .key_string = json_key_string,
    .none = json_none,
    .word = json_word,
    .text = json_key_text,
    .string = json_string,
    .integer = json_integer,
    .real = json_real,
    .boolean = json_boolean,
    .pool = json_pool,
    .again = json_again,
    .remember = json_remember,
};
