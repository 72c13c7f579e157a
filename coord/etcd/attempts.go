package etcd

import (
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// noTicket says that no ticket was drawn.
const noTicket = -1

// attempt is what an acquisition has reached: it is kept for the next call with the
// same token, so that many who are too slow do not begin anew all the time.
type attempt struct {
	lease  clientv3.LeaseID // for its owner key; 0: none
	leased bool             // the lease was made
	ready  bool             // and that, or that it lives, was seen by this call
	sent   bool             // a grant with it was asked for, and not answered, by this call or before
	ticket int64            // or noTicket
	until  time.Time        // when the lease has ended, if it is kept
}

// attempts are those of acquisitions that have failed for the moment, by their tokens.
type attempts struct {
	mu   sync.Mutex
	kept map[string]attempt
}

// take returns what was reached with a token.
func (a *attempts) take(token string, now time.Time) attempt {
	a.mu.Lock()
	defer a.mu.Unlock()
	kept, ok := a.kept[token]
	delete(a.kept, token)
	if !ok || !now.Before(kept.until) {
		return attempt{ticket: noTicket}
	}
	kept.ready = false
	return kept
}

// keep remembers what was reached with a token, for as long as the lease lasts.
func (a *attempts) keep(token string, reached attempt, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.kept == nil {
		a.kept = map[string]attempt{}
	}
	for other, k := range a.kept {
		if !now.Before(k.until) {
			delete(a.kept, other)
		}
	}
	a.kept[token] = reached
}
