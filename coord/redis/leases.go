package redis

import (
	"strconv"

	"github.com/unalike-id/unalike/coord"
)

const (
	// pageSize is how many worker IDs have their leases in one field: few, because a renewal
	// writes them all, and an acquisition in a share reads all pages of it.
	pageSize = 16
	// digits is how many say when a lease ends.
	digits = 16
	// forever is the end of the lease of a retired worker ID, which has none.
	forever = 9_000_000_000_000_000
	// looked is how many slots are read to tell which lease ends next.
	looked = 64
	// leasePrefix begins the fields of leases. The patterns are Lua's.
	leasePrefix = "l:"
	allLeases   = "^l:"
	allSlots    = "^[l%d]" // and leases
)

// lease is the hint until when a worker ID is held, in microseconds since 1970 by the server's
// clock.
type lease struct {
	worker int
	ends   int64
}

// page is the field that has the lease of a worker ID.
func page(worker int) string { return leasePrefix + strconv.Itoa(worker/pageSize) }

// lease returns that of a worker ID, and whether it has not ended.
func (a *answer) lease(worker int) (l lease, held bool) {
	at := worker % pageSize * digits
	if text := a.values[page(worker)]; len(text) >= at+digits {
		l.ends, _ = strconv.ParseInt(text[at:at+digits], 10, 64)
	}
	l.worker = worker
	return l, l.ends > a.now
}

// held returns the leases that have not ended, of a share whose pages were read.
func (a *answer) held(share coord.Range) (all []lease) {
	for worker := share.First; worker < share.First+share.Count; worker++ {
		if l, held := a.lease(worker); held {
			all = append(all, l)
		}
	}
	return all
}
