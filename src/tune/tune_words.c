/* tune_words.c - explains why a setting helps. */
#include "tune/tune.h"

#include <stdio.h>

const char *tune_reason(const struct replay_setting *s)
{
    if (s->policy == LARDER_POLICY_LARDER)
        return "pages move to where they are needed, so that next to nothing "
               "is lost to pieces";
    if (s->expandable)
        return "segments grow and release page by page, so that free memory "
               "serves wherever it lies";
    if (s->max_split_mb != 0)
        return "larger blocks are no longer split, so that a small tensor "
               "cannot keep the rest of one from use";
    if (s->roundup != 0)
        return "sizes that are nearly alike become the same, and take each "
               "other's blocks";
    if (s->segment_mb != 0)
        return "small requests share larger segments, so that fewer rests are "
               "left";
    if (s->gc_percent != 0)
        return "idle segments go back to the driver before it runs out";
    return "its own settings cost memory";
}

const char *tune_conditions(const struct replay_setting *s,
                            char out[TUNE_CONDITIONS_MAX])
{
    bool segment = s->policy == LARDER_POLICY_PYTORCH && s->segment_mb != 0;
    bool gc = s->policy == LARDER_POLICY_PYTORCH && s->gc_percent != 0;

    snprintf(out, TUNE_CONDITIONS_MAX, "%s%s%s",
             segment ? "large_segment_size_mb needs PyTorch 2.11." : "",
             segment && gc ? "  " : "",
             gc ? "PyTorch collects only under "
                  "torch.cuda.set_per_process_memory_fraction()."
                : "");
    return out;
}
