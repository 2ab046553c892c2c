/* device_texts.h - the texts about a device in the page, and the names of its
 * streams and categories. */
#ifndef LARDER_VIEW_DEVICE_TEXTS_H
#define LARDER_VIEW_DEVICE_TEXTS_H

#include <jansson.h>

#include "report/verdict.h"

/* Add `verdict`, `ooms`, `findings`, `marks`, `streams`, `categories` and
 * `note` to the object `device`. */
void device_texts_add(struct hoard *h, json_t *device,
                      const struct run_summary *r,
                      const struct report_cure *cure);

#endif
