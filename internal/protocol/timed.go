package protocol

import (
	"context"
	"sync"
	"time"

	"github.com/unalike-id/unalike/internal/lifetime"
)

// ServerClock is the back end's clock, as answers have told it. The zero value knows
// nothing. It is safe for concurrent use.
type ServerClock struct {
	mu            sync.Mutex
	reading       Span
	sent, arrived time.Time // monotonic: the request, and the answer that has the reading
}

// Note records the reading of an answer that has just arrived, and when its request was sent, by
// [lifetime.Now]. Answers may arrive in another order than their requests were sent: one to a
// request that was sent before the newest one known changes nothing.
func (c *ServerClock) Note(reading Span, sent time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if sent.Before(c.sent) { //mutant:clock-newest
		return
	}
	c.reading = reading
	c.sent = sent
	c.arrived = lifetime.Now()
}

// Time implements [Session]. The back end has read its clock between the sending of the request
// and the arrival of the answer.
func (c *ServerClock) Time() Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reading.since(c.sent, c.arrived)
}

// Timed is what sessions have in common where leases end by the back end's clock: any of them
// keeps a lease alive, and there is nothing to end.
type Timed struct {
	life context.Context //nolint:containedctx // it is ended by End
	end  context.CancelFunc
}

// NewTimed returns one that lives.
func NewTimed() Timed {
	life, end := context.WithCancel(context.Background())
	return Timed{life, end}
}

// Over implements [Session].
func (t Timed) Over() error { return t.life.Err() }

// End implements [Session].
func (t Timed) End() { t.end() }

// Holds implements [Session].
func (Timed) Holds(v *View) bool { return v.Owned }

// During returns a context that ends with ctx, with the session, or when stop is called.
func (t Timed) During(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	forget := context.AfterFunc(t.life, cancel)
	return ctx, func() { forget(); cancel() }
}

// looks is how often a watch looks within a TTL. A renewal tells as much, so it is rarer.
const looks = 2

// WatchByLooking is [Session] Watch for a back end that tells nobody when a lease ends.
func (t Timed) WatchByLooking(ctx context.Context, ttl time.Duration, v *View,
	look func(context.Context) (*View, error),
) bool {
	ctx, stop := t.During(ctx)
	defer stop()
	ticker := time.NewTicker(ttl / looks)
	defer ticker.Stop()
	slot := v.Slot.Record
	for v.Owned && v.Slot.Record.Holds(slot.Token, slot.Generation) {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
		if now, err := look(ctx); err == nil {
			v = now
		}
	}
	return true
}
