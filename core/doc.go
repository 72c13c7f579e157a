// Package core makes unique 64-bit IDs that sort by time.
//
// A [Generator] takes a worker ID and a window of time from a coordinator and
// stamps IDs inside that window, without locks. Uniqueness rests on the windows,
// which never overlap for one worker ID, and not on a lease being valid when an ID
// is made: clocks that step, pauses, partitions, crashes and lost leases delay IDs
// or end in an error, but they do not make two equal ones.
//
//	c, err := coord.Open(ctx, "static://?worker=7&state=/var/lib/app/unalike.state")
//	...
//	g, err := core.New(ctx, c, core.Config{})
//	...
//	id, err := g.Next()
//
// # IDs
//
// [ID] is an int64 with its text, JSON, binary and database forms. [Layout] says
// which of its bits are time, worker ID and sequence number.
package core
