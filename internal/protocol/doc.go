// Package protocol is the protocol of package coord, once for all back ends that keep
// records: what is stored and how it is written and read, what to do about it, how a loss
// of writes is noticed, and the [Coordinator] that does all of that over a [Store]. Where a
// record lies, and what makes a step atomic, is up to the store.
//
// What is decided is decided in functions that make no call and read no clock: decide.go,
// slot.go, candidate.go and floor.go. Times are microseconds since 1970. The way of a call
// through the packages is in docs/architecture.md.
package protocol
