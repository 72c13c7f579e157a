// Package coord leases worker IDs to generators of IDs, from etcd, Redis, ZooKeeper, Kubernetes,
// an SQL database, or a file:
//
//	import _ "github.com/unalike-id/unalike/coord/static" // or etcd, redis, postgres, ...
//
//	const url = "static://?worker=7&state=/var/lib/app/unalike.state"
//	ids, err := unalike.Open(ctx, url, unalike.Config{})
//
// A program with several generators, or for operators, opens the coordinator itself:
//
//	c, err := coord.Open(ctx, url, coord.OpenOptions{})
//	if err != nil {
//		return err
//	}
//	defer c.Close() // after the generators
//	ids, err := core.New(ctx, c, core.Config{})
//
// Open makes a coordinator from a URL whose driver has been imported, as database/sql does; the
// constructors of the driver packages take a client of yours. A coordinator can serve any number
// of generators. Whoever opened it closes it.
//
// # Windows
//
// A [Coordinator] hands out a [Grant]: a worker ID together with a window of
// ticks (NotBefore, NotAfter]. The holder stamps IDs with ticks of that window
// and with no others, and it extends the window while it lives. The next holder
// of the same worker ID gets a window that begins where the stored one ended.
// Windows of one worker ID never overlap, and therefore no ID is issued twice,
// whether or not a lease was valid when the ID was made. The lease, whatever it
// is in the back end, only decides when a worker ID may be given to somebody
// else.
//
// # The protocol, for those who write a coordinator
//
// A coordinator of one's own needs this package alone: the example of [Coordinator] is one. Package
// driver makes it known by a URL.
//
// A slot is what a driver stores for a worker ID, durably and without a TTL: the
// token of its holder, a generation, and NotBefore and NotAfter of the last window
// or piece. A namespace has one slot for each worker ID, one layout fingerprint and
// one floor, which is a tick below which nobody is granted anything. The argument
// for each rule is in docs/guarantees.md.
//
//  1. Acquire is one atomic step in the back end. It compares the fingerprint of
//     the namespace with that of the request and fails with [ErrLayoutMismatch]
//     if they differ; the first acquisition stores it.
//  2. Acquire gives generation = stored generation + 1, NotBefore = max(stored
//     NotAfter, floor), NotAfter = max(NotBefore, wanted), and stores
//     max(stored NotAfter, NotAfter). NotBefore never comes from a clock alone. A
//     window may be empty, with NotAfter equal to NotBefore: the holder waits
//     and renews.
//  3. What a grant says is stored before Acquire or Renew returns it. A grant
//     whose fate is unknown is not returned.
//  4. Acquire with a token that holds a slot already returns that same grant, with
//     the last stored piece of its window: a replay changes nothing. The token of a
//     new attempt is always new. If the floor has overtaken that piece meanwhile, a
//     driver may give it up and grant anew: nobody has used it, and if the floor was
//     raised after a loss of state, what was granted before that is not to be used.
//  5. A worker ID is given away only when its lease is over or was released.
//     Picking one does not scan all of them; it prefers a worker ID whose
//     NotBefore would be at or below Request.OpenBy, and takes the identity's last
//     worker ID as its first candidate, never as a grant. With Request.MustOpen it grants
//     no other one, and writes nothing if there is none.
//  6. Renew succeeds only if token and generation both are those stored. It stores
//     max(stored NotAfter, NotAfter of the grant passed, wanted) and returns that as
//     NotAfter. Two renewals of one grant may be under way at once.
//  7. If max(floor, stored NotBefore) lies above the NotAfter of the grant that the
//     caller passed, the result is a separate piece that begins there, and the slot
//     remembers its NotBefore. Nothing between the old NotAfter and the piece may
//     ever be stamped. Otherwise NotBefore is that of the grant passed. The
//     comparison is with the caller's grant and not with the stored NotAfter,
//     because an earlier renewal may have stored a piece of which the caller never
//     learned. The stored NotBefore takes part because generations come again after
//     a loss of state, and with them, if an old Acquire is repeated by the network,
//     a slot that names the caller but is not the one that it was granted.
//  8. Renew returns [ErrLeaseLost] only if it knows that the slot is no longer the
//     caller's. Any other error means that the outcome is unknown: the holder goes
//     on inside the window it has. A lease or session that lapsed while the slot
//     is unchanged is put back by Renew, with the same generation. A driver may also
//     find that somebody else has extended the window under the same token and
//     generation: a copy of the holder. Then Renew and Release return ErrLeaseLost, and
//     change nothing.
//  9. Release compares token and generation, lowers the stored NotAfter to
//     max(last, stored NotBefore), never raising it, and frees the worker ID. The
//     holder has closed its gate before, so nothing above last was or will be
//     stamped. Where the NotAfter of the grant passed lies above the stored one, which
//     the back end has forgotten then, it takes the place of that. Release of a grant
//     that is no longer held returns [ErrLeaseLost] and changes nothing.
//  10. Slots are never deleted.
//  11. If the state of the back end may have been lost or reverted, the driver
//     raises the floor to at least detection + MaxHorizon + skew bound, where
//     MaxHorizon is a constant of the driver, or, if that is longer, what the namespace
//     was declared with, as it is stored or remembered; acquisitions and renewals obey it.
//  12. A driver only makes calls. Retries, jitter, renewal and recovery live in
//     the one keeper that all drivers share. Every call ends promptly when its
//     context does.
//  13. Resume, where a driver has it, is a renewal that puts another token and
//     generation + 1 into the slot in the same atomic step, see [Resumer]. It compares
//     token and generation as Renew does; a slot that has what this Resume makes is
//     renewed, so that it can be repeated.
//
// Acquire begins with [Request.Validate], so that what no driver can serve is
// refused in the same words by all. Package coordtest has the suite that holds a
// driver to these rules.
package coord
