/* test_findings_state.c - what stands out at the peak of a run: memory that is
 * unused, lost to rounding, in temporaries, or of another stream; at the limit of
 * each rule and just beyond it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "findings_rig.h"
#include "support/guarded.h"

/* ---- unused memory --------------------------------------------------------- */

#define UNUSED "reserved but not in use at the peak"

static void unused_memory_is_found(void **state)
{
    (void)state;
    is_told("segment_alloc 0 20MiB\nalloc 0 10MiB\n", "10.0 MiB " UNUSED, "");
    is_not_told("segment_alloc 0 20MiB\nalloc 0 20MiB\n",
                "reserved but not in use");
}

static void unused_memory_is_reported_from_a_twentieth_on(void **state)
{
    (void)state;
    is_told("segment_alloc 0 20MiB\nalloc 0 19MiB\n", "1.00 MiB " UNUSED,
            "Of 20.0 MiB held from the driver, 5 % was unused at the peak, in "
            "1 block.\n");
    is_not_told("segment_alloc 0 20MiB\nalloc 0 19923456\n", UNUSED);
}

/* Nor is more in use than reserved, if the recording lacks segments. */
static void what_waits_for_a_stream_is_not_unused(void **state)
{
    (void)state;
    is_told("segment_alloc 0 20MiB\nalloc 0 4MiB\nfree_requested 0 4MiB\n"
            "alloc 4 10MiB\n",
            "6.00 MiB " UNUSED, "in 1 block.");
    is_not_told("segment_alloc 0 20MiB\nalloc 0 4MiB\nfree_requested 0 4MiB\n"
                "alloc 4 18MiB\n",
                UNUSED);
    is_not_told("segment_alloc 0 16\nalloc 0 16\n", UNUSED);
}

static void entirely_free_segments_are_counted_apart(void **state)
{
    static const char two[] = "segment_alloc 0 30MiB\nsegment_alloc 50 30MiB\n";
    char run[256];
    const char *told;

    (void)state;
    snprintf(run, sizeof run, "%salloc 0 18MiB\n", two);
    is_told(run, "42.0 MiB " UNUSED,
            "in 2 blocks.\n30.0 MiB of it is in entirely free segments");
    is_told(run, UNUSED,
            "memory runs out.\n12.0 MiB is in segments that are "
            "partly in use; `larder tune` replays the settings");
    told = finding(run, "\"expandable_segments\": true", UNUSED);
    assert_non_null(strstr(told, "entirely free"));
    assert_null(strstr(told, "partly in use"));
    /* Segments that grow would need pages of 40 MiB for it. */
    snprintf(run, sizeof run, "%salloc 0 22MiB\n", two);
    told = finding(run, NULL, UNUSED);
    assert_null(strstr(told, "partly in use"));
    /* Less than a twentieth of all is not worth a setting. */
    snprintf(run, sizeof run, "segment_alloc 0 42MiB\n%salloc 0 40MiB\n",
             "segment_alloc 50 22MiB\n");
    told = finding(run, NULL, UNUSED);
    assert_non_null(strstr(told, "entirely free"));
    assert_null(strstr(told, "partly in use"));
    snprintf(run, sizeof run, "%salloc 0 10MiB\nalloc 50 10MiB\n", two);
    told = finding(run, NULL, UNUSED);
    assert_null(strstr(told, "entirely free"));
    assert_non_null(strstr(told, "\n40.0 MiB is in segments that are partly"));
}

/* Two pages that grew together are one segment, which is partly in use. */
static void pages_that_are_joined_count_once(void **state)
{
    (void)state;
    assert_null(strstr(finding("segment_map 0 2MiB\nsegment_map 2 2MiB\n"
                               "alloc 0 3MiB\n",
                               NULL, UNUSED),
                       "entirely free"));
    is_not_told("segment_alloc 0 20MiB\nalloc 0 20MiB\n"
                "segment_map 200 2MiB 5\nsegment_map 202 2MiB 5\n"
                "alloc 200 3MiB 5\n",
                "stranded");
}

/* Memory in use in segments that are not shown makes up for some. */
static void no_more_is_entirely_free_than_is_unused(void **state)
{
    static const char run[] = "segment_alloc 0 20MiB\nalloc 100 5MiB\n";

    (void)state;
    is_told(run, "15.0 MiB " UNUSED, "\n15.0 MiB of it is in entirely free");
    assert_null(strstr(finding(run, NULL, UNUSED), "partly in use"));
}

/* ---- rounding -------------------------------------------------------------- */

#define ROUNDING "lost to rounding at the peak"

static void rounding_is_reported_from_a_twentieth_on(void **state)
{
    static const char eighteen[] = "repeat 18\nalloc + 512\nend\n";
    char run[128];

    (void)state;
    snprintf(run, sizeof run, "%salloc + 256\nalloc + 256\n", eighteen);
    is_told(run, "512 B " ROUNDING,
            "20 allocations were in use, on average 486 B each.");
    is_told("alloc 0 256\n", "256 B " ROUNDING,
            "1 allocation was in use, on average 256 B each.");
    snprintf(run, sizeof run, "%salloc + 256\nalloc + 257\n", eighteen);
    is_not_told(run, ROUNDING);
}

/* ---- temporaries ----------------------------------------------------------- */

#define TEMPORARIES "Temporaries take"

static void temporaries_are_reported_from_a_twentieth_on(void **state)
{
    (void)state;
    is_told("alloc 0 19MiB 0 m.py:1:__init__\nalloc 50 1MiB 0 /home/a.py:2:f\n"
            "free_requested 50 1MiB\n",
            TEMPORARIES " 1.00 MiB of the peak",
            "The largest is 1.00 MiB from a.py:2 f, freed after 1 event.  "
            "Doing");
    is_not_told("alloc 0 19923456 0 m.py:1:__init__\nalloc 50 1MiB 0 a.py:2:f\n"
                "free_requested 50 1MiB\n",
                TEMPORARIES);
}

/* The largest of those in use: what waits for a stream is no longer one. */
static void the_largest_temporary_in_use_is_named(void **state)
{
    (void)state;
    is_told("alloc 0 9MiB 0 m.py:1:__init__\n"
            "alloc 20 3MiB 0 w.py:9:gone\nfree_requested 20 3MiB\n"
            "alloc 50 1MiB 0 a.py:2:f\nalloc 60 2MiB 0 b.py:3:g\n"
            "alloc 70 2MiB 0 c.py:4:h\nfree_requested 60 2MiB\n"
            "free_requested 50 1MiB\nfree_requested 70 2MiB\n",
            TEMPORARIES " 5.00 MiB",
            "The largest is 2.00 MiB from b.py:3 g, freed after 2 events.");
}

/* Also if it comes first, and told to the byte. */
static void temporaries_are_counted_to_the_byte(void **state)
{
    (void)state;
    is_told("alloc 0 512 0 a.py:2:f\nalloc 4 4608 0 m.py:1:__init__\n"
            "free_requested 0 512\n",
            TEMPORARIES " 512 B of the peak", "freed after 2 events");
}

/* ---- streams --------------------------------------------------------------- */

#define STRANDED "stranded on stream 5"

static void a_stranded_stream_is_found(void **state)
{
    (void)state;
    is_told("segment_alloc 0 20MiB 0\nalloc 0 20MiB 0\n"
            "segment_alloc 20 20MiB 5\nalloc 20 2MiB 5\n"
            "free_requested 20 2MiB 5\nfree_completed 20 2MiB 5\n"
            "segment_alloc 40 20MiB 0\nalloc 40 20MiB 0\n",
            "20.0 MiB " STRANDED, "");
}

static void half_of_a_streams_memory_is_stranded(void **state)
{
    static const char two[] = "segment_alloc 0 180MiB 0\nalloc 0 180MiB 0\n"
                              "segment_alloc 200 20MiB 5\n";
    char run[256];

    (void)state;
    snprintf(run, sizeof run, "%salloc 200 10MiB 5\n", two);
    is_told(run, "10.0 MiB " STRANDED,
            "20.0 MiB is reserved for that stream, and most of it was free");
    snprintf(run, sizeof run, "%salloc 200 10486272 5\n", two);
    is_not_told(run, STRANDED);
}

/* The first stream that was seen, with the lowest address; what waits for
 * another stream is not free. */
static void the_first_stream_can_have_stranded_memory(void **state)
{
    static const char two[] = "segment_alloc 0 20MiB 5\nalloc 0 4MiB 5\n"
                              "free_requested 0 4MiB 5\nalloc 4 4MiB 5\n"
                              "segment_alloc 100 20MiB 0\n";
    char run[256];

    (void)state;
    snprintf(run, sizeof run, "%salloc 100 20MiB 0\n", two);
    is_told(run, "12.0 MiB " STRANDED, "");
    snprintf(run, sizeof run, "%salloc 8 3MiB 5\nalloc 100 20MiB 0\n", two);
    is_not_told(run, STRANDED);
}

/* Half of its own memory, but less than a twentieth of all. */
static void less_than_a_twentieth_stranded_is_not_reported(void **state)
{
    (void)state;
    is_not_told("segment_alloc 0 182MiB 0\nalloc 0 182MiB 0\n"
                "segment_alloc 200 20MiB 5\nalloc 200 10MiB 5\n",
                STRANDED);
}

static void nothing_is_stranded_on_a_single_stream(void **state)
{
    (void)state;
    is_not_told("segment_alloc 0 20MiB 5\nalloc 0 2MiB 5\n", "stranded");
}

/* Nor what waits for another stream. */
static void what_is_used_or_waits_is_not_stranded(void **state)
{
    (void)state;
    is_not_told("segment_alloc 0 20MiB 0\nalloc 0 20MiB 0\n"
                "segment_alloc 40 20MiB 5\nalloc 40 11MiB 5\n"
                "free_requested 40 11MiB 5\nsegment_alloc 60 20MiB 0\n"
                "alloc 60 20MiB 0\n",
                STRANDED);
}

static void waiting_memory_is_reported_from_a_twentieth_on(void **state)
{
    (void)state;
    is_told("segment_alloc 0 20MiB\nalloc 0 1MiB\nfree_requested 0 1MiB\n"
            "alloc 1 19MiB\n",
            "1.00 MiB freed but waiting at the peak", "record_stream");
    is_not_told("segment_alloc 0 20MiB\nalloc 0 1048064\n"
                "free_requested 0 1048064\nalloc 1 19MiB\n",
                "freed but waiting");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unused_memory_is_found),
        cmocka_unit_test(unused_memory_is_reported_from_a_twentieth_on),
        cmocka_unit_test(what_waits_for_a_stream_is_not_unused),
        cmocka_unit_test(entirely_free_segments_are_counted_apart),
        cmocka_unit_test(pages_that_are_joined_count_once),
        cmocka_unit_test(no_more_is_entirely_free_than_is_unused),
        cmocka_unit_test(rounding_is_reported_from_a_twentieth_on),
        cmocka_unit_test(temporaries_are_reported_from_a_twentieth_on),
        cmocka_unit_test(the_largest_temporary_in_use_is_named),
        cmocka_unit_test(temporaries_are_counted_to_the_byte),
        cmocka_unit_test(a_stranded_stream_is_found),
        cmocka_unit_test(half_of_a_streams_memory_is_stranded),
        cmocka_unit_test(the_first_stream_can_have_stranded_memory),
        cmocka_unit_test(less_than_a_twentieth_stranded_is_not_reported),
        cmocka_unit_test(nothing_is_stranded_on_a_single_stream),
        cmocka_unit_test(what_is_used_or_waits_is_not_stranded),
        cmocka_unit_test(waiting_memory_is_reported_from_a_twentieth_on),
    };

    return run_guarded_tests(tests);
}
