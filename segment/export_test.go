package segment

import (
	"context"
	"time"
)

// At is the group that a call gets whose clock is at a time.
func (g *Groups) At(ctx context.Context, now time.Time) (time.Time, error) {
	p, err := g.at(ctx, now)
	if err != nil {
		return time.Time{}, err
	}
	return p.day, nil
}

// SetClock has the groups read another clock.
func (g *Groups) SetClock(now func() time.Time) { g.now = now }
