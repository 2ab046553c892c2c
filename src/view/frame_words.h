/* frame_words.h - a snapshot's frames and stacks as columns for the page
 * (decode.js lists them), with which it names them as the report does. */
#ifndef LARDER_VIEW_FRAME_WORDS_H
#define LARDER_VIEW_FRAME_WORDS_H

#include "snapshot/snapshot.h"
#include "view/blob.h"

/* Add to `run`: `strings`, `frame`, `stack_begin` and `stack_frame`; `kind`, for
 * each frame (enum frame_kind); `own`, for each stack
 * the number plus 1 of the frame that a reader would call "the line", 0 for
 * none; `labels`, a list of texts; and, for each way of grouping lines
 * (report_by_name()), `by_NAME`: for each frame an index of that list. */
void frame_words_add(struct blob *b, json_t *run, const struct snapshot *s);

#endif
