// Package segment gives out plain increasing numbers per tag, from ranges that a store hands
// out: small dense keys and order numbers that people read, without a clock and without worker
// IDs. It is what Leaf calls segment mode, and its stores use Leaf's own table.
//
//	const url = "mysql://user:password@host/db?table=leaf_alloc"
//	store, err := segment.Open(ctx, url, segment.OpenOptions{})
//	orders, err := segment.New(ctx, store, "orders", segment.Config{})
//	n, err := orders.Next()
//
// The drivers are made known by importing their packages: segment/mysql, segment/postgres,
// segment/etcd, segment/etcd/embedded, segment/file.
//
// # Words
//
// A tag is the name of one sequence of numbers. A store keeps the next number of each tag. A
// segment is a range of one tag that one process has taken from the store, and its size is the
// step. The hold is how long a segment is meant to last: a store that is away for less than
// half of it is not noticed. A refill takes the next segment, in the background, while the
// present one is in use.
//
// # What is promised
//
//   - Unique: ranges are disjoint, because each is one committed atomic step in the store.
//   - Rising: the numbers of a [Sequence] rise strictly. Those of several processes do not,
//     as each has a range of its own. A range that does not begin above what this sequence
//     has is refused with [ErrWentBack].
//   - Patient: calls that find no number wait for the next segment, in their order. One fails only
//     if the store refuses, or cannot be reached while everything in memory is used up, or if
//     its context or RefillTimeout ends.
//   - Dense: Close gives the unused rest back if nobody has taken a range since. A process that
//     is killed leaves a gap of what it held, two segments at most.
//   - Kept: a store that may lose what it has confirmed says so in [Health], and one that is
//     another server than before is refused with [ErrStoreChanged].
//
// A restored dump is noticed by programs that run, because their numbers would repeat, and not
// by those that start after it: run 'unalike segments advance' after restoring one.
//
// # Cost
//
// Next is one load and one atomic add: no lock, no allocation, no clock, no channel.
package segment
