/* bell.h - waits for and wakes other processes by a word that they share. */
#pragma once

#include <stdint.h>

/* Wake all that wait for the word. */
void larder__bell_wake(_Atomic uint32_t *word);

/* While the word is 0, wait for up to `ns`. */
void larder__bell_wait(const _Atomic uint32_t *word, uint64_t ns);
