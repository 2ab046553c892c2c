/* lab_history.c - the recording behind an experiment's snapshot. */
#include "lab_history.h"

#include <string.h>

#include <larder/history.h>

larder_result lab_history_begin(lab *l)
{
    return larder_history_start(lab_allocator(l), NULL);
}

void lab_history_mark(lab *l, const char *statement)
{
    (void)larder_history_mark(lab_allocator(l), statement);
}

bool lab_history_name_ok(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot != NULL && dot != path &&
           (strcmp(dot, ".json") == 0 || strcmp(dot, ".pickle") == 0);
}

larder_result lab_history_write(lab *l, const char *path)
{
    return larder_snapshot_write(lab_allocator(l), path, NULL);
}
