/* environment.h - variables of the environment. */
#pragma once

#include <stdbool.h>

/* The value of a variable, or NULL: it is not set, or empty. */
const char *environment_said(const char *variable);

/* Prepend to a variable that is a path.  False: no host memory. */
bool environment_prepend(const char *variable, const char *first);
