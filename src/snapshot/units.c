/* units.c - formats quantities for people. */
#include "snapshot/units.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

/* Three digits, or all those before the point. */
static int digits_after_point(double x)
{
    if (x < 9.995)
        return 2;
    return x < 99.95 ? 1 : 0;
}

/* No less than x with these digits. */
static double raised(double x, int digits)
{
    double scale = digits == 2 ? 100 : digits == 1 ? 10 : 1;
    double whole = (double)(uint64_t)(x * scale);

    return (whole < x * scale ? whole + 1 : whole) / scale;
}

static const char *write_bytes(uint64_t bytes, bool up, char out[UNITS_MAX])
{
    static const char *const names[] = {"KiB", "MiB", "GiB",
                                        "TiB", "PiB", "EiB"};
    double x = (double)bytes / 1024;
    unsigned unit = 0;

    if (bytes < 1024) {
        snprintf(out, UNITS_MAX, "%" PRIu64 " B", bytes);
        return out;
    }
    /* More would be rounded to 1024. */
    while ((up ? x > 1023 : x >= 1023.5) &&
           unit + 1 < sizeof names / sizeof names[0]) {
        x /= 1024;
        unit++;
    }
    if (up)
        x = raised(x, digits_after_point(x));
    snprintf(out, UNITS_MAX, "%.*f %s", digits_after_point(x), x, names[unit]);
    return out;
}

const char *units_bytes_in(uint64_t bytes, char out[UNITS_MAX])
{
    return write_bytes(bytes, false, out);
}

const char *units_bytes_up_in(uint64_t bytes, char out[UNITS_MAX])
{
    return write_bytes(bytes, true, out);
}

const char *units_time_in(uint64_t ns, char out[UNITS_MAX])
{
    static const char *const names[] = {"us", "ms", "s"};
    double x = (double)ns / 1000;
    unsigned unit = 0;

    if (ns < 1000) {
        snprintf(out, UNITS_MAX, "%" PRIu64 " ns", ns);
        return out;
    }
    if (ns >= UINT64_C(60) * 1000000000) {
        uint64_t s = ns / 1000000000;

        snprintf(out, UNITS_MAX, "%" PRIu64 " min %u s", s / 60,
                 (unsigned)(s % 60));
        return out;
    }
    while (x >= 999.5 && unit + 1 < sizeof names / sizeof names[0]) {
        x /= 1000;
        unit++;
    }
    snprintf(out, UNITS_MAX, "%.*f %s", digits_after_point(x), x, names[unit]);
    return out;
}

const char *units_count_in(uint64_t count, char out[UNITS_MAX])
{
    snprintf(out, UNITS_MAX, "%" PRIu64, count);
    return out;
}
