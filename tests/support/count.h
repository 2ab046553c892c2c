/* count.h - the number of elements of an array.  Header only. */
#pragma once

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
