/* evidence.h - what of a run is known, and what only guessed from lifetimes. */
#ifndef LARDER_REPORT_EVIDENCE_H
#define LARDER_REPORT_EVIDENCE_H

#include "report/iterations.h"
#include "report/moment.h"

/* Whether most of the bytes at a moment that count as activations were made by a
 * forward pass or freed by a backward pass. */
bool evidence_of_activations(struct hoard *h, const struct moment *m,
                             const uint8_t *categories);

/* What the call paths within repetitions say: nothing, as there are none; that
 * each is a step of training, which runs a backward pass or an optimizer, and
 * more than these; or not that much, so that they may be layers. */
enum evidence { EVIDENCE_NO_PATHS, EVIDENCE_STEPS, EVIDENCE_UNSURE };

enum evidence evidence_of_steps(struct hoard *h, const struct lifetimes *l,
                                const struct iterations *it);

#endif
