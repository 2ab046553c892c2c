/* tuning.h - all tuning parameters of the policy larder.  Private to core.
 *
 * Each is a setting, for experiments with other values (larder-conf(5));
 * docs/POLICY.md says what halving or doubling it costs. */
#ifndef LARDER_CORE_SETTINGS_TUNING_H
#define LARDER_CORE_SETTINGS_TUNING_H

/* X(name, default, least, what it is); the most is CONF_TUNING_MAX.  Blocks of
 * the large pool must be larger than a slot of the address map (map.h). */
#define LARDER_TUNING_MAP(X)                                                   \
    X(handle_ratio, 40, 1,                                                     \
      "a new handle has at most so many pages x left / held")                  \
    X(handle_part, 128, 1, "a new handle is at most this part of the device")  \
    X(handle_floor, 32, 1, "but may have 10 pages, up to this part of it")     \
    X(handle_stretch, 25, 1, "percent by which handles may grow to be fewer")  \
    X(small_kib, 512, 128, "KiB: the largest request of the small pool")       \
    X(own_looks, 4, 1, "blocks of a request's own size class looked at")       \
    X(patience, 32, 1, "requests before recorded streams are asked about")

enum {
#define X(name, value, least, text) TUNING_LEAST_##name = (least),
    LARDER_TUNING_MAP(X)
#undef X
};

enum tuning_number {
#define X(name, value, least, text) TUNING_##name,
    LARDER_TUNING_MAP(X)
#undef X
        TUNING_COUNT
};

#endif
