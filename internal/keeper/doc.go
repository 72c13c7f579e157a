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
//	   │          │            └─ lost: shut the gate or use the window to its end,
//	   │          │               acquire with a new token
//	   └──────────┴─ clock stepped back: acquire another worker ID, swap, release
//
// A renewal has three results, and only these. Extended: the window grows.
// Unknown, which is any error that is not definite: the generator goes on inside
// the window it has, and the keeper tries again soon, with jitter. Lost: another
// holder may have the worker ID, and the gate is shut. A store that forgets may say that
// the window stays the holder's all the same: see package remainder. Then the generator
// goes on to its end, and the next grant is held back like a piece.
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
// # Deadlines
//
// How long a reply takes is the coordinator's affair; the keeper has no fixed idea of
// it. A [deadline] begins short, doubles with every time-out, and after a success is
// about three times what that took. An error that comes back early is no time-out: it is
// answered with a pause, which begins short and grows to a second.
//
// The keeper cannot tell a slow coordinator, for which it must wait, from a dead
// connection, on which waiting is in vain. So the first renewal may take as long as the
// TTL, and when the deadline passes without a reply, a second one is made beside it,
// which is cut off at the next deadline. The loop goes on meanwhile. What holds:
//
//   - A coordinator whose replies take less than the TTL, and less than what is left of
//     the window when it is asked, serves without a gap. In the steady state there is one
//     call for each renewal, because the deadline follows the latency.
//   - A coordinator that does not answer gets about as many requests as a healthy one,
//     because the deadline grows to the renewal interval. An overloaded server that gets
//     more requests the slower it is never recovers.
//   - An outage that ends is noticed within one renewal interval, or half as much again as
//     a reply took before it if that is longer, where the client of the back end does not
//     notice that its connection is dead; at once, or within a second, where it does.
//   - A quarantine is asked about as seldom as a lease that is well.
//   - While the window lasts, a deadline takes at most half of what is left of it, as long
//     as that is enough for an ordinary reply: so one more attempt fits in.
//
// Acquisitions have the same rule, see [Ask]: the first call may take as long as the TTL, and
// another one is made beside it whenever a deadline passes, with the same token: what one of
// them has reached is there for the next. The deadlines are cut at random, up to a half, so
// that a thousand processes that were started together do not come back together. A release
// is tried for as long as a few calls take, at most a TTL, or until
// whoever stops the keeper waits no longer.
//
// # What a start waits for
//
// See [Keeper.Start]. A start outlasts a lease, because the leases of holders that did
// not survive an outage are still in force when their successors start. Where every
// worker ID is held it goes on as well: nobody can tell a holder that is about to stop
// from one that is not. [Keeper.Begin] does not wait and never gives up.
//
// # A clock that stepped back
//
// After a step of up to a second beyond the tolerance the keeper waits for the clock,
// because an ID of another worker ID could be smaller than the last one. After a larger step
// only a worker ID whose window is open at the new time helps: the keeper asks for one that must
// be open. It does the same while the only window that it has opens more than a second from now.
//
// # The state file
//
// With Config.File, the keeper writes the grant to a file, from which the next process goes on
// while the coordinator is away. The gate is open up to the end of the window or up to the mark on
// the disk, whichever is first. The loop raises the mark once a second, in the background, to 3 s
// ahead of the clock. It never waits for the disk while it holds a worker ID. The invariants:
//
//  1. Nothing above the mark on the disk was ever stamped. A mark counts when its save has ended.
//  2. A successor begins above the mark, never at NotBefore.
//  3. Pieces are recorded as pieces: the ticks between two pieces belong to no holder.
//  4. Released means dead: when a release is sent, the disk does not have the grant. If the
//     last renewals failed, the grant stays in the file, and nothing is sent.
//  5. The token of a Resume is on the disk before it is sent, and stays until an answer comes.
//  6. A file is used only by the process that holds its lock, and only if it fits: its
//     namespace, layout, share, identity and TTL are those of the keeper, and its mark is not
//     further ahead of the clock than a crash explains.
//  7. The marks of worker IDs that were lost stay known.
//  8. A disk that is full, fails or hangs is like a coordinator that does not answer. No worker
//     ID is leased until a save has succeeded, so that a keeper with such a disk leases one at
//     most.
//
// # Without a usable worker ID
//
// While the coordinator cannot serve, attempts are about a second apart. While every worker
// ID is held, or the namespace has another layout, the pauses grow to 15 s, but not past the time
// at which the next lease can end, and one token serves for all attempts. Where the coordinator
// is a [coord.Waiter], the keeper waits for its report.
//
// # What the log tells
//
// Changes, each once: that a renewal or an acquisition fails, and again when the
// kind of the reason is another one; that the window has ended with nothing to
// follow it, and why; that IDs can be issued again, and for how long they could
// not. A quarantine has its end with it. A wait of more than a second is announced within
// a second, with what is known of its length; the end of what a warning has announced is
// a warning as well.
//
// # Time
//
// Renewals are paced by the machine's timers, because a step of the wall clock
// must not delay them. What happens at a certain tick, the change to a piece or
// the end of a window, is paced by the generator's clock.
package keeper
