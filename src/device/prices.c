/* prices.c - the costs of driver calls: the bundled table, tables read from
 * files, and a device's current table. */
#include "device/device_object.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/host.h"
#include "base/sized.h"

/* A table has a dozen lines; room for very long comments. */
enum { PRICE_FILE_MAX = 65536, PIPE_PATIENCE_MS = 2000 };

/* The maximum price: 11 days. */
static const uint64_t price_max = UINT64_C(1000000000000000);

static const char *const price_names[] = {
#define X(name, ns) #name,
    LARDER_PRICE_MAP(X)
#undef X
};

static const uint64_t bundled[] = {
#define X(name, ns) ns,
    LARDER_PRICE_MAP(X)
#undef X
};

/* The prices of a struct, in the order of the list. */
static void prices_to_array(const larder_prices *p, uint64_t *out)
{
#define X(name, ns) out[DEVICE_PRICE_##name] = p->name;
    LARDER_PRICE_MAP(X)
#undef X
}

static void prices_from_array(const uint64_t *in, larder_prices *p)
{
#define X(name, ns) p->name = in[DEVICE_PRICE_##name];
    LARDER_PRICE_MAP(X)
#undef X
}

void larder_prices_init_sized(larder_prices *p, size_t size)
{
    larder_prices full = {.size = size};

    if (p == NULL || size < sizeof size)
        return;
    prices_from_array(bundled, &full);
    memcpy(p, &full, size < sizeof full ? size : sizeof full);
}

larder_result larder_device_set_prices(larder_device *dev,
                                       const larder_prices *p)
{
    uint64_t ns[DEVICE_PRICE_COUNT];
    larder_prices full;
    larder_result r;

    larder_prices_init(&full);
    if ((r = larder__device_check(dev)) != LARDER_OK ||
        (r = sized_read(&full, sizeof full, p)) != LARDER_OK)
        return r;
    prices_to_array(&full, ns);
    for (int i = 0; i < DEVICE_PRICE_COUNT; i++)
        atomic_store_explicit(&dev->prices[i], ns[i], memory_order_relaxed);
    return LARDER_OK;
}

/* ---- files -------------------------------------------------------------- */

struct price_reader {
    const char *path;
    unsigned line;
    uint64_t ns[DEVICE_PRICE_COUNT];
    unsigned seen_at[DEVICE_PRICE_COUNT]; /* line; 0: not yet set */
};

static int price_find(const char *name)
{
    for (int i = 0; i < DEVICE_PRICE_COUNT; i++) {
        if (strcmp(name, price_names[i]) == 0)
            return i;
    }
    return -1;
}

static larder_result bad_name(const struct price_reader *in, const char *name)
{
    char names[256] = "";

    for (int i = 0; i < DEVICE_PRICE_COUNT; i++) {
        strcat(names, i == 0 ? "" : ", ");
        strcat(names, price_names[i]);
    }
    return larder__fail(LARDER_ERR_INVALID,
                        "%s:%u: '%s' is not the name of a price: expected one "
                        "of %s",
                        in->path, in->line, name, names);
}

static bool word_to_ns(const char *word, uint64_t *out)
{
    size_t digits = strspn(word, "0123456789");

    *out = strtoull(word, NULL, 10);
    return digits > 0 && word[digits] == '\0' && *out <= price_max;
}

/* The line is cut into its words. */
static larder_result read_line(struct price_reader *in, char *line)
{
    static const char blanks[] = " \t\r";
    char *at = line;
    const char *name, *number, *rest;
    int price;

    line[strcspn(line, "#")] = '\0';
    name = strtok_r(line, blanks, &at);
    if (name == NULL)
        return LARDER_OK;
    price = price_find(name);
    if (price < 0)
        return bad_name(in, name);
    if (in->seen_at[price] != 0)
        return larder__fail(
            LARDER_ERR_INVALID, "%s:%u: '%s' was given before, on line %u",
            in->path, in->line, price_names[price], in->seen_at[price]);
    number = strtok_r(NULL, blanks, &at);
    if (number == NULL)
        number = "";
    if (!word_to_ns(number, &in->ns[price]))
        return larder__fail(LARDER_ERR_INVALID,
                            "%s:%u: '%s' is not a price: expected a whole "
                            "number of nanoseconds, at most 10^15",
                            in->path, in->line, number);
    rest = strtok_r(NULL, blanks, &at);
    if (rest != NULL)
        return larder__fail(LARDER_ERR_INVALID,
                            "%s:%u: '%s' follows the price: expected the end "
                            "of the line",
                            in->path, in->line, rest);
    in->seen_at[price] = in->line;
    return LARDER_OK;
}

static larder_result read_lines(struct price_reader *in, char *text)
{
    larder_result r = LARDER_OK;
    char *line;

    while (r == LARDER_OK && (line = strsep(&text, "\n")) != NULL) {
        in->line++;
        r = read_line(in, line);
    }
    return r;
}

/* Open without blocking: a pipe may have no writer. */
static int open_to_read(const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct pollfd pipe = {.fd = fd, .events = POLLIN};
    struct stat st;

    if (fd < 0)
        return fd;
    if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) &&
        poll(&pipe, 1, PIPE_PATIENCE_MS) == 0) {
        close(fd);
        errno = ETIMEDOUT;
        return -1;
    }
    (void)fcntl(fd, F_SETFL, O_RDONLY);
    return fd;
}

/* Read the whole file into `text`. *length is above PRICE_FILE_MAX if the file
 * is longer. */
static larder_result read_file(const char *path, char *text, size_t *length)
{
    int fd = open_to_read(path);
    int error = errno;
    ssize_t n = 1;

    *length = 0;
    while (fd >= 0 && n > 0 && *length <= PRICE_FILE_MAX) {
        n = read(fd, text + *length, PRICE_FILE_MAX + 1 - *length);
        error = errno;
        if (n > 0)
            *length += (size_t)n;
        else if (n < 0 && error == EINTR)
            n = 1;
    }
    if (fd >= 0)
        close(fd);
    if (fd < 0 || n < 0)
        return larder__fail(LARDER_ERR_SYSTEM, "%s: cannot be read: %s", path,
                            error == ETIMEDOUT
                                ? "no process writes to this pipe"
                                : strerror(error));
    return LARDER_OK;
}

larder_result larder_prices_read(const char *path, larder_prices *out)
{
    struct price_reader in = {.path = path};
    larder_prices full = {.size = sizeof full};
    size_t size, length;
    larder_result r;
    char *text;

    if (path == NULL)
        return larder__fail_plain(LARDER_ERR_INVALID);
    if ((r = sized_get(out, &size)) != LARDER_OK)
        return r;
    text = larder__host_alloc(PRICE_FILE_MAX + 1, 1);
    if (text == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    memcpy(in.ns, bundled, sizeof bundled);
    r = read_file(path, text, &length);
    if (r == LARDER_OK && length > PRICE_FILE_MAX)
        r = larder__fail(LARDER_ERR_INVALID,
                         "%s: longer than a price table can be", path);
    if (r == LARDER_OK) {
        for (char *nul; (nul = memchr(text, '\0', length)) != NULL;)
            *nul = '?'; /* no name has one */
        r = read_lines(&in, text);
    }
    larder__host_free(text);
    if (r != LARDER_OK)
        return r;
    prices_from_array(in.ns, &full);
    return sized_write(out, &full, sizeof full);
}
