/* tune_words.c - explains why a setting helps. */
#include "tune/tune.h"

#include <stdio.h>

const char *tune_reason(const struct replay_setting *s)
{
    if (s->policy == LARDER_POLICY_LARDER)
        return "pages move to where they are needed, so next to nothing is "
               "lost to fragmentation";
    if (s->expandable)
        return "segments grow and shrink page by page, so free memory is "
               "usable wherever it is";
    if (s->max_split_mb != 0)
        return "larger blocks are no longer split, so a small tensor cannot "
               "make the rest unusable";
    if (s->roundup != 0)
        return "similar sizes are rounded to the same one, so they can reuse "
               "each other's blocks";
    if (s->segment_mb != 0)
        return "small requests share larger segments, so less is left over";
    if (s->gc_percent != 0)
        return "unused segments are returned to the driver before it runs out";
    return "the current settings cost memory";
}

const char *tune_conditions(const struct replay_setting *s,
                            char out[TUNE_CONDITIONS_MAX])
{
    bool segment = s->policy == LARDER_POLICY_PYTORCH && s->segment_mb != 0;
    bool gc = s->policy == LARDER_POLICY_PYTORCH && s->gc_percent != 0;

    snprintf(out, TUNE_CONDITIONS_MAX, "%s%s%s",
             segment ? "large_segment_size_mb needs PyTorch 2.11." : "",
             segment && gc ? "  " : "",
             gc ? "garbage_collection_threshold takes effect only with "
                  "torch.cuda.set_per_process_memory_fraction()."
                : "");
    return out;
}
