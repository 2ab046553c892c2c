/* gate.h - holds back the threads that queue work while memory in use moves.
 *
 * Each thread has a seat, a word in a cache line of its own, that says whether
 * it is in a call.  Entering takes an exchange on that word and a check whether
 * the gate is closed, so threads that launch at the same time do not contend.
 * Whoever closes the gate waits until no seat is taken.
 *
 * Seats outlive their threads and are used again by later ones.  Not for a
 * forked child. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Around a call that queues work.  Waits while another thread has the gate
 * closed; does nothing in the thread that closed it.  May be nested. */
void preload_gate_enter(void);
void preload_gate_leave(void);

/* Wait for calls in progress and hold back those that follow, until it is
 * opened.  One thread at a time; the caller is in no call itself.
 *
 * A call in progress may wait for work that the caller is about to queue: false
 * if it takes longer than the patience, and the gate is open then.  It is to be
 * opened all the same.
 *
 * Between closing and sealing the caller waits for the devices, whose work may
 * itself wait for work that a thread held back is about to queue.  A thread that
 * has been held back for the patience opens the gate then, and sealing fails
 * (false).  A sealed gate is opened by its closer alone. */
bool preload_gate_close(void);
bool preload_gate_seal(void);
void preload_gate_open(void);

/* Half a minute, longer than the queued work of any training program; tests
 * change it. */
void preload_gate_set_patience(unsigned ms);
/* When it ends that begins now, on the clock of ticks.h. */
uint64_t preload_gate_patience_ends_ns(void);
