// Package keeper has the one loop that leases a worker ID and keeps it. Drivers
// only make calls; everything that has to do with time, retries and recovery is
// here, once for all of them.
//
// A [Keeper] looks after one worker ID of one generator. It talks to a
// coordinator on one side and to a [Gate] on the other, which is the generator's
// place for one worker ID.
//
// # The life of a grant
//
//	acquire ──► open ──► renew, renew, ... ──► release
//	   ▲          │            │
//	   │          │            └─ lost: shut the gate, acquire with a new token
//	   └──────────┴─ clock stepped back: acquire another worker ID, swap, release
//
// A renewal has three results, and only these. Extended: the window grows.
// Unknown, which is any error that is not definite: the generator goes on inside
// the window it has, and the keeper tries again soon, with jitter. Lost: somebody
// else may have the worker ID; the gate is shut and the grant forgotten.
//
// # Pieces
//
// If the floor of the namespace was raised above the window, a renewal returns a
// separate piece that begins at the floor. The ticks between the old window and
// the floor belong to nobody. The keeper holds the piece back until the clock has
// passed the end of the window in use, and then swaps it in as a new term.
//
// # What is asked for
//
// The end of the window that a renewal asks for is always the clock plus the
// horizon, never the last tick stamped plus the horizon: otherwise a generator
// that runs ahead of its clock would carry the lead over into the stored window,
// and every holder after it would start further in the future.
//
// # What the log tells
//
// Changes, each once: that a renewal or an acquisition fails, and again when the
// kind of the reason is another one; that the window has ended with nothing to
// follow it, and why; that IDs can be issued again, and for how long they could
// not. A quarantine has its end with it.
//
// # Time
//
// Renewals are paced by the machine's timers, because a step of the wall clock
// must not delay them. What happens at a certain tick, the change to a piece or
// the end of a window, is paced by the generator's clock.
package keeper
