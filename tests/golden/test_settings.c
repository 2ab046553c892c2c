/* test_settings.c - each release of PyTorch reads settings as ours does under
 * its rules.
 *
 *   test_settings [FILE]
 *
 * FILE, without which that of the source tree is read, is what
 * tools/record_pytorch/settings_recording.py writes: a line `s STRING`, then for
 * releases that read it alike a line
 *
 *   = VERSION...: accepted [NAME=VALUE...] | refused | unknown | crashed
 *
 * with the values that are not the defaults.  A string with a key that the
 * release does not know is not compared, as we know all keys under every
 * release, nor one that ends its process. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "core/settings/conf.h"

enum { LINE_MAX_BYTES = 4096, LARGE_MB = 20 };

static int same;
static int count;

static void put_size(FILE *out, const char *name, uint64_t value,
                     uint64_t usual)
{
    if (value != usual)
        fprintf(out, " %s=%" PRIu64, name, value);
}

static void put_divisions(FILE *out, const struct conf *c)
{
    bool some = false;

    for (int i = 0; i < CONF_SIZE_CLASSES; i++)
        some = some || c->divisions[i] != 0;
    for (int i = 0; some && i < CONF_SIZE_CLASSES; i++)
        fprintf(out, "%s%" PRIu32,
                i > 0 ? "," : " divisions=", c->divisions[i]);
}

/* What our parser makes of the string. */
static void put_read(FILE *out, const char *string,
                     const struct pytorch_rules *rules)
{
    const uint64_t large = LARGE_MB * LARDER_MIB;
    struct conf c;

    larder__conf_init(&c);
    c.rules = rules;
    if (larder__conf_parse(&c, string) != LARDER_OK) {
        fputs("refused", out);
        return;
    }
    fputs("accepted", out);
    put_size(out, "split", c.max_split_bytes, CONF_UNLIMITED);
    if (c.gc_threshold != 0)
        fprintf(out, " gc=%.17g", c.gc_threshold);
    put_size(out, "expandable", c.expandable_segments, 0);
    put_divisions(out, &c);
    put_size(out, "slack", c.max_non_split_rounding_bytes, large);
    if (c.fraction != 1)
        fprintf(out, " fraction=%.17g", c.fraction);
    put_size(out, "large", c.large_segment_bytes, large);
    put_size(out, "throw", c.throw_on_oom, 0);
}

static void compare(const char *string, const char *version, const char *want)
{
    const struct pytorch_rules *rules = larder__pytorch_rules(version);
    char *got = NULL;
    size_t ignored;
    FILE *out = open_memstream(&got, &ignored);

    count++;
    if (out == NULL || rules == NULL) {
        printf("%s: no such release, or no host memory\n", version);
        return;
    }
    put_read(out, string, rules);
    fclose(out);
    if (strcmp(want, got) == 0)
        same++;
    else
        printf("'%s' under %s: want \"%s\", got \"%s\"\n", string, version,
               want, got);
    free(got);
}

/* A line of releases, without its "= ". */
static bool compare_group(const char *string, char *line)
{
    char *want = strstr(line, ": ");
    const char *version;

    if (want == NULL)
        return false;
    *want = '\0';
    want += 2;
    if (strcmp(want, "unknown") == 0 || strcmp(want, "crashed") == 0)
        return true;
    while ((version = strsep(&line, " ")) != NULL)
        compare(string, version, want);
    return true;
}

static bool compare_file(FILE *in)
{
    char string[LINE_MAX_BYTES] = "";
    char line[LINE_MAX_BYTES];
    bool ok = true;

    while (ok && fgets(line, sizeof line, in) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "s ", 2) == 0)
            strcpy(string, line + 2);
        else
            ok = strncmp(line, "= ", 2) == 0 && compare_group(string, line + 2);
    }
    return ok;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1]
                                : LARDER_SOURCE_DIR
                           "/tests/data/pytorch/settings.txt";
    FILE *in = fopen(path, "r");
    bool ok = in != NULL && compare_file(in);

    if (in != NULL)
        fclose(in);
    if (!ok)
        printf("%s: not a recording of settings\n", path);
    printf("%d of %d readings identical\n", same, count);
    return ok && same == count && count > 0 ? 0 : 1;
}
