package zk

import (
	"fmt"
	"slices"
	"time"
)

const (
	// shortestSilence is how long nothing need arrive on any connection.
	shortestSilence = time.Second
	// silentPart says which part of a session's time there may be silence where answers
	// are fast.
	silentPart = 3
	// slack is how many times the longest round trip there may be silence.
	slack = 3
	// sessionRequest is the number of the request for a session, which has none.
	sessionRequest = -1 << 31
)

// pending are the requests of a connection that have no answer yet, pings among them:
// there is one at least three times in the time of the session.
//
// A connection is alive as long as anything arrives, however late the answers are. It
// is given up if nothing at all arrived for a time that is well above its round trips,
// and at most as long as the session lasts without a connection; or if an answer was
// left out for as long as that.
type pending struct {
	ttl  time.Duration
	sent []pendingRequest // in the order in which they were sent
	trip time.Duration    // the longest round trip of late
}

type pendingRequest struct {
	request int32
	at      time.Time
}

// silence is how long nothing may arrive while requests are pending.
func (p *pending) silence() time.Duration {
	return min(max(shortestSilence, p.ttl/silentPart, slack*p.trip), p.ttl)
}

// add takes note of a request, and reports whether no other one is pending.
func (p *pending) add(request int32, at time.Time) bool {
	p.sent = append(p.sent, pendingRequest{request, at})
	return len(p.sent) == 1
}

// answered takes note of an answer, and returns how long it took. What no request asked for
// is ignored.
func (p *pending) answered(request int32, at time.Time) time.Duration {
	i := slices.IndexFunc(p.sent, func(r pendingRequest) bool { return r.request == request })
	if i < 0 {
		return 0
	}
	took := at.Sub(p.sent[i].at)
	p.sent = slices.Delete(p.sent, i, i+1)
	p.trip = max(took, p.trip-p.trip/4)
	return took
}

// until is when something has to arrive at the latest, after something did; the zero time
// if nothing need.
func (p *pending) until(at time.Time) (time.Time, error) {
	if len(p.sent) == 0 {
		return time.Time{}, nil
	}
	if late := at.Sub(p.sent[0].at); late > p.ttl {
		return time.Time{}, fmt.Errorf("a request has no answer after %v, though later ones have", late.Round(time.Millisecond))
	}
	return at.Add(p.silence()), nil
}
