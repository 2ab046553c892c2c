/* tuning.h - all tuning parameters of the policy larder.  Private to core.
 *
 * Each is a setting, for experiments with other values (larder-conf(5));
 * docs/POLICY.md says what halving or doubling it costs. */
#ifndef LARDER_CORE_SETTINGS_TUNING_H
#define LARDER_CORE_SETTINGS_TUNING_H

/* X(name, default, what it is) */
#define LARDER_TUNING_MAP(X)                                                   \
    X(handle_ratio, 40, "pages of a new handle, times what is left over held") \
    X(handle_part, 128, "of all memory: a new handle, at most")                \
    X(handle_floor, 32, "of all memory: may have 10 pages all the same")       \
    X(handle_stretch, 25, "percent a new handle may be larger, to need fewer") \
    X(small_kib, 512, "KiB: the largest request of the small pool")            \
    X(own_looks, 4, "blocks of a request's own size class looked at")          \
    X(patience, 32, "requests before recorded streams are asked about")

enum tuning_number {
#define X(name, value, text) TUNING_##name,
    LARDER_TUNING_MAP(X)
#undef X
        TUNING_COUNT
};

#endif
