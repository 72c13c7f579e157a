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
	mu     sync.Mutex
	micros int64     // what it said, in microseconds since 1970
	at     time.Time // when that was, monotonic
}

// Note takes note of what the clock says now, in microseconds since 1970.
func (c *ServerClock) Note(micros int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.micros, c.at = micros, lifetime.Now()
}

// Time implements [Session].
func (c *ServerClock) Time() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() {
		return 0
	}
	return c.micros + lifetime.Since(c.at).Microseconds()
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
