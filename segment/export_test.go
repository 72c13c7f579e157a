package segment

import (
	"context"
	"time"
)

// At is the group that a call gets whose clock is in the one that begins on a day.
func (g *Groups) At(ctx context.Context, day time.Time) (time.Time, error) {
	p, err := g.at(ctx, day)
	if err != nil {
		return time.Time{}, err
	}
	return p.day, nil
}
