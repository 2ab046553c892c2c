/* driver.c - runs a fuzz target on the given files and then, with --seconds N,
 * on mutated copies of them for N seconds.
 *
 *   fuzz_X [--seconds N] [--seed S] FILE...
 *
 * Mutation is blind: it changes bits and bytes, and copies, deletes or inserts
 * stretches, also from another file.  When a run dies, its input stays in
 * fuzz-crash-PID.bin, which can be passed as a FILE. */
#include <time.h>
#include <unistd.h>

#include <fcntl.h>

#include "fuzz.h"
#include "support/random.h"

enum { INPUT_MAX = 1 << 16, FILES_MAX = 512 };

struct input {
    uint8_t *data;
    size_t size;
};

static struct input files[FILES_MAX];
static size_t file_count;
static uint64_t seed; /* never 0 during use */

static uint64_t random_below(uint64_t end)
{
    return random_next(&seed) % end;
}

/* ---- leaving the last input behind -------------------------------------- */

static char crash_name[64];
static int crash_fd = -1;

static void crash_file_make(void)
{
    snprintf(crash_name, sizeof crash_name, "fuzz-crash-%ld.bin",
             (long)getpid());
    crash_fd = open(crash_name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
}

/* Set before each run, because a sanitizer ends the process without notice. */
static void crash_file_set(const uint8_t *data, size_t size)
{
    if (crash_fd >= 0 && (pwrite(crash_fd, data, size, 0) != (ssize_t)size ||
                          ftruncate(crash_fd, (off_t)size) != 0)) {
        close(crash_fd);
        crash_fd = -1;
    }
}

static void crash_file_remove(void)
{
    if (crash_fd >= 0)
        close(crash_fd);
    unlink(crash_name);
}

/* ---- inputs -------------------------------------------------------------- */

static void run(const uint8_t *data, size_t size)
{
    /* A copy of the exact size, so that a read past the end is detected. */
    uint8_t *copy = malloc(size == 0 ? 1 : size);

    REQUIRE(copy != NULL);
    memcpy(copy, data, size);
    crash_file_set(data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static int load(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct input *in = &files[file_count];

    if (f == NULL || file_count == FILES_MAX) {
        perror(path);
        return 0;
    }
    in->data = malloc(INPUT_MAX);
    REQUIRE(in->data != NULL);
    in->size = fread(in->data, 1, INPUT_MAX, f);
    fclose(f);
    file_count++;
    return 1;
}

/* Bytes that often matter. */
static uint8_t telling_byte(void)
{
    static const uint8_t telling[] = {0,    1,   0x7F, 0x80, 0xFF, ' ',
                                      '\n', ',', ':',  '[',  ']',  '#',
                                      '0',  '9', '-',  '.',  '>',  'a'};

    return random_below(2) == 0 ? telling[random_below(sizeof telling)]
                                : (uint8_t)random_below(256);
}

/* Copy a stretch of one file into the buffer at a random place. */
static size_t put_in(uint8_t *data, size_t size)
{
    const struct input *from = &files[random_below(file_count)];
    size_t at = random_below(size + 1);
    size_t begin, length;

    if (from->size == 0)
        return size;
    begin = random_below(from->size);
    length = 1 + random_below(from->size - begin);
    if (length > INPUT_MAX - size)
        return size;
    memmove(data + at + length, data + at, size - at);
    memcpy(data + at, from->data + begin, length);
    return size + length;
}

static size_t cut_out(uint8_t *data, size_t size)
{
    size_t at, length;

    if (size == 0)
        return 0;
    at = random_below(size);
    length = 1 + random_below(size - at);
    memmove(data + at, data + at + length, size - at - length);
    return size - length;
}

static size_t mutate(uint8_t *data, size_t size)
{
    switch (random_below(6)) {
    case 0:
        return put_in(data, size);
    case 1:
        return cut_out(data, size);
    case 2:
        if (size > 0)
            data[random_below(size)] ^= (uint8_t)(1 << random_below(8));
        return size;
    case 3:
        if (size < INPUT_MAX) { /* insert one */
            size_t at = random_below(size + 1);

            memmove(data + at + 1, data + at, size - at);
            data[at] = telling_byte();
            return size + 1;
        }
        return size;
    default:
        if (size > 0)
            data[random_below(size)] = telling_byte();
        return size;
    }
}

static uint64_t fuzz_for(long seconds)
{
    static uint8_t data[INPUT_MAX];
    time_t end = time(NULL) + seconds;
    uint64_t runs = 0;

    while (time(NULL) < end) {
        for (int i = 0; i < 100; i++, runs++) {
            const struct input *from = &files[random_below(file_count)];
            size_t size = from->size;

            memcpy(data, from->data, size);
            for (uint64_t n = 1 + random_below(8); n > 0; n--)
                size = mutate(data, size);
            run(data, size);
        }
    }
    return runs;
}

int main(int argc, char **argv)
{
    long seconds = 0;
    uint64_t runs = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            seconds = strtol(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 10) | 1;
        else if (!load(argv[i]))
            return 2;
    }
    if (file_count == 0) {
        fprintf(stderr, "usage: %s [--seconds N] [--seed S] FILE...\n",
                argv[0]);
        return 2;
    }
    if (seed == 0)
        seed = (uint64_t)time(NULL) | 1;
    crash_file_make();
    for (size_t i = 0; i < file_count; i++)
        run(files[i].data, files[i].size);
    if (seconds > 0) {
        printf("seed %llu\n", (unsigned long long)seed);
        runs = fuzz_for(seconds);
    }
    printf("%zu files, %llu changed copies\n", file_count,
           (unsigned long long)runs);
    crash_file_remove();
    for (size_t i = 0; i < file_count; i++)
        free(files[i].data);
    return 0;
}
