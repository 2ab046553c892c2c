/* count.h - the number of elements of an array.  Header only. */
#ifndef LARDER_TESTS_SUPPORT_COUNT_H
#define LARDER_TESTS_SUPPORT_COUNT_H

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
