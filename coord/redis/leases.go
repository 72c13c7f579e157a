package redis

import "strconv"

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

// page is the field that has the lease of a worker ID.
func page(worker int) string { return leasePrefix + strconv.Itoa(worker/pageSize) }

// ends returns the hint when the lease of a worker ID ends, in microseconds since 1970 by the
// server's clock; 0: it has ended.
func (a *answer) ends(worker int) int64 {
	at := worker % pageSize * digits
	text := a.values[page(worker)]
	if len(text) < at+digits {
		return 0
	}
	ends, _ := strconv.ParseInt(text[at:at+digits], 10, 64)
	if ends <= a.now {
		return 0
	}
	return ends
}
