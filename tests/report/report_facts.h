/* report_facts.h - what reports are made of, as text: each allocation's life and
 * category, segments, curves, moments, groups, call trees, failures, remedies. */
#pragma once

#include "snapshot/snapshot.h"

/* Each part of each device begins with a line "==== NAME".  It fails the test if
 * one cannot be made; the caller frees the text. */
char *report_facts(const struct snapshot *s);

/* One line for each device: peaks, and when they were. */
char *report_figures(const struct snapshot *s);
