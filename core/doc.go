// Package core makes unique 64-bit IDs that sort by time.
//
// A [Generator] takes a worker ID and a window of time from a coordinator and
// stamps IDs inside that window, without locks. Uniqueness rests on the windows,
// which never overlap for one worker ID, and not on a lease being valid when an ID
// is made: clocks that step, pauses, partitions, crashes and lost leases delay IDs
// or end in an error, but they do not make two equal ones.
//
//	const url = "static://?worker=7&state=/var/lib/app/unalike.state"
//	c, err := coord.Open(ctx, url, coord.OpenOptions{})
//	...
//	g, err := core.New(ctx, c, core.Config{})
//	...
//	id, err := g.Next()
//	...
//	err = g.Close(last) // frees the worker ID; last is a context that has not ended
//	err = c.Close()
//
// [New] blocks until IDs can be issued. [Start] returns at once, so that a service can
// listen and say that it is not ready while its coordinator is away; [Generator.Check] and
// package probe tell.
//
// # IDs
//
// [ID] is an int64 with its text, JSON, binary and database forms. [Layout] says
// which of its bits are time, worker ID and sequence number.
//
// # Which call
//
//   - [Generator.Next] returns an ID, or an error at once. It waits for the clock if
//     the IDs of this tick are spent, and for nothing else.
//   - [Generator.TryNext] does not wait at all.
//   - [Generator.NextContext] waits for the coordinator, too, within a context.
//   - [Generator.Fill] takes many IDs at a small part of the price, and
//     [Generator.All] is an iterator.
//
// # How an ID is made
//
// Time is counted in ticks, the layout's unit. The generator has one word of state,
// the tick and the sequence number of the last ID, and moves it on with a
// compare-and-swap to the greater one of "the next number" and "the clock's tick,
// first number":
//
//	next = max(old + 1, now << sequenceBits)
//
// That one expression covers a new tick, the same tick, the carry into the next one,
// and a clock that stepped back. Whether next may be issued is the rule, with t the
// tick of next, L the lead and R the rollback tolerance:
//
//  1. If t is at most L ahead of the clock: issue it.
//  2. If nothing was stamped yet: refuse. The window has not opened.
//  3. If the last tick is more than L + R ahead of the clock: refuse. The clock was
//     stepped back.
//  4. If t is still the last tick: issue it. This is a small rollback.
//  5. Otherwise wait until the clock allows rule 1.
//
// Nothing is issued outside the window, or once the gate is closed. A refusal or a
// wait is always decided by a clock that was read after the state it judges.
//
// # Terms
//
// A grant of the coordinator becomes a term: a worker ID, a window, and a state word
// of its own. A generator that has to change its worker ID closes the gate of the
// old term, which is one bit in the state word, and only then publishes the new
// one. So a goroutine that was stalled in the middle of a call either finishes
// under the worker ID that it began with, before the gate was closed, or begins
// again under the new one. The new term begins above the last ID of the old one, so
// that IDs stay in order, and that ID counts as stamped for rule 2. Only after a step of the
// clock back by more than a second beyond L + R does it begin below.
//
// # When the coordinator is away
//
// The generator goes on to the end of its window, up to the lease's horizon past
// the last renewal. Then it returns [ErrWindowEnded], and resumes by itself as soon
// as the coordinator answers. A coordinator that has lost state, as a Redis that was
// restarted may have, grants nothing at first: until then it is [ErrWindowNotOpen] where
// the worker ID is still the generator's, and ErrWindowEnded where it is not. [Generator.Check] and
// [Generator.Health] tell how things stand, and Config.OnChange is called when they change;
// [Generator.Ready] waits.
//
// # Tests of programs that use this package
//
// Package coretest makes generators that need no coordinator and give the same IDs
// in every run.
package core
