package zk

import (
	"fmt"
	"slices"
	"time"
)

const (
	// shortestSilence is how long nothing need arrive on any connection.
	shortestSilence = time.Second
	// patience says which part of a session's time there may be silence where answers
	// are fast.
	patience = 3
	// slack is how many times the longest round trip there may be silence.
	slack = 3
	// helloRequest is the number of the request for a session, which has none.
	helloRequest = -1 << 31
)

// debts are the requests of a connection that have no answer yet, pings among them:
// there is one at least three times in the time of the session.
//
// A connection is alive as long as anything arrives, however late the answers are. It
// is given up if nothing at all arrived for a time that is well above its round trips,
// and at most as long as the session lasts without a connection; or if an answer was
// left out for as long as that.
type debts struct {
	ttl  time.Duration
	owed []debt        // in the order in which they were sent
	trip time.Duration // the longest round trip of late
}

type debt struct {
	request int32
	at      time.Time
}

// silence is how long nothing may arrive while there are debts.
func (d *debts) silence() time.Duration {
	return min(max(shortestSilence, d.ttl/patience, slack*d.trip), d.ttl)
}

// lend takes note of a request, and tells whether there was no debt before it.
func (d *debts) lend(request int32, at time.Time) bool {
	d.owed = append(d.owed, debt{request, at})
	return len(d.owed) == 1
}

// paid takes note of an answer, and returns how long it took. What no request asked for
// is ignored.
func (d *debts) paid(request int32, at time.Time) time.Duration {
	i := slices.IndexFunc(d.owed, func(o debt) bool { return o.request == request })
	if i < 0 {
		return 0
	}
	took := at.Sub(d.owed[i].at)
	d.owed = slices.Delete(d.owed, i, i+1)
	d.trip = max(took, d.trip-d.trip/4)
	return took
}

// patience is until when something has to arrive, after something did; the zero time
// if nothing need.
func (d *debts) patience(at time.Time) (time.Time, error) {
	if len(d.owed) == 0 {
		return time.Time{}, nil
	}
	if late := at.Sub(d.owed[0].at); late > d.ttl {
		return time.Time{}, fmt.Errorf("a request has no answer after %v, though later ones have", late.Round(time.Millisecond))
	}
	return at.Add(d.silence()), nil
}
